"""An ACK cluster with an A10 per node, and a Deployment whose pods each claim one."""

from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

import dra_fleet as dra

REPLICAS = 2

cluster = dra.AckCluster(
    "asia",
    region="ap-southeast-1",
    account="0000000000000000",
    kubernetes_version="1.36",
    access={"public": False},
    network={"zones": ["ap-southeast-1a", "ap-southeast-1b"]},
    pools={"a10": {"machine": "ecs.gn7i-c8g1.2xlarge", "min": 2, "max": 3}},
)
dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")
ampere = dra.DeviceClass("ampere", cluster=cluster, driver="nvidia", type="gpu", architecture="Ampere")
inside = cluster.member_opts()
team = core.Namespace("ml", metadata={"name": "ml"}, opts=inside)
single = dra.ResourceClaimTemplate(
    "single-gpu", cluster=cluster, namespace=team.metadata.name, requests={"gpu": {"device_class": ampere}}
)
dra.Demand(single, replicas=REPLICAS)

claims = core.ResourceRequirementsArgs(claims=[single.container_claim()])
container = core.ContainerArgs(name="main", image="registry.k8s.io/pause:3.10", resources=claims)
pod = core.PodSpecArgs(containers=[container], resource_claims=[single.pod_claim()])
labels = {"app": "inference"}
template = core.PodTemplateSpecArgs(metadata=meta.ObjectMetaArgs(labels=labels), spec=pod)
selector = meta.LabelSelectorArgs(match_labels=labels)
spec = apps.DeploymentSpecArgs(replicas=REPLICAS, selector=selector, template=template)
apps.Deployment("inference", metadata={"namespace": team.metadata.name}, spec=spec, opts=inside)
