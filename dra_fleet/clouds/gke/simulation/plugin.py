"""A stand-in for the gcp resource plugin: it forwards every call to the simulated Google Cloud.

Published plugin: https://github.com/pulumi/pulumi-gcp
"""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin

_SETTINGS: Final = frozenset(
    {
        "accessToken", "addPulumiAttributionLabel", "billingProject", "credentials", "defaultLabels",
        "disableGooglePartnerName", "externalCredentials", "googlePartnerName", "impersonateServiceAccount",
        "impersonateServiceAccountDelegates", "project", "pulumiAttributionLabelAdditionStrategy", "region",
        "requestReason", "requestTimeout", "scopes", "universeDomain", "userProjectOverride", "zone",
    }
)  # fmt: skip
"""https://www.pulumi.com/registry/packages/gcp/installation-configuration/, without services' endpoints"""
PLUGIN: Final = CloudPlugin(
    name="gcp",
    version="10.2.0",
    settings=_SETTINGS,
)
