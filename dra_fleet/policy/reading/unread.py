"""Kinds of resources that may hold clusters, pools or workloads, and that no rule reads.

A rule that looks for pools finds none in them, and its silence proves nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.advertisers import DAEMON_SETS
from dra_fleet.policy.reading.charts import INSTALLED_TYPES
from dra_fleet.policy.reading.homes import CLUSTER_TYPES
from dra_fleet.policy.reading.pods import POD_TYPES
from dra_fleet.policy.reading.pools import pools
from dra_fleet.policy.reading.versions import VERSIONED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource, Stack

WORKLOAD: Final = "a workload"
UNREAD: Final = (
    # https://cluster-api.sigs.k8s.io/reference/api/crd-list
    (
        "nodes of Cluster API",
        (
            r"kubernetes:((\w+\.)?cluster\.x-k8s\.io)/\w+:(Cluster|Machine(Deployment|Pool|Set)?|\w+ControlPlane"
            r"|\w+MachineTemplate|\w+ManagedMachinePool)"
        ),
    ),
    # https://docs.crossplane.io/latest/managed-resources/
    ("a cloud's resource made by Crossplane", r"kubernetes:[\w.-]+\.(upbound|crossplane)\.io/\w+:\w+"),
    # https://azure.github.io/azure-service-operator/, https://cloud.google.com/config-connector/docs/overview,
    # https://aws-controllers-k8s.github.io/docs/
    (
        "a cloud's resource made by its operator",
        r"kubernetes:(containerservice\.azure\.com|container\.cnrm\.cloud\.google\.com|eks\.services\.k8s\.aws)/.*",
    ),
    # https://karpenter.sh/docs/concepts/
    ("nodes of Karpenter", r"kubernetes:(karpenter\.sh|karpenter\.\w+\.\w+)/\w+:\w+"),
    (
        "machines of a scaling group",
        r"aws:autoscaling/group:Group|azure-native:compute:VirtualMachineScaleSet",
    ),
    (
        "a template of resources",
        (
            r"aws:cloudformation/stack\w*:\w+|aws-native:cloudformation:\w+|azure-native:resources:Deployment\w*"
            r"|azure:core/\w*[tT]emplateDeployment:\w+|gcp:deploymentmanager/deployment:Deployment"
            r"|terraform-module:.*"
        ),
    ),
    ("whatever its command does", r"command:(local|remote):Command|null:index/resource:Resource"),
    ("whatever its program does", r"pulumi-(nodejs|python):dynamic.*"),
    # https://kserve.github.io/website/, https://www.kubeflow.org/docs/, https://docs.nvidia.com/nim-operator/,
    # https://project-codeflare.github.io/appwrapper/, https://argo-workflows.readthedocs.io/
    (
        WORKLOAD,
        (
            r"kubernetes:(serving\.kserve\.io/\w+:\w+|trainer\.kubeflow\.org/\w+:TrainJob|apps\.nvidia\.com/\w+:\w+"
            r"|workload\.codeflare\.dev/\w+:AppWrapper|sparkoperator\.k8s\.io/\w+:\w+|kubevirt\.io/\w+:\w+"
            r"|argoproj\.io/\w+:(Workflow|WorkflowTemplate|CronWorkflow)|tekton\.dev/\w+:\w+|apps\.kruise\.io/\w+:\w+"
            r"|inference\.networking\.\S+:\w+|kubeflow\.org/\w+:\w+|ray\.io/\w+:\w+|batch\.volcano\.sh/\w+:\w+)"
        ),
    ),
    (
        "a cluster or a pool of another provider",
        r"(?!dra-fleet:)[\w-]+:.*:\w*(Kubernetes|Lke|Gke|Eks|Aks)\w*(Cluster|Pool)",
    ),
    (
        "a pool of another provider",
        r"(?!dra-fleet:)[\w-]+:.*:\w*(NodePool|Node[Gg]roup|AgentPool|WorkerPool)",
    ),
    (
        "a cluster of another provider",
        r"(google-native:container/|oci:ContainerEngine/|rancher2:).*:Cluster(V2)?",
    ),
)
"""What each may hold, and the types; the first that matches counts."""
_READ: Final = (CLUSTER_TYPES, VERSIONED, POD_TYPES, INSTALLED_TYPES, DAEMON_SETS)
_TYPES: Final = tuple((what, re.compile(types)) for what, types in UNREAD)


def unread(stack: Stack) -> Iterator[tuple[Resource, str]]:
    """The resources that no rule reads, with what each may hold; components are read by their children."""
    parents = {resource.parent for resource in stack.resources}
    for resource in stack.resources:
        what = next((what for what, types in _TYPES if types.fullmatch(resource.type)), None)
        if what is None or resource.urn in parents or any(types.fullmatch(resource.type) for types in _READ):
            continue
        if not any(pools(each) for each in (resource, *stack.ancestors(resource))):
            yield resource, what
