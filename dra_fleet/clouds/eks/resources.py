"""EKS as any program declares it: resources of aws, aws-native and the component eks."""

from __future__ import annotations

import base64
import re
import tomllib
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.common.resources import open_ranges, version_field
from dra_fleet.clouds.eks import CLOUD
from dra_fleet.clouds.pools import PoolForm, steps
from dra_fleet.clouds.resources import (
    CloudDevicePlugin,
    CloudResources,
    Fault,
    GpuDriverOwner,
    MachineTemplate,
    OtherPools,
    Support,
    VersionField,
    nothing,
)
from dra_fleet.core.declared.values import Value

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Callable, Collection, Iterator

    from dra_fleet.clouds.eks.facts import EksFacts, EksImage
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack


_REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")

DYNAMIC_RESOURCES: Final = "dra-fleet/dynamic-resources"
"""Annotation of a NodePool whose Karpenter has settings.enableDRA."""

_CLASS: Final = ("spec", "template", "spec", "nodeClassRef")

_TYPE: Final = "node.kubernetes.io/instance-type"

_OF_AWS: Final = "karpenter.k8s.aws"

_AUTO: Final = "eks.amazonaws.com"
"""The API group and the labels of EKS Auto Mode: https://docs.aws.amazon.com/eks/latest/userguide/create-node-pool.html."""

_LABELS: Final = rf"({re.escape(_OF_AWS)}|{re.escape(_AUTO)})"

_GPUS: Final = re.compile(rf"{_LABELS}/instance-gpu-(count|name|manufacturer|memory)")

_FAMILY: Final = re.compile(rf"{_LABELS}/instance-family")

_CATEGORY: Final = re.compile(rf"{_LABELS}/instance-category")

_WITHOUT: Final = frozenset({"DoesNotExist", "NotIn", "Lt"})

_CLASSES: Final = re.compile(rf"kubernetes:{re.escape(_OF_AWS)}/v\w+:EC2NodeClass(Patch)?")

_OWN_IMAGES: Final = "custom"

_BOTTLEROCKET: Final = "bottlerocket"


# https://bottlerocket.dev/en/os/latest/api/settings/kubelet-device-plugins/
_NVIDIA: Final = ("settings", "kubelet-device-plugins", "nvidia")

_SWITCH: Final = (*_NVIDIA, "enabled")

_PARTITIONING: Final = (*_NVIDIA, "device-partitioning-strategy")

_KARPENTER_RELEASE: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def known_images(stack: Stack, resource: Resource, families: re.Pattern[str]) -> bool | None:
    """Return True if the program specifies the images of a node class, or of a GPU pool's nodes.

    Args:
        stack: what may have a pool's node class.
        resource: a node class, a pool, or neither.
        families: matches names of machines with GPUs.
    """
    if _CLASSES.fullmatch(resource.type):
        return _image(resource)[0] not in ("", _OWN_IMAGES)
    name = resource.get(*_CLASS, "name")
    if POOLS.types.fullmatch(resource.type) is None or not _is_of_aws(resource) or not name.possible:
        return None
    types = _types(resource.properties)
    has_gpus = known_gpus(resource, families)
    if has_gpus is None and types:
        has_gpus = any(families.match(value.text or "") for value in types)
    if has_gpus is False or name.unknown:
        return None
    return resource.get(*_CLASS, "group").peek == _AUTO or bool(_classes_of(stack, resource))


def partitions(stack: Stack, pool: NodePool) -> list[Value]:
    """Return the settings in a pool's node classes that let Bottlerocket partition its GPUs, if known."""
    if not makes(pool) or pool.get(*_CLASS, "name").peek is None:
        return []
    reported = [
        each for each in _classes_of(stack, pool.resource) if each.get("spec", "userData").peek is not None
    ]
    found = [_settings(each).get(*_PARTITIONING) for each in reported if _image(each)[0] == _BOTTLEROCKET]
    return [value for value in found if value.text == "mig"]


def _types(pool: Value) -> list[Value]:
    return [
        value
        for demand in pool.get(*_REQUIREMENTS).items
        if (demand.get("key").text, demand.get("operator").text) == (_TYPE, "In")
        for value in demand.get("values").items
    ]


