"""A stand-in for the alicloud resource plugin: it forwards every call to the simulated Alibaba Cloud.

Published plugin: https://github.com/pulumi/pulumi-alicloud
"""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin

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
    name="alicloud",
    version="4.0.0",
    settings=_SETTINGS,
    secret_results=frozenset({GET_CREDENTIAL}),
)
