"""A GKE pool with one of the labels that prepare its GPUs for DRA has all of them, and no driver of GKE's.

GKE's own device plugin is off, the DRA driver's plugin finds the node, the autoscaler knows that claims use
the GPUs; and the driver comes from the installer's DaemonSet. With a part of it, pods wait or devices are
given out twice. Pools without any of the labels are not judged here.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.clouds.gke.labels import GPU_DRA, GPU_PRESENT, NO_PLUGIN, TRIPLE
from dra_fleet.declared.values import Secret
from dra_fleet.policy.reading.pools import pools
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.declared.resources import Resource
    from dra_fleet.policy.reading.pools import Pool
    from dra_fleet.policy.rule import Settings

WHY: Final = {
    NO_PLUGIN: "GKE's device plugin also gives the GPUs out",
    GPU_PRESENT: "the DRA driver's plugin does not run on its nodes",
    GPU_DRA: "the autoscaler does not know that claims use its GPUs",
}
DISABLED: Final = "INSTALLATION_DISABLED"


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find pools with a part of what DRA needs."""
    del settings
    for pool in pools(resource):
        if any(pool.label(key).text == "true" for key in (NO_PLUGIN, GPU_DRA)):
            yield from _labels(resource, pool)
            yield from _installation(resource, pool)


def _labels(resource: Resource, pool: Pool) -> Iterator[Finding]:
    for key in TRIPLE:
        label = pool.label(key)
        if label.unknown or label.text == "true":
            continue
        yield Finding(
            resource,
            pool.labels,
            f'lacks {key}="true", so {WHY[key]}',
            f"all of {', '.join(TRIPLE)}",
            f'add the label {key}: "true" to the pool',
        )


def _installation(resource: Resource, pool: Pool) -> Iterator[Finding]:
    for accelerator in pool.node("guestAccelerators").items:
        version = accelerator.get("gpuDriverInstallationConfig", "gpuDriverVersion")
        if version.unknown or version.text == DISABLED:
            continue
        yield Finding(
            resource,
            version,
            f"is {version.shown}, so GKE installs a driver that the DRA driver does not find",
            DISABLED,
            f"set gpuDriverVersion: {DISABLED}, and install the driver by its DaemonSet",
        )


def remedy(resource: Resource, settings: Settings) -> Mapping[str, object] | None:
    """The pool with the labels it lacks; who installs the driver is not changed."""
    del settings
    original = resource.read()
    inputs = original
    for pool in pools(resource):
        missing = [key for key in TRIPLE if pool.label(key).absent]
        if not missing or len(missing) == len(TRIPLE) or not pool.labels.path:
            continue
        inputs = _with(inputs, pool.labels.path, dict.fromkeys(missing, "true"))
    return None if inputs is original else inputs


def _with(inputs: object, path: tuple[str | int, ...], labels: Mapping[str, str]) -> Mapping[str, object]:
    """A copy with labels added to the map at a path."""
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


RULE = ResourceRule(
    name="pool-require-dra-labels",
    description=(
        "A GKE pool prepared for DRA has all three labels and leaves the GPU driver to its installer, "
        "because with a part of it claims wait or GPUs are given out twice."
    ),
    fix="Give the pool all three labels, and turn GKE's installation of the GPU driver off.",
    link="https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra",
    severity="high",
    types=re.compile(r"gcp:container/(nodePool:NodePool|cluster:Cluster)"),
    judge=judge,
    remedy=remedy,
)