def _is_of_aws(resource: Resource) -> bool:
    group = resource.get(*_CLASS, "group").peek
    return group in (None, _OF_AWS, _AUTO)


# https://karpenter.sh/docs/concepts/nodepools/
POOLS: Final = PoolForm(
    types=re.compile(r"kubernetes:karpenter\.sh/v\w+:NodePool(Patch)?"),
    pools="",
    name="",
    machine="spec.template.spec.requirements",
    machines=_types,
    labels="spec.template.metadata.labels",
    taints="spec.template.spec.taints",
    image="spec.template.spec.image",  # its node class says it
    autoscaling="spec.template",
    fewest=lambda pool: pool.get("spec", "replicas"),
    most=lambda pool: pool.get("spec", "replicas"),
    rolled_by=("spec.template",),
    applies=_is_of_aws,
)

_CHOSEN: Final = "the newest version that EKS has when the cluster is made"
"""The version that EKS chooses by default.

https://www.pulumi.com/registry/packages/aws/api-docs/eks/cluster/
"""

_CLUSTER: Final = r"aws:eks/cluster:Cluster"

_NATIVE_CLUSTER: Final = r"aws-native:eks:Cluster"

_NODE_GROUP: Final = r"aws:eks/nodeGroup:NodeGroup"

_NATIVE_NODE_GROUP: Final = r"aws-native:eks:Nodegroup"

_IS_MANAGED: Final = re.compile(rf"{_NODE_GROUP}|{_NATIVE_NODE_GROUP}")


# https://aws.amazon.com/ec2/instance-types/#Accelerated_Computing
_FAMILIES: Final = re.compile(r"(p|g|gr)\d[\w-]*\.")


# https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
_PLAIN: Final = re.compile(r"(a|c|d|h|hpc|i|im|is|m|mac|r|t|u|x|z)-?\d[\w-]*\.")

_RELEASE: Final = re.compile(r"\d+\.\d+\.\d+-20\d{6}")
"""A release of Amazon Linux, by its Kubernetes and its day; one of Bottlerocket is numbered by itself.

https://docs.aws.amazon.com/eks/latest/userguide/eks-linux-ami-versions.html
"""


_AMI: Final = re.compile(
    r"(?:resolve:ssm:)?/aws/service/(?:eks/optimized-ami/|bottlerocket/aws-k8s-)(\d+\.\d+)[-/].*"
)
"""A public parameter of SSM that names the image of a Kubernetes version.

https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
"""


# Graviton: https://docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html
_ARM: Final = re.compile(r"(a1|[a-z]+\d+g[a-z]*)\.[\w-]+")


def _facts() -> EksFacts:
    from dra_fleet.clouds.eks.facts import eks_facts  # noqa: PLC0415 - models take long to build

    return eks_facts()


def _image_of(pool: NodePool) -> EksImage | None:
    return _facts().image(pool.image.text or "")


def _standard_end(minor: str) -> dt.date | None:
    entry = _facts().minor(minor)
    return None if entry is None else entry.standard_support_end


def _end(cluster: Resource, minor: str) -> dt.date | None:
    """Another year at a higher price, unless the cluster opts out."""
    entry = _facts().minor(minor)
    if entry is None:
        return None
    if cluster.get("upgradePolicy", "supportType").text == "STANDARD":
        return entry.standard_support_end
    return entry.extended_support_end or entry.standard_support_end


def _public_addresses(cluster: Resource) -> Iterator[Fault]:
    native = cluster.type.startswith("aws-native:")
    network = cluster.get("resourcesVpcConfig" if native else "vpcConfig")
    public = network.get("endpointPublicAccess")
    if public.unknown or public.flag is False:
        return
    fix = "set publicAccessCidrs, or endpointPublicAccess: false"
    yield from open_ranges(network.get("publicAccessCidrs"), fix)


def _known_gpus(pool: NodePool) -> Collection[str] | None:
    reported = _says_gpus(pool)
    return None if reported is None else ("nvidia",) if reported else ()


def _says_gpus(pool: NodePool) -> bool | None:
    """Return what the image says if a launch template names the machine; None for a custom image."""
    if not _IS_MANAGED.fullmatch(pool.resource.type):
        return True if pool.get("gpu").flag else known_gpus(pool, _FAMILIES)
    if not pool.get("instanceTypes").absent:
        return None
    image = _image_of(pool)
    return None if image is None else image.nvidia


