"""A stand-in for the azure-native resource plugin: it forwards every call to the simulated Azure.

Published plugin: https://github.com/pulumi/pulumi-azure-native
"""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin

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
