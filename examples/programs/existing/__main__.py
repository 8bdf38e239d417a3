"""Eight H100s of an existing cluster for a Deployment whose pods each claim one."""

import pulumi
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

import dra_fleet as dra

REPLICAS = 8

cluster = dra.ExistingCluster(
    "lab",
    kubeconfig=pulumi.Config().require_secret("kubeconfig"),
    kubernetes_version="1.36",
    pools={
        "h100": {"machine": "hgx-h100-8", "min": 1, "max": 1, "node_selector": {"example.com/pool": "h100"}}
    },
)
inside = cluster.member_opts()
dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")
large = dra.DeviceClass("at-least-40g", cluster=cluster, driver="nvidia", type="gpu", memory={"min": "40Gi"})
team = core.Namespace("ml", metadata={"name": "ml"}, opts=inside)
single = dra.ResourceClaimTemplate(
    "single-gpu", cluster=cluster, namespace=team.metadata.name, requests={"gpu": {"device_class": large}}
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
