"""A stand-in for the aws resource plugin: it forwards every call to the simulated AWS.

Published plugin: https://github.com/pulumi/pulumi-aws
"""

from __future__ import annotations

from typing import Final

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin

_SETTINGS: Final = frozenset(
    {
        "accessKey", "allowedAccountIds", "assumeRoleWithWebIdentity", "assumeRoles",
        "customCaBundle", "defaultTags", "ec2MetadataServiceEndpoint", "ec2MetadataServiceEndpointMode",
        "endpoints", "forbiddenAccountIds", "httpProxy", "httpsProxy",
        "ignoreTags", "insecure", "maxRetries", "noProxy",
        "profile", "region", "retryMode", "s3UsEast1RegionalEndpoint",
        "s3UsePathStyle", "secretKey", "sharedConfigFiles", "sharedCredentialsFiles",
        "skipCredentialsValidation", "skipMetadataApiCheck", "skipRegionValidation",
        "skipRequestingAccountId",
        "stsRegion", "tagPolicyCompliance", "token", "tokenBucketRateLimiterCapacity",
        "useDualstackEndpoint", "useFipsEndpoint", "userAgents",
    }
)  # fmt: skip
"""https://www.pulumi.com/registry/packages/aws/installation-configuration/"""
PLUGIN: Final = CloudPlugin(
    name="aws",
    version="7.51.1",
    settings=_SETTINGS,
)
