"""Sharing of a GPU between pods isolates their memory and faults.

Time-slicing and MPS do neither: a pod that allocates too much ends its neighbours, and an error in one
context ends all of them. They suit experiments, and must be allowed by name. The rule reads them in
classes and claims, in the configuration of device plugins (ConfigMaps and values of charts), and in pools.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.policy.reading.charts import RELEASE_TYPES
from dra_fleet.policy.reading.claims import SELECTING_TYPES
from dra_fleet.policy.reading.partitions import POOL_TYPES, shared
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.rule import Settings

NAME: Final = "sharing-require-isolation"
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


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find configurations that choose a strategy without isolation."""
    if resource.name in settings.texts(ACCEPTED.name):
        return
    if SELECTING_TYPES.fullmatch(resource.type):
        for facts, strategy in shared(resource):
            if strategy.text in facts.sharing_gates:
                yield _finding(resource, strategy, f"is {strategy.shown}")
        return
    of_pool = POOL_TYPES.fullmatch(resource.type) is not None
    for value in resource.properties.walk():
        chosen = _of_pool(value) if of_pool else _of_plugin(value)
        if chosen:
            yield _finding(resource, value, f"shares GPUs by {chosen}")


def _finding(resource: Resource, at: Value, problem: str) -> Finding:
    return Finding(
        resource,
        at,
        f"{problem}, which isolates neither memory nor faults",
        "whole devices, or MIG partitions",
        f"select a MIG device, or list {resource.name} in {ACCEPTED.name} of {NAME}",
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


RULE = ResourceRule(
    name=NAME,
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
    check=check,
)
