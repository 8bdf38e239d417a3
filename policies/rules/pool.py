"""Rules on node pools."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from dra_fleet.core.declared.values import Secret
from dra_fleet.policy.reading.advertisers import Nodes, advertisers
from dra_fleet.policy.reading.clouds import all_resources, any_of
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.reading.plugins import installer_for, operators
from dra_fleet.policy.rule import Finding, ResourceRule, StackRule

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import CloudResources, ManagedPlugins
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.reading.advertisers import Advertiser
    from dra_fleet.policy.rule import Settings


# The profile installs Azure's own device plugin and metrics exporter: both advertise the same GPUs.
def _forbid_managed_gpu_profile(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    drivers = [found for found in advertisers(stack) if found.replaces_plugin]
    homes = Homes(stack)
    managed = [each.managed_plugins for each in all_resources() if each.managed_plugins is not None]
    for plugins in managed if drivers else []:
        for resource in stack.of(plugins.types):
            beside = [each for each in drivers if homes.together(resource, each.resource)]
            yield from _check(resource, plugins, beside)


def _check(resource: Resource, plugins: ManagedPlugins, beside: Sequence[Advertiser]) -> Iterator[Finding]:
    for mode in plugins.places(resource):
        if mode.text == plugins.on and beside:
            yield Finding(
                resource,
                mode,
                f"is {mode.shown}, so {plugins.owner}'s device plugin advertises the GPUs beside "
                f"{beside[0].title} ({beside[0].resource.name})",
                f"{plugins.off} where a DRA driver advertises the GPUs",
                f'set {mode.path[-1]}: "{plugins.off}"',
            )


FORBID_MANAGED_GPU_PROFILE = StackRule(
    name="pool-forbid-managed-gpu-profile",
    description=(
        "AKS pools in clusters with a DRA driver have no managed GPU profile, because the device plugin "
        "of the profile allocates the same GPUs."
    ),
    fix="Set managementMode of the pool's GPU profile to Unmanaged.",
    link="https://learn.microsoft.com/azure/aks/aks-managed-gpu-nodes",
    severity="high",
    check=_forbid_managed_gpu_profile,
)


# A pool for DRA keeps a node, unless the autoscaler knows which devices its first node would have. An
# autoscaler adds a node if it expects the waiting pod to fit there. Of an empty pool it must guess the
# devices: many expect none, some know a few accelerators and no partitions. If it expects none, the claim
# waits for a node that is never created.
def _limit_scale_from_zero(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    drivers = [found for found in advertisers(stack) if found.replaces_plugin]
    nodes = Nodes(stack)
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            for reason, allowed in pool.cloud.unpredicted(pool, nodes.advertise(drivers, pool)):
                yield _finding(pool, reason, allowed)


def _finding(pool: NodePool, reason: str, allowed: str) -> Finding:
    return Finding(
        pool.resource,
        pool.fewest,
        f"is {pool.fewest.shown}, and {reason}, so the pool {pool.name} stays empty while claims wait",
        allowed,
        f"set {pool.fewest.path[-1]}: 1",
    )


LIMIT_SCALE_FROM_ZERO = StackRule(
    name="pool-limit-scale-from-zero",
    description=(
        "Pools whose devices the autoscaler cannot predict keep at least one node, because the autoscaler"
        " adds no node for a claim that it does not expect to fit."
    ),
    fix="Keep at least one node in the pool.",
    link="https://github.com/kubernetes/autoscaler/issues/7799",
    severity="medium",
    check=_limit_scale_from_zero,
)


# A pool's node image, and the GPU driver for it, are built for the architecture of its machines. If a pool
# names an image for another architecture, its nodes never start. Otherwise the image follows the machine,
# but a cloud may build its GPU driver only for some images and architectures.
def _match_architecture(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            for fault in pool.cloud.wrong_images(stack, pool, partial(_is_installed, stack, pool)):
                yield Finding(pool.resource, fault.at, fault.problem, fault.allowed, fault.fix)


def _is_installed(stack: Stack, pool: NodePool) -> bool:
    """Return True if an operator installs the GPU driver on a pool's nodes."""
    return installer_for(pool, operators(stack), Homes(stack)) is not None


MATCH_ARCHITECTURE = StackRule(
    name="pool-match-architecture",
    description=(
        "A pool's node image and GPU driver are built for the CPU architecture of its machines, because a"
        " node with another image never starts, and without a driver it has no GPUs."
    ),
    fix="Choose the image of the same family for the machine's CPU architecture.",
    link="https://docs.aws.amazon.com/eks/latest/userguide/eks-optimized-ami.html",
    severity="high",
    check=_match_architecture,
)


# GKE's own device plugin is off, the DRA driver's plugin finds the node, the autoscaler knows that claims
# use the GPUs, and the installer's DaemonSet installs the driver. If a part is missing, pods wait or devices
# are advertised twice. Pools without any of the labels are not checked here.
def _require_dra_labels(resource: Resource, _settings: Settings) -> Iterator[Finding]:
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


def remedy(resource: Resource, _settings: Settings) -> Mapping[str, object] | None:
    """Return the pool with the labels it lacks; the driver's installer is not changed."""
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


REQUIRE_DRA_LABELS = ResourceRule(
    name="pool-require-dra-labels",
    description=(
        "A GKE pool for DRA has all three labels, and GKE does not install its GPU driver, because "
        "otherwise claims wait or GPUs are advertised twice."
    ),
    fix="Give the pool all three labels, and disable GKE's installation of the GPU driver.",
    link="https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra",
    severity="high",
    types=any_of(_of_pools_for_dra),
    check=_require_dra_labels,
    remedy=remedy,
)

RULES = (FORBID_MANAGED_GPU_PROFILE, LIMIT_SCALE_FROM_ZERO, MATCH_ARCHITECTURE, REQUIRE_DRA_LABELS)