def _device_plugin(stack: Stack, pool: NodePool) -> CloudDevicePlugin | None:
    if makes(pool):
        return device_plugin(stack, pool, _facts().bottlerocket_plugin_switch.since)
    image = _image_of(pool)
    if image is None or not image.plugin:
        return None
    if not pool.get("launchTemplate").absent and not _keeps_plugin(stack, pool):
        return None
    return CloudDevicePlugin(
        title="Bottlerocket's device plugin",
        at=pool.image,
        off="turn it off in a launch template: settings.kubelet-device-plugins.nvidia.enabled = false",
    )


def _keeps_plugin(stack: Stack, pool: NodePool) -> bool:
    """Return whether the user data of a pool's launch template is known and does not turn the plugin off."""
    for urn in pool.resource.dependencies:
        template = stack.by_urn.get(urn)
        if template is None or not any(
            each.types.fullmatch(template.type) for each in RESOURCES.machine_templates
        ):
            continue
        path = ("userData",) if template.type.startswith("aws:") else ("launchTemplateData", "userData")
        data = template.get(*path)
        known = data.peek
        if data.possible and not isinstance(known, str):
            return False
        try:
            settings = tomllib.loads(base64.b64decode(str(known or ""), validate=True).decode())
        except ValueError:
            return False
        return Value(settings, (), {}).get(*_SWITCH).flag is not False
    return False


def _gpu_driver_owner(pool: NodePool) -> GpuDriverOwner | None:
    image = _image_of(pool)
    if image is None:
        return None
    branded = "" if image.nvidia else "use an image with NVIDIA's driver, such as AL2023_x86_64_NVIDIA"
    owner = f"the image {image.name}" if image.nvidia else ""
    return GpuDriverOwner(at=pool.image, owner=owner, other=branded)


def _gpu_driver_root(pool: NodePool) -> str | None:
    image = _image_of(pool)
    if image is None:
        return None
    return "/" if image.nvidia else ""


def _unpredicted(pool: NodePool, served: bool) -> Iterator[tuple[str, str]]:
    if pool.get(*_CLASS, "group").peek == _AUTO:
        # It adds nodes for claims:
        # https://docs.aws.amazon.com/eks/latest/userguide/device-management.html
        return
    if served and pool.may_be_empty and makes(pool):
        if pool.resource.get("metadata", "annotations", DYNAMIC_RESOURCES).text != "true":
            annotated = f'the annotation {DYNAMIC_RESOURCES}: "true" if settings.enableDRA of its chart is on'
            allowed = f"1 or more of static capacity, or {annotated}"
            yield "Karpenter ignores claims unless its alpha support is on", allowed
    elif served and pool.may_be_empty:
        yield "EKS's autoscaler does not know its devices", "1 or more"


def _other_pools(cluster: Resource) -> OtherPools:
    """Return what the pools of EKS Auto Mode have; those that it makes by itself have no accelerators.

    https://docs.aws.amazon.com/eks/latest/userguide/set-builtin-node-pools.html
    """
    auto = cluster.get("computeConfig")
    if not auto.get("enabled").flag:
        return "none"
    pools = {str(each.peek) for each in auto.get("nodePools").items}
    return "plain" if pools and pools <= {"general-purpose", "system"} else "any"


def _wrong_images(stack: Stack, pool: NodePool, _: Callable[[], bool]) -> Iterator[Fault]:
    image = _image_of(pool)
    for machine in pool.machines_in(stack) if image is not None else []:
        requested = _architecture(machine.text or "")
        if image is not None and requested is not None and requested != image.arch:
            yield _wrong_image(pool, image, machine, requested)


def _wrong_image(pool: NodePool, image: EksImage, machine: Value, requested: str) -> Fault:
    images = _facts().images
    allowed = [each.name for each in images if (each.arch, each.nvidia) == (requested, image.nvidia)]
    return Fault(
        at=pool.image,
        problem=f"is {pool.image.shown}, an image for {image.arch}, and {machine.shown} is {requested}",
        allowed=", ".join(allowed),
        fix=f"set amiType: {allowed[0]}",
    )


