"""Start the plugin: `python -m dra_fleet.rehearsal.clouds.aks.plugin ENGINE_ADDRESS`; the engine does."""

from __future__ import annotations

import asyncio
import sys

from dra_fleet.rehearsal.providers.bare_sdk import use_protocol_only

use_protocol_only()

from dra_fleet.rehearsal.clouds.aks.plugin import NAME, VERSION  # noqa: E402 - after the line above
from dra_fleet.rehearsal.providers.clouds.answering import CloudAnswering  # noqa: E402
from dra_fleet.rehearsal.providers.clouds.servicer import CloudServicer  # noqa: E402
from dra_fleet.rehearsal.providers.clouds.world import CloudInWorld  # noqa: E402
from dra_fleet.rehearsal.providers.engine_log import EngineLog  # noqa: E402
from dra_fleet.rehearsal.providers.serving import serve  # noqa: E402

SETTINGS = frozenset(
    {
        "auxiliaryTenantIds", "clientCertificatePassword", "clientCertificatePath", "clientId",
        "clientSecret", "disablePulumiPartnerId", "environment", "location",
        "metadataHost", "msiEndpoint", "oidcRequestToken", "oidcRequestUrl",
        "oidcToken", "oidcTokenFilePath", "partnerId", "subscriptionId",
        "tenantId", "useMsi", "useOidc", "useDefaultAzureCredential",
    }
)  # fmt: skip
"""https://www.pulumi.com/registry/packages/azure-native/installation-configuration/"""
SECRET_RESULTS = frozenset(
    {
        "azure-native:containerservice:listManagedClusterUserCredentials",
        "azure-native:containerservice:listManagedClusterAdminCredentials",
    }
)


async def _run() -> None:
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    log = EngineLog(addresses[0] if addresses else None)
    world = CloudInWorld("azure")
    servicer = CloudServicer(NAME, VERSION, world, settings=SETTINGS, secret_results=SECRET_RESULTS)
    await serve(servicer, [CloudAnswering(NAME, log)])


if __name__ == "__main__":
    asyncio.run(_run())
