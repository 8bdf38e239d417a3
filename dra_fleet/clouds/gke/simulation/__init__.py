"""A simulated Google Cloud: GKE clusters and node pools, as far as programs of GPU fleets need them.

Inputs are validated against the protobufs of google-cloud-container; rules and grammar are those of the GKE
documentation (https://cloud.google.com/kubernetes-engine/docs). Not simulated: node auto-provisioning,
upgrades of a control plane in place, networks, identities.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin, CloudSimulation

if TYPE_CHECKING:
    from types import ModuleType

    from dra_fleet.clouds.gke.simulation.account import GkeLimits
    from dra_fleet.clouds.gke.simulation.cloud import SimulatedGke
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.simulator.store import Store


_SETTINGS: Final = frozenset(
    {
        "accessToken", "addPulumiAttributionLabel", "billingProject", "credentials", "defaultLabels",
        "disableGooglePartnerName", "externalCredentials", "googlePartnerName", "impersonateServiceAccount",
        "impersonateServiceAccountDelegates", "project", "pulumiAttributionLabelAdditionStrategy", "region",
        "requestReason", "requestTimeout", "scopes", "universeDomain", "userProjectOverride", "zone",
    }
)  # fmt: skip
"""https://www.pulumi.com/registry/packages/gcp/installation-configuration/, without services' endpoints"""
PLUGIN: Final = CloudPlugin(name="gcp", version="10.2.0", settings=_SETTINGS)


class GkeSimulation(CloudSimulation):
    """Parts of the simulation, which load on use."""

    plugin = PLUGIN

    @override
    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedGke:
        from dra_fleet.clouds.gke.simulation.cloud import SimulatedGke

        return SimulatedGke(store, planes)

    @override
    def limits_model(self) -> type[GkeLimits]:
        from dra_fleet.clouds.gke.simulation.account import GkeLimits

        return GkeLimits

    @override
    def helper_module(self) -> ModuleType:
        from dra_fleet.clouds.gke.simulation import gke_gcloud_auth_plugin

        return gke_gcloud_auth_plugin


SIMULATION: Final = GkeSimulation()
