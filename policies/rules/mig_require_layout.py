"""An operator's MIG strategy makes no partitions: a label of the nodes or a default layout does.

The published recipe for MIG on AKS sets `mig.strategy: single` and no layout, so its pods of "1g" hold whole
GPUs. A program whose classes and claims are not named for partitions, or that disables the operator's MIG
manager, does without partitions on purpose: `single` is the operator's default.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.divided_devices import dividable, names_partitions
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, releases
from dra_fleet.policy.reading.claims import CLAIM_TYPES, SELECTING_TYPES, requests
from dra_fleet.policy.reading.partitions import POOL_TYPES, asked, divides, pools
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.drivers.resources import Dividable
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.rule import Settings


def find(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find operators whose values name partitions in a program that makes none."""
    del settings
    for resource in stack.of(INSTALLED_TYPES):
        for installed in releases(resource):
            for each in dividable() if installed.operator is not None else ():
                if installed.value(each.maker).peek is not False:
                    yield from _findings(stack, installed, each)


def _findings(stack: Stack, installed: ChartRelease, each: Dividable) -> Iterator[Finding]:
    for key, hollow in each.hollow_values:
        value = installed.value(key)
        if value.text == hollow and _wants(stack) and not _may_divide(stack):
            yield Finding(
                installed.resource,
                value,
                f"is {value.shown}, which makes no partitions, and nothing else of the program does",
                f"{key} with partitions, or without {key}",
                f"label the pool's nodes {each.label}=<layout>, or remove {key}",
            )


def _wants(stack: Stack) -> bool:
    """Return True if a class, a claim or its class is named for partitions."""
    names = [resource.get("metadata", "name").peek for resource in stack.of(SELECTING_TYPES)]
    for resource in stack.of(CLAIM_TYPES):
        names += [request.value.get("deviceClassName").peek for request in requests(resource)]
    return any(isinstance(name, str) and names_partitions(name) for name in names)


def _may_divide(stack: Stack) -> bool:
    by_pool = (asked(stack, pool) for resource in stack.of(POOL_TYPES) for pool in pools(resource))
    return any(by_pool) or divides(stack)


RULE = StackRule(
    name="mig-require-layout",
    description=(
        "A program with classes or claims for MIG and the operator's MIG strategy also has a MIG layout, "
        "because the strategy makes no partitions and pods would get whole GPUs."
    ),
    fix="Label the pool's nodes with a MIG layout, or remove the strategy.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
    severity="medium",
    check=find,
)
