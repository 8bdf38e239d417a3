"""GPUs in an EKS cluster of the same program, of which only a kubeconfig is known, as with pulumi-eks."""

from eks_cluster import Cluster
from pulumi_kubernetes.apps import v1 as apps
from pulumi_kubernetes.core import v1 as core
from pulumi_kubernetes.meta import v1 as meta

import dra_fleet as dra

REPLICAS = 2

theirs = Cluster("shared", version="1.35", instance_type="p5.4xlarge", nodes=2)
cluster = dra.ExistingCluster(
    "shared",
    kubeconfig=theirs.kubeconfig_json,
    cluster_id=theirs.eks_cluster.id,
    kubernetes_version="1.35",
    pools={
        "h100": {"machine": "p5.4xlarge", "min": 2, "max": 2, "node_selector": {"example.com/pool": "h100"}}
    },
)
dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")
hopper = dra.DeviceClass("hopper", cluster=cluster, driver="nvidia", type="gpu", architecture="Hopper")
inside = cluster.member_opts()
team = core.Namespace("ml", metadata={"name": "ml"}, opts=inside)
single = dra.ResourceClaimTemplate(
    "single-gpu", cluster=cluster, namespace=team.metadata.name, requests={"gpu": {"device_class": hopper}}
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
