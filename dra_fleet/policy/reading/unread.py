"""Kinds of resources that may hold clusters, pools or workloads, and that no rule reads.

A rule that looks for pools finds none in them, and its silence proves nothing.
"""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.core.declared.values import Value
from dra_fleet.policy.reading.advertisers import SOCKETS, advertisers, reaches_sockets
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, RELEASE_TYPES, is_of_no_driver, releases
from dra_fleet.policy.reading.claims import CLASS_TYPES
from dra_fleet.policy.reading.clouds import VERSIONED, all_resources, any_of
from dra_fleet.policy.reading.contents import contents
from dra_fleet.policy.reading.custom_types import SCRIPT_INSTALLS, custom_types, installs, is_harmless
from dra_fleet.policy.reading.homes import CLUSTER_TYPES
from dra_fleet.policy.reading.partitions import pools
from dra_fleet.policy.reading.pods import POD_TYPES, may_be_dra_driver, pod_specs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.core.declared.resources import Resource, Stack

WORKLOAD: Final = "a workload"
_ELSEWHERE: Final = "a cluster or a pool of another provider"
_SERVICES: Final = re.compile(
    r"AWS::(EKS|AutoScaling|EC2|CloudFormation)::"
    r"|Microsoft\.(ContainerService|HybridContainerService|Kubernetes\w*|RedHatOpenShift|Compute|Resources)"
)
"""The services of clouds that make clusters, machines or whatever a template holds."""
_ACCELERATED: Final = re.compile(r"(?i)gpu|nvidia|neuron|(?<![a-z])dra(?![a-z])")
_OF_DEVICES: Final = re.compile(r"(?i)(?<![a-z])(v?gpus?|nvidia|neuron|device-plugin|dra|mig)(?![a-z])")
_NAMING: Final = frozenset({"type", "typeName", "addonName", "chart"})
_USER_DATA: Final = re.compile(
    r"(?i)(user|custom|cloudinit)[_-]?(data|config)(Base64|64)?|\w*startup[_-]?script"
)
"""Properties of machines that hold what runs at their start, whatever the cloud."""
_INSTALLERS: Final = re.compile(
    r"\b(kubeadm (init|join)|get\.(k3s\.io|rke2\.io|k0s\.sh)|k3s (server|agent)"
    r"|k0s (install|controller|worker)|rke2-(server|agent)|k3sup"
    r"|microk8s|kubespray|talosctl|kind create cluster|minikube start)\b"
)
"""https://kubernetes.io/docs/setup/production-environment/tools/ and the distributions' own installers."""
_JOINS: Final = re.compile(r"/etc/eks/bootstrap\.sh|node\.eks\.aws/|settings\.kubernetes")
"""User data by which a machine joins a cluster of EKS: https://docs.aws.amazon.com/eks/latest/userguide/worker.html."""
_OF_CLUSTERS: Final = re.compile(
    r"(?i)kube_?config([_-]?(raw|file|path|content))?s?|(kubernetes|k8s|kube)_?version|kubelet_?\w*"
    r"|helm_?(charts?|releases?|values)|chart_?(name|version|url|repository)|(kubernetes|k8s)_?manifests?"
    r"|config_?sync|sync_?repo|machine_?configuration\w*|control_?plane_?(nodes?|machines?)"
    r"|(eks|gke|aks|kubernetes)_?(cluster)?_?(config(uration)?|properties)"
)
"""Property names, of any provider, for clusters and for installers of charts or manifests."""
_SNAPSHOTS: Final = re.compile(r"azure(-native(_\w+)?)?:containerservice[/:].*")
_TEMPLATES: Final = any_of(lambda resources: [each.types for each in resources.machine_templates])
_TEMPLATED: Final = re.compile(r"\{\{")


def _names(pattern: re.Pattern[str]) -> Callable[[Resource], bool]:
    """Build a test for resources with a text that matches, or with an unknown name."""
    return lambda resource: any(
        (value.possible and value.peek is None and value.path[-1:] and value.path[-1] in _NAMING)
        or (isinstance(value.peek, str) and pattern.search(value.peek))
        for value in resource.properties.walk()
    )


