"""The simulated subscription: which resources there are, its limits, and the clusters' control planes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.clouds.aks.simulation.kubeconfig import TENANT
from dra_fleet.clouds.aks.simulation.limits import AksLimits
from dra_fleet.clouds.aks.simulation.names import SUBSCRIPTION
from dra_fleet.clouds.aks.simulation.versions import PATCHES
from dra_fleet.rehearsal.clouds.account import CloudAccount

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.rehearsal.clouds.account import Record
    from dra_fleet.rehearsal.clouds.values import Properties


class AksAccount(CloudAccount[AksLimits]):
    """Records by id, the same in any case. Its token is good for every AKS cluster, as Entra's are."""

    cloud = "aks"
    title = "Azure"
    model = AksLimits

    @override
    def key(self, kind: str, identifier: str) -> str:
        return identifier.lower()

    def inside(self, identifier: str) -> list[Record]:
        """Everything below an id, such as all of a resource group."""
        start = f"{identifier.lower()}/"
        return [record for key, record in self.records().items() if key.startswith(start)]

    @property
    @override
    def releases(self) -> Mapping[str, str]:
        return PATCHES

    @override
    def token_lines(self) -> str:
        return f'{self.token()},rehearsal-user@{TENANT},{TENANT},"system:masters"\n'


def subscription_of(config: Properties) -> str:
    """The subscription a provider works in."""
    return str(config.get("subscriptionId") or SUBSCRIPTION)
