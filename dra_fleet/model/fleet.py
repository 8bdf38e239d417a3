"""Read-only view of a fleet's settings, for clouds and drivers. `dra_fleet.fleet` has the model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.claims import ClaimSettings
    from dra_fleet.model.classes import ClassSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.settings import (
        Advertiser,
        DescribedDevices,
        DriverSettings,
        NodeRange,
        SettingsModel,
        Sharing,
        TaintSettings,
    )
    from dra_fleet.model.workloads import DemandSettings


class PoolView(Protocol):
    """Settings that the pools of all clouds have."""

    @property
    def nodes(self) -> NodeRange:
        """Least and greatest number of nodes."""
        ...

    @property
    def taints(self) -> tuple[TaintSettings, ...]:
        """Taints of its nodes."""
        ...

    @property
    def devices(self) -> tuple[DescribedDevices, ...]:
        """Devices that the stack file describes."""
        ...

    @property
    def advertise(self) -> Advertiser | None:
        """Component that advertises the machine's own devices; None: a DRA driver."""
        ...

    @property
    def sharing(self) -> Sharing:
        """Sharing of its devices."""
        ...


class ClusterSettings(Protocol):
    """Settings that the clusters of all clouds have."""

    @property
    def cloud(self) -> str: ...

    @property
    def kubernetes(self) -> str | None:
        """Kubernetes version, if it differs from the fleet's."""
        ...

    @property
    def drivers(self) -> Mapping[str, DriverSettings]:
        """DRA drivers by name."""
        ...

    @property
    def pools(self) -> Mapping[str, PoolView]: ...

    @property
    def makes_nodes(self) -> bool:
        """True if the stack creates the nodes of its pools."""
        ...

    @property
    def machine_types(self) -> Mapping[str, Machine]:
        """Machine types that its cloud offers, by name."""
        ...


class FleetSettings(Protocol):
    """Clusters, their classes and claims, and the workloads that use devices."""

    @property
    def environment(self) -> str:
        """Development, staging or production."""
        ...

    @property
    def namespace(self) -> str:
        """Namespace of claims and workloads."""
        ...

    @property
    def clusters(self) -> Mapping[str, ClusterSettings]: ...

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
    def workloads(self) -> Mapping[str, DemandSettings]: ...

    def place(self, workload: str) -> tuple[str, str]:
        """Return the path of a workload or demand."""
        ...