def _is_of_git(resource: Resource) -> bool:
    """Return whether a repository or a generator decides the content, so that no chart name is known."""
    if resource.get("spec", "templatePatch").possible:
        return True
    return any(
        _TEMPLATED.search(installed.chart.text or "")
        or (
            installed.chart.path[-1] == "path"
            and installed.chart.given
            and installed.installs is None
            and installed.operator is None
        )
        for installed in releases(resource)
    )


def _is_chart_of_devices(resource: Resource) -> bool:
    """Return whether the name or the place of an unknown chart suggests that it advertises devices."""
    return any(
        not installed.files
        and is_of_no_driver(installed)
        and any(_OF_DEVICES.search(place.text or "") for place in (installed.chart, installed.repository))
        for installed in releases(resource)
    )


def _is_chart_elsewhere(resource: Resource) -> bool:
    unreadable = contents(resource).unreadable
    return any(installed.missing and is_of_no_driver(installed) for installed in releases(resource)) or any(
        _OF_DEVICES.search(text) or SOCKETS.rpartition("/")[0] in text for _, text in unreadable
    )


def _by_script(resource: Resource) -> bool:
    """Return whether a script installs Kubernetes or objects: a machine's user data, a step of a build."""
    return _remembered(
        resource, "script", lambda: any(_runs_script(resource, each) for each in _all(resource))
    )


def _runs_script(resource: Resource, value: Value) -> bool:
    text = value.peek
    if not isinstance(text, str):
        return bool(value.get("args").items or value.get("command").items) and installs(value)
    user_data = value.path and _USER_DATA.fullmatch(str(value.path[-1]))
    texts = (text, _decoded(text)) if user_data else (text,)
    joins = "launchtemplate" not in resource.type.lower()  # what uses a template is read
    return any(
        _INSTALLERS.search(each) or SCRIPT_INSTALLS.search(each) or (joins and _JOINS.search(each))
        for each in texts
    )


def _all(resource: Resource) -> Iterator[Value]:
    """Return every input of a resource; reading them notes nothing."""
    return Value(resource.read(), (), {}).walk()


def _remembered(resource: Resource, key: str, found: Callable[[], bool]) -> bool:
    answers = resource.remembered
    if (name := f"{__name__}.{key}") not in answers:
        answers[name] = found()
    return answers[name] is True


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text, validate=True).decode("utf-8", errors="replace")
    except ValueError:
        return ""


def _says_kubernetes(resource: Resource) -> bool:
    """Return whether a property of a resource of any provider is called like one of a cluster or a chart."""
    return _remembered(
        resource,
        "words",
        lambda: any(
            value.path and _OF_CLUSTERS.fullmatch(str(value.path[-1]))
            for value in (*_all(resource), *Value(resource.outputs.peek, (), {}).walk())
        ),
    )


def _changes_nodes(resource: Resource) -> bool:
    """Return whether a Node has labels of devices or taints, which its pool does not show."""
    labels = Value(resource.read(), (), {}).get("metadata", "labels")
    taints = Value(resource.read(), (), {}).get("spec", "taints")
    return taints.possible or any(
        _ACCELERATED.search(f"{key}={value.peek}") or not value.possible for key, value in labels.entries
    )


def _has_containers(resource: Resource) -> bool:
    """Return whether an object has containers, or fields that only requests for devices have.

    In a harmless group, containers only count if they have an image: others change what its controller makes.
    """
    harmless = is_harmless(resource.type)
    return POD_TYPES.fullmatch(resource.type) is None and any(
        _is_container_s(value, harmless) for value in resource.properties.walk()
    )


def _is_container_s(value: Value, harmless: bool) -> bool:
    above, own = (*value.path[-2:-1], ""), str((*value.path[-1:], "")[0])
    if own in ("containers", "initContainers"):
        return any(each.get("image").possible or not harmless for each in value.items)
    return above[0] in ("limits", "requests") and "/" in own


