"""Amazon Elastic Kubernetes Service."""

from dra_fleet.clouds.cloud import Cloud

CLOUD = Cloud(
    name="eks",
    title="EKS",
    package=__name__,
    credential_helper="aws",
    command_line="aws",
    # ExtendedResourceToleration: https://github.com/aws/containers-roadmap/issues/739
    tolerates_resources=True,
)
