"""A GKE pool with one of the labels that prepare its GPUs for DRA has all of them, and no driver from GKE.

GKE's own device plugin is off, the DRA driver's plugin finds the node, the autoscaler knows that claims use
the GPUs, and the installer's DaemonSet installs the driver. If a part is missing, pods wait or devices are
advertised twice. Pools without any of the labels are not checked here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet.core.declared.values import Secret
from dra_fleet.policy.reading.clouds import any_of
from dra_fleet.policy.reading.partitions import pools
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find pools with a part of what DRA needs."""
    del settings
    for pool in pools(resource):
        needed = pool.cloud.dra_pools
        if needed is None or not any(pool.label(key).text == "true" for key in needed.telling):
            continue
        yield from _labels(resource, pool, needed.labels)
        for fault in needed.unprepared(pool):
            yield Finding(resource, fault.at, fault.problem, fault.allowed, fault.fix)


def _labels(resource: Resource, pool: NodePool, needed: Mapping[str, str]) -> Iterator[Finding]:
    for key, without in needed.items():
        label = pool.label(key)
        if label.unknown or label.text == "true":
            continue
        yield Finding(
            resource,
            pool.labels,
            f'lacks {key}="true", so {without}',
            f"all of {', '.join(needed)}",
            f'add the label {key}: "true" to the pool',
        )


def remedy(resource: Resource, settings: Settings) -> Mapping[str, object] | None:
    """Return the pool with the labels it lacks; the driver's installer is not changed."""
    del settings
    original = resource.read()
    inputs = original
    for pool in pools(resource):
        needed = () if pool.cloud.dra_pools is None else tuple(pool.cloud.dra_pools.labels)
        missing = [key for key in needed if pool.label(key).absent]
        if not missing or len(missing) == len(needed) or not pool.labels.path:
            continue
        inputs = _with(inputs, pool.labels.path, dict.fromkeys(missing, "true"))
    return None if inputs is original else inputs


def _with(inputs: object, path: tuple[str | int, ...], labels: Mapping[str, str]) -> Mapping[str, object]:
    """Return a copy with labels added to the map at a path."""
    return cast("Mapping[str, object]", _added(inputs, path, labels))


def _added(value: object, path: tuple[str | int, ...], labels: Mapping[str, str]) -> object:
    if isinstance(value, Secret):
        return Secret(_added(value.value, path, labels))
    if not path:
        return {**cast("Mapping[str, object]", value), **labels}
    step = path[0]
    if isinstance(value, list):
        items = list(cast("list[object]", value))
        items[cast("int", step)] = _added(items[cast("int", step)], path[1:], labels)
        return items
    mapping = dict(cast("Mapping[str, object]", value))
    mapping[str(step)] = _added(mapping.get(str(step), {}), path[1:], labels)
    return mapping


def _of_pools_for_dra(resources: CloudResources) -> list[re.Pattern[str]]:
    return [form.types for form in resources.pools] if resources.dra_pools is not None else []


RULE = ResourceRule(
    name="pool-require-dra-labels",
    description=(
        "A GKE pool for DRA has all three labels, and GKE does not install its GPU driver, because "
        "otherwise claims wait or GPUs are advertised twice."
    ),
    fix="Give the pool all three labels, and disable GKE's installation of the GPU driver.",
    link="https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra",
    severity="high",
    types=any_of(_of_pools_for_dra),
    check=check,
    remedy=remedy,
)