def _architecture(name: str) -> str | None:
    """Return the CPU architecture of a machine, known or by its name; None if the name is invalid."""
    known = CLOUD.machines.get(name)
    if known is not None and known.arch is not None:
        return known.arch
    if _ARM.fullmatch(name):
        return "arm64"
    return "amd64" if "." in name else None


RESOURCES = CloudResources(
    clusters=re.compile(rf"{_CLUSTER}|{_NATIVE_CLUSTER}"),
    cluster_components=re.compile(r"eks:index:Cluster"),
    versions=(
        version_field(_CLUSTER, "version", otherwise=_CHOSEN),
        version_field(_NODE_GROUP, "version"),
        version_field(_NATIVE_CLUSTER, "version", otherwise=_CHOSEN),
        version_field(_NATIVE_NODE_GROUP, "version"),
        # https://www.pulumi.com/registry/packages/eks/api-docs/
        version_field(r"eks:index:(Cluster|NodeGroup(V2)?|ManagedNodeGroup)", "version"),
        version_field(r"eks:index:Cluster", "nodeGroupOptions.version"),
        # https://docs.aws.amazon.com/eks/latest/userguide/retrieve-ami-id.html
        *(
            VersionField(types=re.compile(types), path=steps(path), otherwise="", inside=_AMI)
            for types, path in (
                (r"aws:ec2/launchTemplate:LaunchTemplate", "imageId"),
                (r"aws-native:ec2:LaunchTemplate", "launchTemplateData.imageId"),
            )
        ),
        VersionField(
            types=re.compile(rf"{_NODE_GROUP}|{_NATIVE_NODE_GROUP}"),
            path=("releaseVersion",),
            otherwise="",
            written=_RELEASE,
        ),
    ),
    support=Support(
        by="EKS standard support", standard_end=_standard_end, end=_end, source=lambda: str(_facts().source)
    ),
    local_accounts=nothing,
    public_addresses=_public_addresses,
    pools=(
        PoolForm(
            types=_IS_MANAGED,
            pools="",
            name="nodeGroupName",
            machine="instanceTypes.*",
            labels="labels",
            taints="taints",
            image="amiType",
            autoscaling="scalingConfig",
            fewest=lambda pool: pool.get("scalingConfig", "minSize"),
            most=lambda pool: pool.get("scalingConfig", "maxSize"),
            # https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
            rolled_by=("launchTemplate", "version", "releaseVersion"),
        ),
        POOLS,
        # https://www.pulumi.com/registry/packages/eks/api-docs/nodegroupv2/
        PoolForm(
            types=re.compile(r"eks:index:NodeGroup(V2)?"),
            pools="",
            name="",
            machine="instanceType",
            labels="labels",
            taints="taints",
            image="amiType",
            autoscaling="maxSize",
            fewest=lambda pool: pool.get("minSize"),
            most=lambda pool: pool.get("maxSize"),
            rolled_by=("instanceType", "amiId", "amiType", "version"),
        ),
    ),
    other_pools=_other_pools,
    system_pool="system",
    machine_templates=(
        MachineTemplate(
            types=re.compile(r"aws:ec2/launchTemplate:LaunchTemplate"),
            machine="instanceType",
            named_at="launchTemplate",
        ),
        MachineTemplate(
            types=re.compile(r"aws-native:ec2:LaunchTemplate"),
            machine="launchTemplateData.instanceType",
            named_at="launchTemplate",
        ),
    ),
    machines=lambda: CLOUD.machines,
    known_machines=nothing,
    gpu_families={"nvidia": _FAMILIES},
    plain_families=_PLAIN,
    known_gpus=_known_gpus,
    own_labels=re.compile(r"(^|[./])(amazonaws\.com|eksctl\.io)(/|$)"),
    labels_by_hand=frozenset(),
    labels_gpus=True,
    added_taints=nothing,
    device_plugin=_device_plugin,
    known_images=lambda stack, resource: known_images(stack, resource, _FAMILIES),
    managed_plugins=None,
    gpu_driver_owner=_gpu_driver_owner,
    gpu_driver_root=_gpu_driver_root,
    gpu_driver_images=nothing,
    partitions=partitions,
    unpredicted=_unpredicted,
    wrong_images=_wrong_images,
    dra_pools=None,
)


