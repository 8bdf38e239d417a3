"""Read-only view of a fleet's settings, for clouds and drivers. `dra_fleet.fleet` has the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.base import SettingsModel
    from dra_fleet.model.claims import ClaimSettings
    from dra_fleet.model.classes import ClassSettings
    from dra_fleet.model.clusters import ClusterSettings
    from dra_fleet.model.workloads import WorkloadSettings


class FleetSettings(Protocol):
    """Settings of a fleet that clouds and drivers check."""

    @property
    def environment(self) -> str:
        """Development, staging or production."""
        ...

    @property
    def namespace(self) -> str:
        """Namespace of claims and workloads."""
        ...

    @property
    def clusters(self) -> Mapping[str, ClusterSettings]:
        """Clusters by name."""
        ...

    @property
    def classes(self) -> Mapping[str, ClassSettings]:
        """DeviceClasses by name."""
        ...

    @property
    def claims(self) -> Mapping[str, ClaimSettings]:
        """ResourceClaimTemplates by name."""
        ...

    @property
    def compute_domains(self) -> Mapping[str, SettingsModel]:
        """ComputeDomains by name, in the model of the driver that has them."""
        ...

    @property
    def workloads(self) -> Mapping[str, WorkloadSettings]:
        """Workloads by name."""
        ...
