"""A simulated Alibaba Cloud: ACK's managed clusters and node pools, and a fleet's network.

Inputs are validated against the published provider's, each with its place in ACK's own API (`fields.yaml`,
which a test compares with both); rules are those of the provider's pages and of the Help Center
(https://www.alibabacloud.com/help/en/ack/). Not simulated: traffic in networks, what RAM
policies allow, and cGPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin, CloudSimulation

if TYPE_CHECKING:
    from types import ModuleType

    from dra_fleet.clouds.ack.simulation.account import AckLimits
    from dra_fleet.clouds.ack.simulation.cloud import SimulatedAck
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.simulator.store import Store


GET_CREDENTIAL: Final = "alicloud:cs/getClusterCredential:getClusterCredential"
_SETTINGS: Final = frozenset(
    {
        "accessKey", "accountId", "accountType", "assumeRole", "assumeRoleWithOidc",
        "clientConnectTimeout", "clientReadTimeout", "configurationSource", "credentialsUri",
        "ecsRoleName", "endpoints", "fc", "features", "logEndpoint", "maxRetryTimeout", "mnsEndpoint",
        "otsInstanceName", "profile", "protocol", "region", "secretKey", "secureTransport",
        "securityToken", "securityTransport", "sharedCredentialsFile", "signVersion",
        "skipRegionValidation", "sourceIp",
    }
)  # fmt: skip
"""https://www.pulumi.com/registry/packages/alicloud/installation-configuration/"""
PLUGIN: Final = CloudPlugin(
    name="alicloud", version="4.0.0", settings=_SETTINGS, secret_results=frozenset({GET_CREDENTIAL})
)


class AckSimulation(CloudSimulation):
    """Parts of the simulation, which load on use."""

    plugin = PLUGIN

    @override
    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedAck:
        from dra_fleet.clouds.ack.simulation.cloud import SimulatedAck

        return SimulatedAck(store, planes)

    @override
    def limits_model(self) -> type[AckLimits]:
        from dra_fleet.clouds.ack.simulation.account import AckLimits

        return AckLimits

    @override
    def helper_module(self) -> ModuleType:
        from dra_fleet.clouds.ack.simulation import ack_ram_tool

        return ack_ram_tool


SIMULATION: Final = AckSimulation()
