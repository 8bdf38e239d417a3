"""An AKS cluster with A100s divided into MIG partitions, and a Deployment whose pods each claim one."""

from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

import dra_fleet as dra

REPLICAS = 7
A100 = "Standard_ND96amsr_A100_v4"
MIG = {"strategy": "mig", "layout": {"1g.10gb": 7}}

cluster = dra.AksCluster(
    "studio",
    region="eastus",
    kubernetes_version="1.35",
    access={"authorized_ranges": ["203.0.113.0/24"]},
    gpu_operator={"version": "v25.10.0"},
    pools={"mig": dra.GpuNodePoolArgs(machine=A100, min=1, max=1, gpu_driver="operator", sharing=MIG)},
)
dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")
partition = dra.DeviceClass("mig-10g", cluster=cluster, driver="nvidia", type="mig", profile="1g.10gb")
inside = cluster.member_opts()
team = core.Namespace("ml", metadata={"name": "ml"}, opts=inside)
single = dra.ResourceClaimTemplate(
    "part", cluster=cluster, namespace=team.metadata.name, requests={"gpu": {"device_class": partition}}
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
