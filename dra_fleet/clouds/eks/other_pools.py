"""Pools on EKS that are no managed node groups: those of Karpenter, and self-managed ones of pulumi-eks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.clouds.pools import PoolForm

if TYPE_CHECKING:
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.declared.resources import Resource
    from dra_fleet.declared.values import Value

_REQUIREMENTS: Final = ("spec", "template", "spec", "requirements")
_TYPE: Final = "node.kubernetes.io/instance-type"
_OF_AWS: Final = "karpenter.k8s.aws"
_GPUS: Final = re.compile(rf"{re.escape(_OF_AWS)}/instance-gpu-(count|name|manufacturer|memory)")
_WITHOUT: Final = frozenset({"DoesNotExist", "NotIn", "Lt"})


def is_karpenter_s(pool: NodePool) -> bool:
    """Whether Karpenter makes a pool's nodes."""
    return KARPENTER.types.fullmatch(pool.resource.type) is not None


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
    return True if pool.get("gpu").flag else None


def _types(pool: Value) -> list[Value]:
    return [
        value
        for demand in pool.get(*_REQUIREMENTS).items
        if (demand.get("key").text, demand.get("operator").text) == (_TYPE, "In")
        for value in demand.get("values").items
    ]


def _is_of_aws(resource: Resource) -> bool:
    group = resource.get("spec", "template", "spec", "nodeClassRef", "group").peek
    return group in (None, _OF_AWS)


# https://karpenter.sh/docs/concepts/nodepools/
KARPENTER: Final = PoolForm(
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
# https://www.pulumi.com/registry/packages/eks/api-docs/nodegroupv2/
SELF_MANAGED: Final = PoolForm(
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
)
