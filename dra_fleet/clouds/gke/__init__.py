"""Google Kubernetes Engine."""

from dra_fleet.clouds.cloud import Cloud

CLOUD = Cloud(
    name="gke",
    title="GKE",
    package=__name__,
    credential_helper="gke-gcloud-auth-plugin",
    # https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra
    guarded_priorities=("system-node-critical", "system-cluster-critical"),
)
