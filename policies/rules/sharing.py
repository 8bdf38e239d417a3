"""Rules on MIG partitions and shared devices."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from dra_fleet import drivers
from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.drivers.divided_devices import dividable, names_partitions
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, RELEASE_TYPES, release, releases
from dra_fleet.policy.reading.claims import CLAIM_TYPES, SELECTING_TYPES, requests
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.partitions import POOL_TYPES, asked, divides, pools, shared
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers.resources import Dividable
    from dra_fleet.model.hardware import Machine
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.rule import Settings


# The cloud refuses such a pool when it is made, or, where the partitions come from a label, nothing ever
# makes them and the claims wait.

_PROFILE: Final = re.compile(r"(?:all-)?(?P<name>\d+g\.\d+gb)(?P<media>[.+]me)?")


def _mig_require_capable_gpu(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    for resource in stack.of(POOL_TYPES):
        for pool in pools(resource):
            reported = [value for value in asked(stack, pool) if value.given]
            for machine in pool.known_machines(stack) if reported else []:
                for value in reported:
                    yield from _check_mig_capable_gpu(pool, value, machine)


def _check_mig_capable_gpu(pool: NodePool, value: Value, machine: Machine) -> Iterator[Finding]:
    layouts = _layouts(machine)
    if layouts is None:
        yield from _finding_mig_capable_gpu(pool, value, f"{machine.name} has no GPU with partitions")
        return
    by_label = value.path[-1] in [dividing.label for dividing in dividable()]
    reported = drivers.traits(machine)
    if not layouts or reported.divisible is False or (not by_label and reported.divided_by_cloud is False):
        yield from _finding_mig_capable_gpu(
            pool, value, f"the {machine.gpu} of {machine.name} cannot be divided there"
        )
        return
    match = _PROFILE.fullmatch(value.text or "")
    name = "" if match is None else f"{match['name']}{'+me' if match['media'] else ''}"
    if name and name not in layouts:
        yield Finding(
            pool.resource,
            value,
            f"is {value.shown}, no profile of the {machine.gpu} of {machine.name}",
            ", ".join(layouts),
            "choose one of its profiles, or another machine",
        )


def _layouts(machine: Machine) -> Mapping[str, int] | None:
    """Return the partitions of a machine's GPUs; None if no driver knows such GPUs."""
    found = (dividing.layouts(machine.gpu or "") for dividing in dividable())
    return next((layouts for layouts in found if layouts is not None), None)


def _finding_mig_capable_gpu(pool: NodePool, value: Value, reason: str) -> Iterator[Finding]:
    yield Finding(
        pool.resource,
        value,
        f"is {value.shown}, and {reason}",
        "partitions of GPUs that have MIG",
        f"remove {value.path[-1]}, or choose a machine whose GPU has MIG",
    )


MIG_REQUIRE_CAPABLE_GPU = StackRule(
    name="mig-require-capable-gpu",
    description=(
        "Pools have MIG partitions only on GPUs that support MIG, because the cloud rejects other pools, "
        "or claims wait for partitions that do not exist."
    ),
    fix="Remove the partitions, or choose a machine whose GPU supports MIG.",
    link="https://docs.nvidia.com/datacenter/tesla/mig-user-guide/supported-gpus.html",
    severity="medium",
    check=_mig_require_capable_gpu,
)


# The published recipe for MIG on AKS sets `mig.strategy: single` and no layout, so its pods of "1g" hold
# whole GPUs. A program whose classes and claims are not named for partitions, or that disables the
# operator's MIG manager, does without partitions on purpose: `single` is the operator's default.
def _mig_require_layout(stack: Stack, _settings: Settings) -> Iterator[Finding]:
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


MIG_REQUIRE_LAYOUT = StackRule(
    name="mig-require-layout",
    description=(
        "A program with classes or claims for MIG and the operator's MIG strategy also has a MIG layout, "
        "because the strategy makes no partitions and pods would get whole GPUs."
    ),
    fix="Label the pool's nodes with a MIG layout, or remove the strategy.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html",
    severity="medium",
    check=_mig_require_layout,
)


# The API server stores any opaque configuration. Without the gate the driver refuses it when a pod starts,
# and the pod stays in ContainerCreating.

GATES: Final = "featureGates"


def _require_driver_gates(stack: Stack, _settings: Settings) -> Iterator[Finding]:
    homes = Homes(stack)
    releases = [found for resource in stack.of(RELEASE_TYPES) if (found := release(resource)) is not None]
    for resource in stack.of(SELECTING_TYPES):
        for facts, strategy in shared(resource):
            gate = facts.sharing_gates.get(strategy.text or "")
            for installed in releases:
                if gate and installed.driver is facts and homes.together(resource, installed.resource):
                    yield from _check_driver_gates(resource, strategy.place, gate, installed, homes)


def _check_driver_gates(
    resource: Resource, place: str, gate: str, installed: ChartRelease, homes: Homes
) -> Iterator[Finding]:
    value = installed.value(f"{GATES}.{gate}")
    version = installed.driver_version
    if version is not None and gate not in version.feature_gates:
        return  # versions without the gate share without asking
    default = version is not None and version.feature_gates[gate]
    if value.flag or value.unknown or (value.absent and default):
        return
    if homes.undecided(resource, installed.resource):
        return  # noted: whether it is this driver's claim is not known
    yield Finding(
        installed.resource,
        value,
        f"is {value.shown}, and {resource.name} needs it at {place}",
        f"{gate}: true where a class or claim chooses the strategy",
        f"set {GATES}.{gate}: true in the chart's values, or take the strategy out of {resource.name}",
    )