UNREAD: Final[tuple[tuple[str, str, Callable[[Resource], bool] | None], ...]] = (
    # https://cluster-api.sigs.k8s.io/reference/api/crd-list
    (
        "nodes of Cluster API",
        (
            r"kubernetes:((\w+\.)?cluster\.x-k8s\.io)/\w+:(Cluster|Machine(Deployment|Pool|Set)?|\w+ControlPlane"
            r"|\w+MachineTemplate|\w+ManagedMachinePool)"
        ),
        None,
    ),
    # https://docs.crossplane.io/latest/managed-resources/
    ("a cloud's resource made by Crossplane", r"kubernetes:[\w.-]+\.(upbound|crossplane)\.io/\w+:\w+", None),
    # https://azure.github.io/azure-service-operator/, https://cloud.google.com/config-connector/docs/overview,
    # https://aws-controllers-k8s.github.io/docs/
    (
        "a cloud's resource made by its operator",
        r"kubernetes:(containerservice\.azure\.com|container\.cnrm\.cloud\.google\.com|eks\.services\.k8s\.aws)/.*",
        None,
    ),
    # https://karpenter.sh/docs/concepts/
    (
        "nodes of Karpenter",
        r"kubernetes:((karpenter\.sh|karpenter\.\w+\.\w+)/\w+:\w+|eks\.amazonaws\.com/\w+:NodeClass)",
        None,
    ),
    # https://cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes
    ("pools that a cluster makes by itself", r"kubernetes:cloud\.google\.com/\w+:ComputeClass", None),
    (
        "machines of a scaling group",
        (
            r"aws:autoscaling/group:Group|aws:ec2/\w*[fF]leet\w*:\w+|aws-native:autoscaling:AutoScalingGroup"
            r"|azure-native(_\w+)?:compute(/v\w+)?:VirtualMachineScaleSet|azure:compute/\w+:\w*ScaleSet"
            r"|azure-native(_\w+)?:containerservice(/v\w+)?:Machine|aws(-native)?:sagemaker[:/].*Cluster"
            r"|gcp:compute/\w*[iI]nstanceGroupManager:\w+"
        ),
        None,
    ),
    (
        "a template of resources",
        (
            r"aws:cloudformation/stack\w*:\w+|aws-native:cloudformation:\w+|azure-native:resources:Deployment\w*"
            r"|azure:core/\w*[tT]emplateDeployment:\w+|gcp:deploymentmanager/deployment:Deployment"
            r"|terraform-module:.*"
        ),
        None,
    ),
    (
        "a resource of another type, which it names",
        (
            r"aws:cloudcontrol/resource:Resource|aws-native:index:ExtensionResource|azapi:.*"
            r"|azure-native:resources:Resource"
        ),
        lambda resource: _names(_SERVICES)(resource) and not pools(resource),
    ),
    (
        "whatever its command does",
        r"command:(local|remote):Command|null:index/resource:Resource|.*:\w*Playbook",
        None,
    ),
    ("whatever its program does", r"pulumi-\w+:dynamic.*", None),
    # Their children are read; without any, nothing of them is.
    (
        "whatever it renders",
        r"kubernetes:(yaml(/v2)?:Config(File|Group)|kustomize(/v2)?:Directory|helm\.sh/v\d:Chart)",
        None,
    ),
    ("several objects", r"kubernetes:(core|apps|batch|resource\.k8s\.io)/v\w+:\w+List", None),
    # https://argo-cd.readthedocs.io/en/stable/user-guide/application_sources/
    ("whatever its repository holds", r"kubernetes:argoproj\.io/\w+:Application(Set)?(Patch)?", _is_of_git),
    # https://fluxcd.io/flux/components/kustomize/kustomizations/, https://fleet.rancher.io/ref-gitrepo
    (
        "whatever its repository holds",
        (
            r"kubernetes:(kustomize\.toolkit\.fluxcd\.io/\w+:Kustomization|fleet\.cattle\.io/\w+:(GitRepo|Bundle))"
            r"|azure-native(_\w+)?:kubernetesconfiguration(/v\w+)?:\w+|flux:.*"
        ),
        None,
    ),
    # https://olm.operatorframework.io/docs/concepts/crds/subscription/, https://docs.k3s.io/add-ons/helm
    (
        "an operator or a chart",
        (
            r"kubernetes:operators\.coreos\.com/\w+:Subscription|kubernetes:helm\.cattle\.io/\w+:HelmChartConfig"
            r"|rancher2:index/app\w*:\w+|helm:.*|kubectl:.*|argocd:.*"
        ),
        None,
    ),
    ("what gives devices out", RELEASE_TYPES.pattern, _is_chart_of_devices),
    ("whatever its chart makes, which is not at hand", RELEASE_TYPES.pattern, _is_chart_elsewhere),
    # https://fluxcd.io/flux/components/source/helmcharts/
    ("what gives devices out", r"kubernetes:source\.toolkit\.fluxcd\.io/\w+:HelmChart", _names(_OF_DEVICES)),
    ("what gives devices out", r"aws:eks/addon:Addon|aws-native:eks:Addon", _names(_ACCELERATED)),
    # https://kserve.github.io/website/, https://www.kubeflow.org/docs/, https://www.kubeai.org/,
    # https://project-codeflare.github.io/appwrapper/, https://argo-workflows.readthedocs.io/,
    # https://docs.seldon.io/
    (
        WORKLOAD,
        (
            r"kubernetes:(serving\.kserve\.io/\w+:\w+|trainer\.kubeflow\.org/\w+:TrainJob"
            r"|workload\.codeflare\.dev/\w+:AppWrapper|sparkoperator\.k8s\.io/\w+:\w+|kubevirt\.io/\w+:\w+"
            r"|argoproj\.io/\w+:(Workflow|WorkflowTemplate|CronWorkflow)|tekton\.dev/\w+:\w+|apps\.kruise\.io/\w+:\w+"
            r"|inference\.networking\.\S+:\w+|kubeflow\.org/\w+:\w+|ray\.io/\w+:\w+|batch\.volcano\.sh/\w+:\w+"
            r"|kubeai\.org/\w+:Model|\w+\.seldon\.io/\w+:\w+)"
        ),
        None,
    ),
    *((WORKLOAD, driver.resources.workloads.pattern, None) for driver in drivers.known()),
    # Custom types may hold pods in any place.
    (WORKLOAD, r"kubernetes:[\w-]+(\.[\w-]+)+/\w+:\w+", _has_containers),
    (
        _ELSEWHERE,
        (
            r"(?i)(?!dra-fleet:|kubernetes:|pulumi:)(?!.*(registry|batch)[/:])"
            r"(?=.*(rancher|kube|k8s|k3[sd]|kops|openshift|rosa|container|node"
            r"|(?-i:Eks|Aks|Gke|Rke|Lke|Sks|Ske|Oke|Tke|Cce|Cks)|(?<![a-z])([aes]ks|[glors]ke|tke|cce|cks)))"
            r"[\w-]+:.*:\w*(Kubernetes|Kube|K8s(v\d)?|Cluster(V\d|Instance|RosaHcp|RosaClassic|Eks|Aks|Gke)?|Pool"
            r"|NodeGroup)|(?!gcp:compute|kubernetes:|dra-fleet:).*:\w*Node(Pool|Group|Template|Config(uration)?)"
        ),
        None,
    ),
    ("labels or taints of nodes with devices", r"kubernetes:core/v1:Node(Patch)?", _changes_nodes),
    ("a cluster or what is installed on one", r"(?!kubernetes:|pulumi:|dra-fleet:).*", _says_kubernetes),
    (
        "a chart or manifests",
        r"(?i)(?!kubernetes:|aws|azure|gcp|pulumi:|dra-fleet:)[\w-]+:.*:\w*(helm|chart|manifest)\w*",
        None,
    ),
    (
        "what a script installs: Kubernetes or objects of it",
        r"(?!kubernetes:|pulumi:|dra-fleet:).*",
        _by_script,
    ),
)
"""Possible content, resource types, and a test of the resource; the first match counts."""
_READ: Final = (CLUSTER_TYPES, VERSIONED, POD_TYPES, INSTALLED_TYPES)
_TYPES: Final = tuple((what, re.compile(types), about) for what, types, about in UNREAD)


