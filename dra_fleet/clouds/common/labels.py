"""Labels that a stack file gives nodes of a pool: what other software goes by or writes itself is refused."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.settings import CreatedPoolSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.hardware.models import Machine
    from dra_fleet.settings.pools import Advertiser

    Place = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ReservedLabels:
    """The labels that a cloud keeps to itself.

    Attributes:
        owner: What people call it.
        refuser: Who refuses them.
        prefixes: How they begin.
        judged: Further ones, which the cloud's own checks judge.
        set_by: By key the setting of a pool that has this program set one.
        why: By key what a label of this program's is for, to begin a sentence with.
    """

    owner: str
    refuser: str
    prefixes: tuple[str, ...]
    judged: frozenset[str] = frozenset()
    set_by: Mapping[str, str] = field(default_factory=dict[str, str])
    why: Mapping[str, str] = field(default_factory=dict[str, str])


def check_labels(
    at: Place,
    pool: CreatedPoolSettings,
    ours: Mapping[str, str],
    findings: Findings,
    *,
    machine: Machine,
    reserved: ReservedLabels,
    operated: bool = False,
) -> None:
    """Refuse labels of a pool that this program sets itself, that the cloud keeps to itself, or that mislead.

    Args:
        at: where the pool stands in the stack file.
        pool: its settings.
        ours: the labels that the program sets.
        findings: collects the problems.
        machine: its machine.
        reserved: those that the cloud keeps to itself.
        operated: whether an operator readies the cluster's nodes.
    """
    for key, value in sorted(pool.labels.items()):
        if key in reserved.judged or ours.get(key) == value:
            continue
        told: Place = (*at, "labels", key)
        setting, fix = reserved.set_by.get(key), f"remove {key} from labels"
        if key in ours:
            what = reserved.why.get(key) or _what_for(key)
            findings.error(*told, what=what, got=value, allowed=ours[key], fix=fix)
        elif setting is not None:
            what = f"is a label that this program sets where the pool says {setting}"
            findings.error(*told, what=what, got=value, fix=f"{fix}, and set {setting}")
        elif key.startswith(reserved.prefixes):
            what = (
                f"has a prefix that belongs to {reserved.owner} or Kubernetes; {reserved.refuser} refuses it"
            )
            findings.error(*told, what=what, got=key, fix="choose a prefix of your own")
        elif what := _misleads(key, value, machine, pool.advertise, operated=operated):
            findings.error(*told, what=what, got=value, fix=fix)


def _what_for(key: str) -> str:
    if any(key in driver.facts.plugin_labels for driver in drivers.known()):
        return "must be true, or the DRA driver's plugin does not run on the pool's nodes"
    return "is a label this program sets itself on every node of the pool"


def _misleads(key: str, value: str, machine: Machine, advertise: Advertiser | None, *, operated: bool) -> str:
    """What a label makes software do that goes by it, or writes it itself; empty for nothing wrong.

    An operator forgets: https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/state_manager.go
    """
    for driver in drivers.known():
        operator = driver.resources.operator if operated else None
        leads = driver.facts.plugin_labels.get(key) == value
        if leads and not driver.serves(machine):
            return f"has driver {driver.name} come to nodes without devices for it: {machine.name} has none"
        if operator is None:
            continue
        if leads and advertise == "dra":
            return (
                f"has {operator.title} forget that its device plugin shall leave this pool to DRA: it takes "
                "nodes for ones with devices before it has found any, and both give them out"
            )
        if operator.finds.search(key):
            return f"is written by {operator.title}'s discovery, which puts what it finds in its place"
    return ""
