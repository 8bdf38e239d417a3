"""Google Kubernetes Engine."""

from dra_fleet.clouds.cloud import Cloud

CLOUD = Cloud(name="gke", title="GKE", package=__name__)
