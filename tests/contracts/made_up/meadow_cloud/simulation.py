"""The simulation of the made-up cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin, CloudSimulation

if TYPE_CHECKING:
    from types import ModuleType

    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.simulator.store import Store
    from meadow_cloud.limits import MeadowLimits
    from meadow_cloud.simulated import SimulatedMeadow


class MeadowSimulation(CloudSimulation):
    """Parts of the simulation, which load on use."""

    plugin = CloudPlugin(name="meadow", version="1.0.0", settings=frozenset({"region"}))

    @override
    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedMeadow:
        from meadow_cloud.simulated import SimulatedMeadow

        return SimulatedMeadow(store, planes)

    @override
    def limits_model(self) -> type[MeadowLimits]:
        from meadow_cloud.limits import MeadowLimits

        return MeadowLimits

    @override
    def helper_module(self) -> ModuleType:
        from meadow_cloud import meadow_login

        return meadow_login
