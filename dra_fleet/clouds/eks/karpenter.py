"""Pools on EKS whose nodes Karpenter makes, and the node classes that say which images these have."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.pools import PoolForm
from dra_fleet.clouds.resources import CloudDevicePlugin
from dra_fleet.core.declared.values import Value

if TYPE_CHECKING:
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack

_REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")
_CLASS: Final = ("spec", "template", "spec", "nodeClassRef")
_TYPE: Final = "node.kubernetes.io/instance-type"
_OF_AWS: Final = "karpenter.k8s.aws"
_GPUS: Final = re.compile(rf"{re.escape(_OF_AWS)}/instance-gpu-(count|name|manufacturer|memory)")
_WITHOUT: Final = frozenset({"DoesNotExist", "NotIn", "Lt"})
_CLASSES: Final = re.compile(rf"kubernetes:{re.escape(_OF_AWS)}/v\w+:EC2NodeClass(Patch)?")
_OWN_IMAGES: Final = "custom"
_BOTTLEROCKET: Final = "bottlerocket"
# https://bottlerocket.dev/en/os/latest/api/settings/kubelet-device-plugins/
_NVIDIA: Final = ("settings", "kubelet-device-plugins", "nvidia")
_SWITCH: Final = (*_NVIDIA, "enabled")
_PARTITIONING: Final = (*_NVIDIA, "device-partitioning-strategy")
_RELEASE: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def makes(pool: NodePool) -> bool:
    """Whether Karpenter makes a pool's nodes."""
    return POOLS.types.fullmatch(pool.resource.type) is not None


def gpus_told(pool: NodePool | Resource, families: re.Pattern[str]) -> bool | None:
    """Whether a pool's own words say that it has GPUs; None if only its machines may.

    https://karpenter.sh/docs/concepts/scheduling/#supported-labels
    """
    for demand in pool.get(*_REQUIREMENTS).items:
        key, operator = demand.get("key").text or "", demand.get("operator").text
        values = [value.text or "" for value in demand.get("values").items]
        if _GPUS.fullmatch(key) and operator not in _WITHOUT:
            return True
        if operator == "In" and key == f"{_OF_AWS}/instance-family":
            return any(families.match(f"{value}.") for value in values)
        if operator == "In" and key == f"{_OF_AWS}/instance-category":
            return any(value in ("g", "p") for value in values)
    return None


def device_plugin(stack: Stack, pool: NodePool, since: str) -> CloudDevicePlugin | None:
    """The plugin of Bottlerocket, whose variant with NVIDIA's driver Karpenter takes for machines with GPUs.

    https://karpenter.sh/docs/concepts/nodeclasses/#specamifamily

    Args:
        stack: what has the pool's node class.
        pool: one that Karpenter makes.
        since: the first release that can do without the plugin.
    """
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


def images_told(stack: Stack, resource: Resource, families: re.Pattern[str]) -> bool | None:
    """Whether the program says which images a node class stands for, or the nodes of a pool with GPUs have.

    Args:
        stack: what may have a pool's node class.
        resource: a node class, a pool, or none of both.
        families: matches names of machines with GPUs.
    """
    if _CLASSES.fullmatch(resource.type):
        return _image(resource)[0] not in ("", _OWN_IMAGES)
    name = resource.get(*_CLASS, "name")
    if POOLS.types.fullmatch(resource.type) is None or not _is_of_aws(resource) or not name.possible:
        return None
    types = _types(resource.properties)
    has_gpus = gpus_told(resource, families)
    if has_gpus is None and types:
        has_gpus = any(families.match(value.text or "") for value in types)
    return None if has_gpus is False or name.unknown else bool(_classes_of(stack, resource))


def partitions(stack: Stack, pool: NodePool) -> list[Value]:
    """Where the settings of a pool's node classes have Bottlerocket divide its GPUs, if known."""
    if not makes(pool) or pool.get(*_CLASS, "name").peek is None:
        return []
    told = [
        each for each in _classes_of(stack, pool.resource) if each.get("spec", "userData").peek is not None
    ]
    found = [_settings(each).get(*_PARTITIONING) for each in told if _image(each)[0] == _BOTTLEROCKET]
    return [value for value in found if value.text == "mig"]


def _classes_of(stack: Stack, pool: Resource) -> list[Resource]:
    """The node classes of a pool's name: of those in several clusters the one by its own provider."""
    name = pool.get(*_CLASS, "name").text
    found = [each for each in stack.of(_CLASSES) if name is not None and _name(each) in (name, None)]
    by = pool.provider
    near = [each for each in found if by and each.provider and each.provider.urn == by.urn]
    return near or found


def _name(node_class: Resource) -> object:
    """Its name in the cluster; None where it is known later only."""
    told = node_class.get("metadata", "name").peek
    return told if isinstance(told, str) else None


def _image(node_class: Resource) -> tuple[str, str]:
    """The family and the release of a node class's images; empty where they are not told."""
    spec = node_class.get("spec")
    aliases = [term.get("alias").text or "" for term in spec.get("amiSelectorTerms").items]
    family, _, release = next((alias for alias in aliases if alias), "").partition("@")
    return (family or spec.get("amiFamily").text or "").lower(), release


def _settings(node_class: Resource) -> Value:
    """What the user data of a class of Bottlerocket says; nothing where that refuses it as well."""
    given = node_class.get("spec", "userData")
    if given.unknown:
        return given
    try:
        told = tomllib.loads(given.text or "")
    except tomllib.TOMLDecodeError:
        told = {}
    return Value(told, given.path, node_class.unknowns, secret=given.secret)


def _does_without(node_class: Resource, release: str, since: str) -> bool:
    """Whether settings turn the plugin off and the release knows how; unknown settings are noted."""
    switch = _settings(node_class).get(*_SWITCH)
    exact, floor = _RELEASE.fullmatch(release), _RELEASE.fullmatch(since)
    knows = exact is None or floor is None or _numbers(exact) >= _numbers(floor)
    return switch.unknown or (switch.flag is False and knows)


def _numbers(release: re.Match[str]) -> list[int]:
    return [int(part) for part in release.groups()]


def _types(pool: Value) -> list[Value]:
    return [
        value
        for demand in pool.get(*_REQUIREMENTS).items
        if (demand.get("key").text, demand.get("operator").text) == (_TYPE, "In")
        for value in demand.get("values").items
    ]


def _is_of_aws(resource: Resource) -> bool:
    group = resource.get(*_CLASS, "group").peek
    return group in (None, _OF_AWS)


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
