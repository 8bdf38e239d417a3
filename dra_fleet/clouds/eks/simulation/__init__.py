"""A simulated AWS: EKS, and of EC2 and IAM what a program of GPU fleets needs around it.

Inputs are validated against botocore's service models, enums and patterns included; rules and grammar are
those of the AWS documentation (https://docs.aws.amazon.com/eks/). Node groups scale as if Cluster Autoscaler
ran, and Karpenter's own controller calls `api`. Not simulated: traffic in networks, and what IAM policies
allow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.rehearsal.clouds.simulation import CloudPlugin, CloudSimulation

if TYPE_CHECKING:
    from types import ModuleType

    from dra_fleet.clouds.eks.simulation.account import EksLimits
    from dra_fleet.clouds.eks.simulation.cloud import SimulatedEks
    from dra_fleet.rehearsal.clouds.clusters import ManagedControlPlanes
    from dra_fleet.rehearsal.simulator.store import Store


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


class EksSimulation(CloudSimulation):
    """Parts of the simulation, which load on use."""

    plugin = PLUGIN

    @override
    def start(self, store: Store, planes: ManagedControlPlanes) -> SimulatedEks:
        from dra_fleet.clouds.eks.simulation.cloud import SimulatedEks

        return SimulatedEks(store, planes)

    @override
    def limits_model(self) -> type[EksLimits]:
        from dra_fleet.clouds.eks.simulation.account import EksLimits

        return EksLimits

    @override
    def helper_module(self) -> ModuleType:
        from dra_fleet.clouds.eks.simulation import aws

        return aws


SIMULATION: Final = EksSimulation()
