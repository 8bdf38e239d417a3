"""The simulated project: which resources there are, its limits, and the clusters' control planes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.clouds.gke.simulation.limits import GkeLimits
from dra_fleet.clouds.gke.simulation.names import PROJECT
from dra_fleet.clouds.gke.simulation.versions import DEFAULTS
from dra_fleet.rehearsal.clouds.account import CloudAccount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.values import Properties

USER: Final = "rehearsal-user@example.com"


class GkeAccount(CloudAccount[GkeLimits]):
    """Records by id. Its token is good for every GKE cluster, as Google's are."""

    cloud = "gke"
    title = "Google Cloud"
    token_prefix = "ya29."  # noqa: S105 - how Google's access tokens begin, not one
    model = GkeLimits

    @override
    def key(self, kind: str, identifier: str) -> str:
        return identifier

    @property
    @override
    def releases(self) -> Mapping[str, str]:
        return DEFAULTS

    @override
    def token_lines(self) -> str:
        return f'{self.token()},{USER},{USER},"system:masters"\n'


def project_of(inputs: Properties, config: Properties) -> str:
    """The project a resource is in."""
    return str(inputs.get("project") or config.get("project") or PROJECT)
