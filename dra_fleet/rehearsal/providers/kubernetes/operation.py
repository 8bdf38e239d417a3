"""One call of the engine about one resource, and what an update would do to it."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, Final

from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.providers.kubernetes.client_side import MANAGER
from dra_fleet.rehearsal.providers.kubernetes.diffing import FieldChange
from dra_fleet.rehearsal.providers.kubernetes.naming import annotation, random_digits
from dra_fleet.rehearsal.providers.kubernetes.patching import is_patch

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.providers.kubernetes.awaiting import Waiting
    from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration
    from dra_fleet.rehearsal.providers.kubernetes.connection import ProviderCluster
    from dra_fleet.rehearsal.providers.kubernetes.naming import Urn

_MANAGER: Final = "pulumi.com/patchFieldManager"


@dataclass(frozen=True)
class Difference:
    """What an update would do."""

    changes: list[FieldChange]
    replacing: list[FieldChange] = field(default_factory=list[FieldChange])
    delete_before_replace: bool = False


@dataclass(frozen=True)
class Operation:
    """One call about one resource."""

    urn: Urn
    cluster: ProviderCluster
    waiting: Waiting
    warn: Callable[[str], Awaitable[None]]
    preview: bool = False

    def configuration(self, body: Object) -> Configuration:
        """What the provider was told, for this object."""
        return replace(self.cluster.configuration, patches=is_patch(self.urn.type, body))

    def manager(self, body: Object, remembered: str | None) -> str:
        """The field manager's name: the program's, that of an earlier run, or a new one."""
        if self.cluster.configuration.client_side:
            return MANAGER
        return annotation(body, _MANAGER) or remembered or f"{MANAGER}-{random_digits(b'')}"
