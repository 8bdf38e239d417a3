"""GPUs in an AKS cluster that the same program makes with azure-native, see azure_cluster.py."""

from azure_cluster import managed_cluster
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

import dra_fleet as dra

REPLICAS = 2

group, theirs = managed_cluster("shared", region="eastus", kubernetes_version="1.36")
cluster = dra.AksCluster(
    "shared",
    region="eastus",
    kubernetes_version="1.36",
    adopt={"resource_group": group.name, "name": theirs.name},
    pools={"a100": {"machine": "Standard_NC24ads_A100_v4", "min": 2, "max": 2}},
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
