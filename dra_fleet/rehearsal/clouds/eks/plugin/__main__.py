"""Start the plugin: `python -m dra_fleet.rehearsal.clouds.eks.plugin ENGINE_ADDRESS`; the engine does."""

from __future__ import annotations

import asyncio
import sys

from dra_fleet.rehearsal.providers.bare_sdk import use_protocol_only

use_protocol_only()

from dra_fleet.rehearsal.clouds.eks.plugin import NAME, VERSION  # noqa: E402 - after the line above
from dra_fleet.rehearsal.providers.clouds.answering import CloudAnswering  # noqa: E402
from dra_fleet.rehearsal.providers.clouds.servicer import CloudServicer  # noqa: E402
from dra_fleet.rehearsal.providers.clouds.world import CloudInWorld  # noqa: E402
from dra_fleet.rehearsal.providers.engine_log import EngineLog  # noqa: E402
from dra_fleet.rehearsal.providers.serving import serve  # noqa: E402

SETTINGS = frozenset(
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


async def _run() -> None:
    addresses = [argument for argument in sys.argv[1:] if not argument.startswith("-")]
    log = EngineLog(addresses[0] if addresses else None)
    servicer = CloudServicer(
        NAME, VERSION, CloudInWorld("aws"), settings=SETTINGS, secret_results=frozenset()
    )
    await serve(servicer, [CloudAnswering(NAME, log)])


if __name__ == "__main__":
    asyncio.run(_run())
