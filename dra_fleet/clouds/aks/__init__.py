"""Azure Kubernetes Service."""

from dra_fleet.clouds.cloud import Cloud

CLOUD = Cloud(
    name="aks",
    title="AKS",
    package=__name__,
    credential_helper="kubelogin",
)
