"""Pools on EKS whose nodes Karpenter makes, and the node classes that say which images these have."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.pools import PoolForm
from dra_fleet.clouds.resources import CloudDevicePlugin

if TYPE_CHECKING:
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.declared.resources import Resource, Stack
    from dra_fleet.declared.values import Value

_REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")
_CLASS: Final = ("spec", "template", "spec", "nodeClassRef")
_TYPE: Final = "node.kubernetes.io/instance-type"
_OF_AWS: Final = "karpenter.k8s.aws"
_GPUS: Final = re.compile(rf"{re.escape(_OF_AWS)}/instance-gpu-(count|name|manufacturer|memory)")
_WITHOUT: Final = frozenset({"DoesNotExist", "NotIn", "Lt"})
_CLASSES: Final = re.compile(rf"kubernetes:{re.escape(_OF_AWS)}/v\w+:EC2NodeClass(Patch)?")
_OWN_IMAGES: Final = "custom"
_BOTTLEROCKET: Final = "bottlerocket"
_SWITCH: Final = ("settings", "kubelet-device-plugins", "nvidia", "enabled")
_RELEASE: Final = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def makes(pool: NodePool) -> bool:
    """Whether Karpenter makes a pool's nodes."""
    return POOLS.types.fullmatch(pool.resource.type) is not None


def gpus_told(pool: NodePool, families: re.Pattern[str]) -> bool | None:
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
    for node_class in _classes_of(stack, pool):
        family, release = _image(node_class)
        if family == _BOTTLEROCKET and not _does_without(node_class.get("spec", "userData"), release, since):
            return CloudDevicePlugin(
                title="Bottlerocket's device plugin",
                at=pool.get(*_CLASS),
                off=f"set {'.'.join(_SWITCH)} = false in userData of the node class {node_class.name}, "
                f"with Bottlerocket {since} or later",
            )
    return None


def tells_images(resource: Resource) -> bool:
    """Whether a resource is a node class that says which images its nodes have, or that will be known."""
    return _CLASSES.fullmatch(resource.type) is not None and _image(resource)[0] not in ("", _OWN_IMAGES)


def _classes_of(stack: Stack, pool: NodePool) -> list[Resource]:
    """The node classes of a pool's name: of those in several clusters the one by its own provider."""
    name = pool.get(*_CLASS, "name").text
    found = [each for each in stack.of(_CLASSES) if name is not None and _name(each) in (name, None)]
    by = pool.resource.provider
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


def _does_without(user_data: Value, release: str, since: str) -> bool:
    """Whether settings turn the plugin off and the release knows how; unknown settings are noted."""
    if user_data.unknown:
        return True
    try:
        told: object = tomllib.loads(user_data.text or "")
    except tomllib.TOMLDecodeError:
        return False  # Bottlerocket refuses it as well
    for step in _SWITCH:
        told = told.get(step) if isinstance(told, dict) else None  # pyright: ignore[reportUnknownVariableType,reportUnknownMemberType]
    exact, floor = _RELEASE.fullmatch(release), _RELEASE.fullmatch(since)
    knows = exact is None or floor is None or _numbers(exact) >= _numbers(floor)
    return told is False and knows


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
