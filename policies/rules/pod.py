"""Rules on pods and what they request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.advertisers import advertisers
from dra_fleet.policy.reading.charts import release
from dra_fleet.policy.reading.claims import WHOLE_CLASS_TYPES
from dra_fleet.policy.reading.homes import KUBERNETES, Homes, Minors, has
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.reading.pods import POD_TYPES, pod_specs
from dra_fleet.policy.rule import Finding, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.reading.pods import PodSpec
    from dra_fleet.policy.rule import Settings


# `nodeName` bypasses the scheduler, which allocates devices: the pod waits on its node for a claim that is
# never allocated.
def _forbid_fixed_node(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    for spec in pod_specs(resource):
        node = spec.value.get("nodeName") if spec.claims else None
        if node is not None and node.text:
            yield Finding(
                resource,
                node,
                f"is {node.shown}",
                "no nodeName on pods with claims",
                "choose the node by nodeSelector: {kubernetes.io/hostname: …}, which the scheduler honours",
            )


FORBID_FIXED_NODE = ResourceRule(
    name="pod-forbid-fixed-node",
    description=(
        "Pods with claims do not set nodeName, because nodeName bypasses the scheduler, which allocates "
        "the devices."
    ),
    fix="Use a nodeSelector instead of nodeName.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#pre-scheduled-pods",
    severity="medium",
    types=POD_TYPES,
    check=_forbid_fixed_node,
)


# A pod asks by a GPU limit only where something answers it. Where a DRA driver has the GPUs, no device
# plugin advertises `nvidia.com/gpu`, and a pod with that limit waits for ever, unless a DeviceClass maps the
# name and the cluster's Kubernetes knows how.

GATE: Final = kubernetes_facts().gate("DRAExtendedResource")
LIMITS: Final = [
    plugin.limits for driver in drivers.known() if (plugin := driver.resources.device_plugin) is not None
]
"""Devices that device plugins advertise."""
ALLOWED: Final = f"a limit that a DeviceClass maps, from Kubernetes {GATE.on_from}"


def _forbid_legacy_gpu_limits(stack: Stack, settings: Settings) -> Iterator[Finding]:
    found = advertisers(stack)
    served_by = [
        each.resource
        for each in found
        if each.kind == "dra" and each.driver.resources.device_plugin is not None
    ]
    if not served_by:
        return
    plugins = [advertiser.resource for advertiser in found if advertiser.kind == "plugin"]
    homes, minors = Homes(stack), Minors(stack, settings)
    for pod in stack.of(POD_TYPES):
        near = [driver for driver in served_by if homes.together(pod, driver)]
        limits = _limits(pod) if near else []
        if not limits or any(homes.together(pod, plugin) for plugin in (*plugins, *_of_clouds(stack))):
            continue
        classes = [each for each in stack.of(WHOLE_CLASS_TYPES) if homes.together(pod, each)]
        for limit in limits:
            answer = next(_answering(str(limit.path[-1]), near, classes), None)
            yield from _check_legacy_gpu_limits(
                pod, limit, answer, None if answer is None else minors.of(pod)
            )


def _check_legacy_gpu_limits(
    pod: Resource, limit: Value, answer: str | None, minor: str | None
) -> Iterator[Finding]:
    name = str(limit.path[-1])
    if answer is None:
        problem = "is asked for, and no DeviceClass answers it"
        fix = f"use a claim, or set extendedResourceName: {name} on a DeviceClass"
    elif minor is None:
        problem = f"is asked for, and the program does not say whether its Kubernetes has {GATE.name} on"
        fix = f"set {KUBERNETES.name} of pod-forbid-legacy-gpu-limits to the cluster's minor, or use a claim"
    elif not has(GATE, minor):
        problem = f"is asked for; class {answer} maps it, but Kubernetes {minor} has {GATE.name} off"
        fix = f"use a claim, or run Kubernetes {GATE.on_from} or newer"
    else:
        return
    yield Finding(pod, limit, problem, ALLOWED, fix)


def _of_clouds(stack: Stack) -> Iterator[Resource]:
    """Yield the pools whose nodes have the cloud's own device plugin."""
    for resource in stack.of(POOL_TYPES):
        if any(pool.has_gpus and pool.cloud.device_plugin(stack, pool) for pool in pools(resource)):
            yield resource


def _limits(pod: Resource) -> list[Value]:
    return [
        limit
        for spec in pod_specs(pod)
        for container in spec.containers
        for name, limit in container.value.get("resources", "limits").entries
        if any(limits.fullmatch(name) for limits in LIMITS)
    ]


def _answering(name: str, served_by: list[Resource], classes: list[Resource]) -> Iterator[str]:
    for each in classes:
        if each.get("spec", "extendedResourceName").text == name:
            yield each.name
    for driver in served_by:
        installed = release(driver)
        version = None if installed is None else installed.driver_version
        if version is not None and name in version.extended_resources:
            yield version.extended_resources[name]


FORBID_LEGACY_GPU_LIMITS = StackRule(
    name="pod-forbid-legacy-gpu-limits",
    description=(
        "Pods use GPU limits only if a DeviceClass maps them, because no device plugin serves them on "
        "nodes of a DRA driver."
    ),
    fix="Use a claim, or map the limit by a DeviceClass's extendedResourceName.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#extended-resource",
    severity="high",
    parameters=(KUBERNETES,),
    check=_forbid_legacy_gpu_limits,
)


# A claim that no container names is allocated all the same: the GPU is paid for and not used.
def _require_used_claims(resource: Resource, _settings: Settings) -> Iterator[Finding]:
    if resource.type.endswith("Patch"):
        return  # its containers are those of what it patches, with which it is checked
    for spec in pod_specs(resource):
        yield from _check_used_claims(resource, spec)


def _check_used_claims(resource: Resource, spec: PodSpec) -> Iterator[Finding]:
    claims = [(claim, claim.get("name").text) for claim in spec.claims]
    if not claims:
        return
    used = {use.text for container in spec.containers for use in container.claims}
    if resource.unknowns:
        return  # an unknown use may be of any claim
    for claim, name in claims:
        if name is not None and name not in used:
            yield Finding(
                resource,
                claim,
                f"is the claim {name!r}, which no container uses",
                "claims that a container names in resources.claims",
                f"add {{name: {name}}} to resources.claims of a container, or remove the claim",
            )


REQUIRE_USED_CLAIMS = ResourceRule(
    name="pod-require-used-claims",
    description=(
        "A container uses each claim of its pod, because devices of unused claims are allocated and paid "
        "for without any use."
    ),
    fix="Name the claim in a container's resources.claims, or remove it.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#workloads",
    severity="medium",
    types=POD_TYPES,
    check=_require_used_claims,
)

RULES = (FORBID_FIXED_NODE, FORBID_LEGACY_GPU_LIMITS, REQUIRE_USED_CLAIMS)
