"""A simulated Azure: resource groups and AKS, as far as programs of GPU fleets need them.

Inputs are held to the models of azure-mgmt-containerservice; rules and grammar are those of the AKS
documentation (https://learn.microsoft.com/azure/aks/). Control planes are upgraded in place, nodes without
being drained. Not simulated: autoscaling (pools stay at their count), upgrades that start by themselves,
networks, identities and role assignments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.clouds.aks.simulation.plugin import PLUGIN
from dra_fleet.rehearsal.clouds.simulation import CloudSimulation

if TYPE_CHECKING:
    from types import ModuleType

    from dra_fleet.clouds.aks.simulation.cloud import SimulatedAks
    from dra_fleet.clouds.aks.simulation.limits import AksLimits
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.world.store import Store


class AksSimulation(CloudSimulation):
    """Parts of the simulation, which load on use."""

    plugin = PLUGIN

    @override
    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedAks:
        from dra_fleet.clouds.aks.simulation.cloud import SimulatedAks

        return SimulatedAks(store, planes)

    @override
    def limits_model(self) -> type[AksLimits]:
        from dra_fleet.clouds.aks.simulation.limits import AksLimits

        return AksLimits

    @override
    def helper_module(self) -> ModuleType:
        from dra_fleet.clouds.aks.simulation import kubelogin

        return kubelogin


SIMULATION: Final = AksSimulation()
