"""A simulated Azure: resource groups and AKS, as far as programs of GPU fleets need them.

Inputs are validated against the models of azure-mgmt-containerservice; rules and grammar are those of the AKS
documentation (https://learn.microsoft.com/azure/aks/). Control planes are upgraded in place, nodes without
being drained. Not simulated: upgrades that start by themselves, networks, identities and role assignments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin, CloudSimulation

if TYPE_CHECKING:
    from types import ModuleType

    from dra_fleet.clouds.aks.simulation.account import AksLimits
    from dra_fleet.clouds.aks.simulation.cloud import SimulatedAks
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.simulator.store import Store


_SETTINGS: Final = frozenset(
    {
        "auxiliaryTenantIds", "clientCertificatePassword", "clientCertificatePath", "clientId",
        "clientSecret", "disablePulumiPartnerId", "environment", "location",
        "metadataHost", "msiEndpoint", "oidcRequestToken", "oidcRequestUrl",
        "oidcToken", "oidcTokenFilePath", "partnerId", "subscriptionId",
        "tenantId", "useMsi", "useOidc", "useDefaultAzureCredential",
    }
)  # fmt: skip
"""https://www.pulumi.com/registry/packages/azure-native/installation-configuration/"""
_SECRET_RESULTS: Final = frozenset(
    {
        "azure-native:containerservice:listManagedClusterUserCredentials",
        "azure-native:containerservice:listManagedClusterAdminCredentials",
    }
)
PLUGIN: Final = CloudPlugin(
    name="azure-native",
    version="3.29.0",
    settings=_SETTINGS,
    replacing=frozenset({"subscriptionId"}),
    secret_results=_SECRET_RESULTS,
)


class AksSimulation(CloudSimulation):
    """Parts of the simulation, which load on use."""

    plugin = PLUGIN

    @override
    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedAks:
        from dra_fleet.clouds.aks.simulation.cloud import SimulatedAks

        return SimulatedAks(store, planes)

    @override
    def limits_model(self) -> type[AksLimits]:
        from dra_fleet.clouds.aks.simulation.account import AksLimits

        return AksLimits

    @override
    def helper_module(self) -> ModuleType:
        from dra_fleet.clouds.aks.simulation import kubelogin

        return kubelogin


SIMULATION: Final = AksSimulation()