_OF_A_SNAPSHOT: Final = "a pool of any Kubernetes version, which its snapshot has"


def unread(stack: Stack) -> Iterator[tuple[Resource, str]]:
    """Yield the resources that no rule reads, with their possible content.

    Components are read by their children.
    """
    parents = {resource.parent for resource in stack.resources}
    hidden = {**_hiding_drivers(stack), **_unknown_plugins(stack)}
    snapshots = _of_snapshots(stack)
    for resource in stack.resources:
        is_component = resource.provider is None
        if is_component and resource.urn in parents:
            continue
        if resource.urn in snapshots:
            yield resource, snapshots[resource.urn]
            continue
        what = _may_hold(resource) or hidden.get(resource.urn, "")
        if what and not any(_is_read(stack, each) for each in (resource, *stack.ancestors(resource))):
            yield resource, what


_NODES: Final = frozenset(
    {
        "nodes of Cluster API",
        "a cloud's resource made by Crossplane",
        "a cloud's resource made by its operator",
        "nodes of Karpenter",
        "pools that a cluster makes by itself",
        "machines of a scaling group",
        "a template of resources",
        "a resource of another type, which it names",
        "what gives devices out",
        "what gives the devices of its classes out",
        "a device plugin",
        _ELSEWHERE,
        "labels or taints of nodes with devices",
        _OF_A_SNAPSHOT,
    }
)
"""Kinds of unread resources that may have devices, whatever they are called."""


