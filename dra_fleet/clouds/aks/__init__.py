"""Azure Kubernetes Service."""

from dra_fleet.clouds.cloud import Cloud

CLOUD = Cloud(
    name="aks",
    title="AKS",
    package=__name__,
    credential_helper="kubelogin",
    command_line="az",
    # ExtendedResourceToleration: https://learn.microsoft.com/azure/aks/faq
    tolerates_resources=True,
)
