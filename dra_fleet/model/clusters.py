"""Read-only views of a cluster's settings on any cloud, for packages below the clouds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.pools import Advertiser, DescribedDevices, NodeRange, TaintSettings
    from dra_fleet.model.releases import DriverSettings
    from dra_fleet.model.sharing import Sharing


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
    def cloud(self) -> str:
        """Name of its cloud."""
        ...

    @property
    def kubernetes(self) -> str | None:
        """Kubernetes version, if it differs from the fleet's."""
        ...

    @property
    def drivers(self) -> Mapping[str, DriverSettings]:
        """DRA drivers by name."""
        ...

    @property
    def pools(self) -> Mapping[str, PoolView]:
        """Pools by name."""
        ...

    @property
    def makes_nodes(self) -> bool:
        """True if the stack creates the nodes of its pools."""
        ...

    @property
    def machine_types(self) -> Mapping[str, Machine]:
        """Machine types that its cloud offers, by name."""
        ...