def may_have_devices(stack: Stack, resource: Resource, what: str) -> bool:
    """Return whether an unread resource may have devices.

    It makes nodes of unknown machines, or gives devices out, or one of its words is of devices.
    """
    if what == "machines of a scaling group" and stack.of(_TEMPLATES):
        return False  # the templates name its machines
    if what == _ELSEWHERE and not resource.properties.entries:
        return False  # a component of that name, whose resources have no parent
    return what in _NODES or any(
        _ACCELERATED.search(" ".join((*map(str, each.path[-1:]), str(each.peek or ""))))
        for each in _all(resource)
    )


def unknown_types(stack: Stack) -> Iterator[tuple[Resource, str, tuple[Resource, ...]]]:
    """Find custom types unknown to every rule: an object of each, what it may hold, the others."""
    yield from custom_types(
        stack,
        lambda resource: (
            bool(_may_hold(resource))
            or any(types.fullmatch(resource.type) for types in _READ)
            or any(
                types.fullmatch(resource.type) and about is not _has_containers for _, types, about in _TYPES
            )
        ),
    )


def _unknown_plugins(stack: Stack) -> dict[str, str]:
    """Find pods with the sockets of device plugins that no driver knows, beside a DRA driver."""
    found = advertisers(stack)
    known = {each.resource.urn for each in found}
    if not any(each.kind == "dra" for each in found) and not any(
        may_be_dra_driver(pods) for each in stack.of(POD_TYPES) for pods in pod_specs(each)
    ):
        return {}
    return {
        each.urn: "a device plugin"
        for each in stack.of(POD_TYPES)
        if each.urn not in known and any(reaches_sockets(pods.value) for pods in pod_specs(each))
    }


def _of_snapshots(stack: Stack) -> dict[str, str]:
    """Find pools that take their Kubernetes version from a snapshot.

    https://learn.microsoft.com/azure/aks/node-pool-snapshot
    """
    places = (("creationData", "sourceResourceId"), ("snapshotId",), ("defaultNodePool", "snapshotId"))
    return {
        each.urn: _OF_A_SNAPSHOT
        for each in stack.of(_SNAPSHOTS)
        if any(each.get(*place).possible for place in places)
    }


def _hiding_drivers(stack: Stack) -> dict[str, str]:
    """Return the charts that no driver knows, if a program has classes and no known driver."""
    if not stack.of(CLASS_TYPES) or any(found.kind == "dra" for found in advertisers(stack)):
        return {}
    charts = [(each, installed) for each in stack.of(RELEASE_TYPES) for installed in releases(each)]
    return {
        each.urn: "what gives the devices of its classes out"
        for each, installed in charts
        if is_of_no_driver(installed) and not installed.files
    }


def _is_read(stack: Stack, resource: Resource) -> bool:
    reported = [cloud.known_images(stack, resource) for cloud in all_resources()]
    return any(reported) or (bool(pools(resource)) and False not in reported)


def _may_hold(resource: Resource) -> str:
    """Return the possible content of a resource that no rule reads; empty if none."""
    found = [(what, about) for what, types, about in _TYPES if types.fullmatch(resource.type)]
    is_read = found and any(types.fullmatch(resource.type) for types in _READ)
    return next((what for what, about in found if (not is_read if about is None else about(resource))), "")
