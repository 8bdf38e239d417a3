"""Changes in words: one sentence each, with what it means for what runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.review.pools import before_words, node_range
from dra_fleet.review.was import layout_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.plan import ClusterPlan, PoolPlan
    from dra_fleet.review.losses import Loss
    from dra_fleet.review.model import Action, Weight
    from dra_fleet.review.owners import Owner
    from dra_fleet.review.was import WasCluster, WasPool

_DONE: dict[Action, str] = {
    "create": "is added",
    "update": "changes in place",
    "replace": "is replaced",
    "delete": "is deleted",
    "none": "stays",
}


@dataclass(frozen=True, kw_only=True)
class SentenceSubject:
    """What a sentence is about.

    Attributes:
        owner: The thing.
        action: What becomes of it.
        fields: The inputs that change.
        loss: What is lost.
        plan: Its cluster as it will be, None where it goes.
        was: Its cluster as it was, None where that is not known.
        nodes: How many nodes of a pool run, None where nobody asked.
    """

    owner: Owner
    action: Action
    fields: Sequence[str]
    loss: Loss
    plan: ClusterPlan | None
    was: WasCluster | None
    nodes: int | None


def sentence(subject: SentenceSubject) -> str:
    """What changes and whom it hits."""
    match subject.owner.kind:
        case "pool":
            return _pool(subject)
        case "driver":
            return _driver(subject)
        case "class" | "template":
            return _definition(subject)
        case _:
            text = f"{_name(subject)} {_DONE[subject.action]}{_fields(subject)}"
            return f"{text}: {_lost(subject.loss)}" if _takes(subject) else text


def weight(subject: SentenceSubject) -> Weight:
    """How much a change can break."""
    kind, action = subject.owner.kind, subject.action
    if action == "delete" or (action == "replace" and kind not in ("template", "class", "other")):
        return "destructive"
    if action == "replace" or (action == "update" and kind in ("cluster", "pool", "driver", "class")):
        return "disruptive"
    return "ordinary"


def details(subject: SentenceSubject) -> tuple[str, ...]:
    """What else to know about a change of this sort."""
    kind, action = subject.owner.kind, subject.action
    if kind == "driver" and action in ("update", "replace"):
        return ("running pods keep their devices; pods that start meanwhile wait for the driver's pods",)
    if kind == "driver" and action == "delete":
        return (
            "its devices vanish from the cluster, and pods that still hold some cannot be stopped cleanly",
        )
    if kind == "class" and action in ("delete", "replace"):
        return ("running pods keep their devices; a new pod whose claim names the class waits",)
    if kind == "class" and action == "update":
        return ("running pods keep their devices; new claims are matched by the new selectors",)
    if kind == "template" and action in ("delete", "replace"):
        return ("running pods keep their claims; a new pod that names the old template waits",)
    return ()


def _name(subject: SentenceSubject) -> str:
    owner = subject.owner
    if owner.kind in ("credential", "other"):
        return f"{owner.name} of cluster {owner.cluster}" if owner.cluster else owner.name
    return f"{owner.kind} {owner.name}"


def _fields(subject: SentenceSubject) -> str:
    if subject.action not in ("update", "replace") or not subject.fields:
        return ""
    most = 4
    named = ", ".join(subject.fields[:most])
    more = f" and {len(subject.fields) - most} more" if len(subject.fields) > most else ""
    return f" ({named}{more})"


def _takes(subject: SentenceSubject) -> bool:
    ends = subject.action in ("replace", "delete")
    return ends and subject.owner.kind in ("cluster", "pool", "workload", "claim", "namespace")


def _lost(loss: Loss) -> str:
    if loss.claims is None:
        whose = f" of {', '.join(loss.workloads)}" if loss.workloads else ""
        return f"how many running claims{whose} lose their device is not known"
    if not loss.claims:
        return "no running claim loses its device"
    return "1 running claim loses its device" if loss.claims == 1 else _claims(loss.claims)


def _claims(count: int) -> str:
    return f"{count} running claims lose their device"


def _pool(subject: SentenceSubject) -> str:
    was = subject.was.pools.get(subject.owner.name) if subject.was else None
    plan = _planned(subject)
    name = f"pool {subject.owner.name}"
    if subject.action == "create" and plan is not None:
        return f"{name} is added: {node_range(plan.min_nodes, plan.max_nodes)} {plan.machine.name}"
    what = _pool_change(subject, was, plan)
    if not _takes(subject):
        return f"{name}: {what}" if what else f"{name} changes in place{_fields(subject)}"
    done = "replaced" if subject.action == "replace" else "deleted"
    nodes = _gone(subject, was)
    return f"{name}: {what + ': ' if what else ''}{nodes} {done}, {_lost(subject.loss)}"


def _planned(subject: SentenceSubject) -> PoolPlan | None:
    pools = subject.plan.pools if subject.plan else ()
    return next((pool for pool in pools if pool.name == subject.owner.name), None)


def _pool_change(subject: SentenceSubject, was: WasPool | None, plan: PoolPlan | None) -> str:
    if subject.action == "delete":
        return "it goes"
    told: list[str] = []
    if was is not None and plan is not None and before_words(was, plan):
        if was.machine_name != plan.machine.name:
            told.append(f"machine type changes from {was.machine_name} to {plan.machine.name}")
        if (was.min_nodes, was.max_nodes) != (plan.min_nodes, plan.max_nodes):
            told.append(
                f"{node_range(was.min_nodes, was.max_nodes)} "
                f"becomes {node_range(plan.min_nodes, plan.max_nodes)}"
            )
        if was.layout is not None and was.layout != layout_text(plan.sharing):
            now = layout_text(plan.sharing) or "whole devices"
            told.append(f"partitions change from {was.layout or 'whole devices'} to {now}")
        if was.advertise is not None and was.advertise != plan.advertise:
            told.append(f"advertise changes from {was.advertise} to {plan.advertise}")
    elif subject.fields:
        told.append(f"{', '.join(subject.fields)} {'changes' if len(subject.fields) == 1 else 'change'}")
    return ", ".join(told)


def _gone(subject: SentenceSubject, was: WasPool | None) -> str:
    if subject.nodes is not None:
        count = subject.nodes
        return f"{count} GPU {'node is' if count == 1 else 'nodes are'}"
    if was is not None:
        most = was.max_nodes
        counted = str(most) if was.min_nodes == most else f"{was.min_nodes} to {most}"
        return f"{counted} GPU {'node is' if counted == '1' else 'nodes are'}"
    return "its GPU nodes are"


def _driver(subject: SentenceSubject) -> str:
    owner = subject.owner
    release = next(
        (item for item in (subject.plan.releases if subject.plan else ()) if item.name == owner.name), None
    )
    before = subject.was.releases.get(owner.name, "") if subject.was else ""
    if subject.action == "create" and release is not None:
        return f"driver {owner.name} {release.version} is installed"
    if release is not None and before and before != release.version:
        return f"driver {owner.name}: version {before} becomes {release.version}"
    return f"driver {owner.name} {_DONE[subject.action]}{_fields(subject)}"


def _definition(subject: SentenceSubject) -> str:
    whose = subject.loss.workloads
    word = "DeviceClass" if subject.owner.kind == "class" else "ResourceClaimTemplate"
    text = f"{word} {subject.owner.name} {_DONE[subject.action]}{_fields(subject)}"
    return f"{text}; used by {', '.join(whose)}" if whose and subject.action != "create" else text
