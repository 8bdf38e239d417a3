"""Google Kubernetes Engine."""

from dra_fleet.clouds.cloud import Cloud
from dra_fleet.clouds.gke.labels import COMPUTE_CLASS

CLOUD = Cloud(
    name="gke",
    title="GKE",
    package=__name__,
    credential_helper="gke-gcloud-auth-plugin",
    command_line="gcloud",
    # https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra
    guarded_priorities=("system-node-critical", "system-cluster-critical"),
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    tolerates_resources=True,
    # https://cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes
    tolerated_selectors=(COMPUTE_CLASS,),
)