def makes(pool: NodePool) -> bool:
    """Return True if Karpenter creates a pool's nodes."""
    return POOLS.types.fullmatch(pool.resource.type) is not None


def known_gpus(pool: NodePool | Resource, families: re.Pattern[str]) -> bool | None:
    """Return True if a pool's requirements select GPUs; None if only its machines decide.

    https://karpenter.sh/docs/concepts/scheduling/#supported-labels
    """
    for demand in pool.get(*_REQUIREMENTS).items:
        key, operator = demand.get("key").text or "", demand.get("operator").text
        values = [value.text or "" for value in demand.get("values").items]
        if _GPUS.fullmatch(key) and operator not in _WITHOUT:
            return True
        if operator == "In" and _FAMILY.fullmatch(key):
            return any(families.match(f"{value}.") for value in values)
        if operator == "In" and _CATEGORY.fullmatch(key):
            return any(value in ("g", "p") for value in values)
    return None


def device_plugin(stack: Stack, pool: NodePool, since: str) -> CloudDevicePlugin | None:
    """Return the device plugin of a pool's image.

    Karpenter selects Bottlerocket's NVIDIA variant for GPU machines.

    Nodes of EKS Auto Mode have a device plugin, and from Kubernetes 1.36 a DRA driver, in their image.
    https://karpenter.sh/docs/concepts/nodeclasses/#specamifamily,
    https://docs.aws.amazon.com/eks/latest/userguide/device-management.html

    Args:
        stack: what has the pool's node class.
        pool: a pool of Karpenter.
        since: the first release that works without the plugin.
    """
    if pool.get(*_CLASS, "group").text == _AUTO:
        return CloudDevicePlugin(
            title="EKS Auto Mode's own plugin or driver",
            at=pool.get(*_CLASS),
            off="keep the driver off these nodes by a nodeSelector, or use a node class of Karpenter",
        )
    for node_class in _classes_of(stack, pool.resource):
        family, release = _image(node_class)
        if family == _BOTTLEROCKET and not _does_without(node_class, release, since):
            return CloudDevicePlugin(
                title="Bottlerocket's device plugin",
                at=pool.get(*_CLASS),
                off=f"set {'.'.join(_SWITCH)} = false in userData of the node class {node_class.name}, "
                f"with Bottlerocket {since} or later",
            )
    return None


def _classes_of(stack: Stack, pool: Resource) -> list[Resource]:
    """Return the node classes that a pool names; with several clusters, those of the pool's provider."""
    name = pool.get(*_CLASS, "name").text
    found = [each for each in stack.of(_CLASSES) if name is not None and _name(each) in (name, None)]
    by = pool.provider
    near = [each for each in found if by and each.provider and each.provider.urn == by.urn]
    return near or found


def _name(node_class: Resource) -> object:
    """Its name in the cluster; None where it is known later only."""
    reported = node_class.get("metadata", "name").peek
    return reported if isinstance(reported, str) else None


def _image(node_class: Resource) -> tuple[str, str]:
    """Return the family and the release of a node class's images; empty if not declared."""
    spec = node_class.get("spec")
    aliases = [term.get("alias").text or "" for term in spec.get("amiSelectorTerms").items]
    family, _, release = next((alias for alias in aliases if alias), "").partition("@")
    return (family or spec.get("amiFamily").text or "").lower(), release


def _settings(node_class: Resource) -> Value:
    """Return the settings in the user data of a Bottlerocket class; nothing if Bottlerocket rejects them."""
    given = node_class.get("spec", "userData")
    if given.unknown:
        return given
    try:
        reported = tomllib.loads(given.text or "")
    except tomllib.TOMLDecodeError:
        reported = {}
    return Value(reported, given.path, node_class.unknowns, secret=given.secret)


def _does_without(node_class: Resource, release: str, since: str) -> bool:
    """Return True if settings turn the plugin off and the release supports that.

    Unknown settings are noted.
    """
    switch = _settings(node_class).get(*_SWITCH)
    exact, floor = _KARPENTER_RELEASE.fullmatch(release), _KARPENTER_RELEASE.fullmatch(since)
    knows = exact is None or floor is None or _numbers(exact) >= _numbers(floor)
    return switch.unknown or (switch.flag is False and knows)


def _numbers(release: re.Match[str]) -> list[int]:
    return [int(part) for part in release.groups()]