REQUIRE_DRIVER_GATES = StackRule(
    name="sharing-require-driver-gates",
    description=(
        "The chart of a driver enables the feature gate of each sharing strategy in use, because the "
        "driver otherwise rejects the claim when its pod starts."
    ),
    fix="Set the strategy's feature gate in the chart's values.",
    link="https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu",
    severity="high",
    check=_require_driver_gates,
)


# Time-slicing and MPS do neither: a pod that allocates too much ends its neighbours, and an error in one
# context ends all of them. They suit experiments, and must be allowed by name. The rule reads them in
# classes and claims, in the configuration of device plugins (ConfigMaps and values of charts), and in pools.

ACCEPTED: Final = Parameter(
    name="accepted",
    schema=TEXTS,
    default=(),
    description="Pulumi names of classes, claims and templates that can share without isolation.",
)


_CONFIG_MAPS: Final = re.compile(r"kubernetes:core/v1:ConfigMap(Patch)?")
_TYPES: Final = re.compile(
    "|".join(each.pattern for each in (SELECTING_TYPES, _CONFIG_MAPS, RELEASE_TYPES, POOL_TYPES))
)
_PLUGIN_STRATEGIES: Final = ("timeSlicing", "mps")
"""https://github.com/NVIDIA/k8s-device-plugin#shared-access-to-gpus"""
_POOL_FIELD: Final = "gpuSharingConfig"
"""https://cloud.google.com/kubernetes-engine/docs/concepts/timesharing-gpus"""
_POOL_LABELS: Final[Mapping[str, frozenset[str]]] = {
    "cloud.google.com/gke-gpu-sharing-strategy": frozenset({"time-sharing", "mps"}),
    # https://www.alibabacloud.com/help/en/ack/ack-managed-and-ack-dedicated/user-guide/labels-for-enabling-gpu-scheduling-policies
    "ack.node.gpu.schedule": frozenset({"cgpu", "share", "core_mem", "mps"}),
}


def _require_isolation(resource: Resource, settings: Settings) -> Iterator[Finding]:
    if resource.name in settings.texts(ACCEPTED.name):
        return
    if SELECTING_TYPES.fullmatch(resource.type):
        for facts, strategy in shared(resource):
            if strategy.text in facts.sharing_gates:
                yield _finding_isolation(resource, strategy, f"is {strategy.shown}")
        return
    of_pool = POOL_TYPES.fullmatch(resource.type) is not None
    for value in resource.properties.walk():
        chosen = _of_pool(value) if of_pool else _of_plugin(value)
        if chosen:
            yield _finding_isolation(resource, value, f"shares GPUs by {chosen}")


def _finding_isolation(resource: Resource, at: Value, problem: str) -> Finding:
    return Finding(
        resource,
        at,
        f"{problem}, which isolates neither memory nor faults",
        "whole devices, or MIG partitions",
        f"select a MIG device, or list {resource.name} in {ACCEPTED.name} of sharing-require-isolation",
    )


def _of_plugin(value: Value) -> str:
    """Return the strategy of a device plugin's configuration, a map or YAML text; empty for anything else."""
    known = value.peek
    if isinstance(known, str):
        if not any(name in known for name in _PLUGIN_STRATEGIES):
            return ""
        try:
            documents = [each.value for each in read_documents("sharing", known.encode())]
        except Unreadable:
            return ""
        return next((found for each in documents if (found := _strategy(each, "sharing"))), "")
    return _strategy(known, "") if value.path[-1:] == ("sharing",) else ""


def _strategy(config: object, below: str) -> str:
    value = _mapping(config).get(below) if below else config
    return next((name for name in _PLUGIN_STRATEGIES if _mapping(value).get(name)), "")


def _of_pool(value: Value) -> str:
    """Return the strategy that a pool's field or label chooses; empty for anything else."""
    step, known = value.path[-1:], value.peek
    if step == (_POOL_FIELD,) and known:
        named = value.items[0] if isinstance(known, list) else value
        return str(named.get("gpuSharingStrategy").peek or _POOL_FIELD)
    key, text = (value.get("key").peek, value.get("value").peek) if isinstance(known, dict) else (None, known)
    label = key if isinstance(key, str) else str(step[0]) if step else ""
    return str(text) if isinstance(text, str) and text in _POOL_LABELS.get(label, ()) else ""


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


REQUIRE_ISOLATION = ResourceRule(
    name="sharing-require-isolation",
    description=(
        "Devices are shared only in ways that isolate memory and faults, because with time-slicing and "
        "MPS one pod can end others."
    ),
    fix="Use MIG partitions or whole devices.",
    link="https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html",
    severity="medium",
    standard="advisory",
    production="mandatory",
    types=_TYPES,
    parameters=(ACCEPTED,),
    check=_require_isolation,
)

RULES = (MIG_REQUIRE_CAPABLE_GPU, MIG_REQUIRE_LAYOUT, REQUIRE_DRIVER_GATES, REQUIRE_ISOLATION)
