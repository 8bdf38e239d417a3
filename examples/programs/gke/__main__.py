"""A GKE cluster with L4s, and a Deployment whose pods each claim one."""

from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

import dra_fleet as dra

REPLICAS = 2

cluster = dra.GkeCluster(
    "render",
    project="ml-render",
    location="us-central1",
    kubernetes_version="1.35",
    access={"external": False},
    pools={"l4": {"machine": "g2-standard-24", "min": 1, "max": 2, "zones": ["us-central1-a"]}},
)
dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")
l4 = dra.DeviceClass("l4", cluster=cluster, driver="nvidia", type="gpu", architecture="Ada Lovelace")
inside = cluster.member_opts()
team = core.Namespace("ml", metadata={"name": "ml"}, opts=inside)
single = dra.ResourceClaimTemplate(
    "single-gpu", cluster=cluster, namespace=team.metadata.name, requests={"gpu": {"device_class": l4}}
)
tolerations = cluster.tolerations()
dra.Demand(single, replicas=REPLICAS, tolerations=tolerations)

claims = core.ResourceRequirementsArgs(claims=[single.container_claim()])
container = core.ContainerArgs(name="main", image="registry.k8s.io/pause:3.10", resources=claims)
pod = core.PodSpecArgs(containers=[container], resource_claims=[single.pod_claim()], tolerations=tolerations)
labels = {"app": "inference"}
template = core.PodTemplateSpecArgs(metadata=meta.ObjectMetaArgs(labels=labels), spec=pod)
selector = meta.LabelSelectorArgs(match_labels=labels)
spec = apps.DeploymentSpecArgs(replicas=REPLICAS, selector=selector, template=template)
apps.Deployment("inference", metadata={"namespace": team.metadata.name}, spec=spec, opts=inside)
