"""Groups the engine's steps by what they belong to and says each change in words; the blast radius of all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.policy.reading.clouds import all_resources
from dra_fleet.proof.demand.pod_sets import claim_of
from dra_fleet.review.events import NAMED_BY_ITSELF, fields_of, last_name, value_at
from dra_fleet.review.losses import ENDING, Losses, Owner, Owners
from dra_fleet.review.masking import change_shown
from dra_fleet.review.matched import asked_before_and_after, matched_before_and_after
from dra_fleet.review.model import Blast, BlastRadius, Change, PropertyChange, ResourceChange
from dra_fleet.review.pools import before_words, node_range, nodes_now
from dra_fleet.review.running import layout_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dra_fleet.model.plan import ClusterPlan, FleetPlan, PoolPlan
    from dra_fleet.review.events import EngineStep, Preview
    from dra_fleet.review.losses import Loss
    from dra_fleet.review.model import Action, LostPod, Weight
    from dra_fleet.review.pools import Offered
    from dra_fleet.review.running import Running, Was, WasCluster, WasPool


def rolls_nodes(steps: Iterable[EngineStep]) -> bool:
    """Return whether an update of a pool replaces its nodes."""
    return any(
        path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))
        for step in steps
        if step.operation == "update"
        for prefix in _rolled_by(step.type)
        for path in step.diff
    )


def users_of(owner: Owner, *plans: FleetPlan | None) -> tuple[str, ...]:
    """Return the workloads that use a changing resource, before or after the change, sorted by name."""
    found: set[str] = set()
    for plan in plans:
        for cluster in plan.clusters if plan else ():
            if cluster.name == owner.cluster:
                found |= _users(owner, cluster)
    return tuple(sorted(found))


def _users(owner: Owner, cluster: ClusterPlan) -> set[str]:
    match owner.kind:
        case "template" | "claim":
            names = {owner.name}
        case "class":
            names = _claims_of({owner.name}, cluster)
        case "driver":
            release = next((item for item in cluster.releases if item.name == owner.name), None)
            if release is None:
                return set()
            names = _claims_of(_classes_of(release.driver, cluster), cluster)
        case _:
            return set()
    return {item.name for item in cluster.workloads if claim_of(item) in names}


_DONE: dict[Action, str] = {
    "create": "is added",
    "update": "changes in place",
    "replace": "is replaced",
    "delete": "is deleted",
    "none": "stays",
}


class SentenceSubject(Struct, frozen=True, kw_only=True):
    """Subject of a sentence.

    Attributes:
        owner: The thing.
        action: What becomes of it.
        fields: The inputs that change.
        loss: What is lost.
        plan: Its cluster as it will be, None if it is deleted.
        was: Its cluster as it was, None where that is not known.
        nodes: How many nodes of a pool run, None where no one asked.
    """

    owner: Owner
    action: Action
    fields: Sequence[str]
    loss: Loss
    plan: ClusterPlan | None
    was: WasCluster | None
    nodes: int | None


def sentence(subject: SentenceSubject) -> str:
    """Describe the change and the workloads that it affects."""
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
    """Return the possible damage of a change."""
    kind, action = subject.owner.kind, subject.action
    if action == "delete" or (action == "replace" and kind not in ("template", "class", "other")):
        return "destructive"
    if action == "replace" or (action == "update" and kind in ("cluster", "pool", "driver", "class")):
        return "disruptive"
    return "ordinary"


def details(subject: SentenceSubject) -> tuple[str, ...]:
    """Return further facts about a change of this kind."""
    kind, action = subject.owner.kind, subject.action
    if kind == "driver" and action in ("update", "replace"):
        return (
            "running pods keep their devices; pods that start in the meantime wait for the driver's pods",
        )
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


def _lost(loss: Loss) -> str:
    if loss.claims is None:
        whose = f" of {', '.join(loss.workloads)}" if loss.workloads else ""
        return f"how many running claims{whose} lose their device is not known"
    if not loss.claims:
        return "no running claim loses its device"
    return "1 running claim loses its device" if loss.claims == 1 else _claims(loss.claims)


def _claims(count: int) -> str:
    return f"{count} running claims lose their device"


_OPERATIONS: Mapping[str, Action] = {
    "create": "create",
    "import": "create",
    "update": "update",
    "replace": "replace",
    "create-replacement": "replace",
    "delete-replaced": "replace",
    "import-replacement": "replace",
    "delete": "delete",
}

_STRENGTH: Mapping[Action, int] = {"none": 0, "update": 1, "create": 2, "delete": 3, "replace": 4}

_VALUES = 3
"""Values of a change that are reported in its details."""

_WEIGHT = {"destructive": 0, "disruptive": 1, "ordinary": 2}

_KINDS = (
    "cluster", "pool", "driver", "class", "template", "claim", "workload", "namespace", "credential", "other",
)  # fmt: skip


class Changes:
    """All changes of one preview.

    Args:
        preview: What the engine would do.
        plan: The stack as it will be; None where its file is wrong.
        was: As it was.
        running: The running pods, where the clusters were asked.
        offers: What each cluster offers.
    """

    def __init__(
        self,
        preview: Preview,
        plan: FleetPlan | None,
        was: Was,
        running: Running | None,
        offers: Sequence[Offered] = (),
    ) -> None:
        self._plan, self._was, self._running = plan, was, running
        self._offers = {item.cluster.name: item for item in offers}
        self._losses = Losses(plan, was, running)
        owners = Owners(preview.steps)
        grouped: dict[Owner, dict[str, list[EngineStep]]] = {}
        for step in preview.steps:
            if step.operation in _OPERATIONS and step.parent:
                grouped.setdefault(owners.of(step), {}).setdefault(step.urn, []).append(step)
        self._grouped = grouped
        self.actions: dict[Owner, Action] = {owner: _action(owner, steps) for owner, steps in grouped.items()}
        self._lost = {owner: self._loss(owner) for owner in grouped}

    def pool_actions(self) -> dict[tuple[str, str], Action]:
        """Return the action on each pool that is a resource of the stack."""
        return {
            (owner.cluster, owner.name): action
            for owner, action in self.actions.items()
            if owner.kind == "pool"
        }

    def shown(self) -> tuple[Change, ...]:
        """Every change, those that break most first."""
        found = [self._change(owner, steps) for owner, steps in self._grouped.items()]
        found += self._only_declared()
        return tuple(
            sorted(found, key=lambda item: (_WEIGHT[item.weight], _KINDS.index(item.kind), item.cluster))
        )

    def blast(self) -> BlastRadius:
        """Return replaced and deleted resources, changes of resources in use, and the lost devices."""
        items = tuple(
            self._blast(owner, steps)
            for owner, steps in self._grouped.items()
            if self.actions[owner] in ENDING or (self.actions[owner] == "update" and self._users(owner))
        )
        pods = self._pods()
        ending = [owner for owner, action in self.actions.items() if action in ENDING]
        return BlastRadius(
            source="declared" if self._running is None else "running",
            items=tuple(sorted(items, key=lambda item: (item.action not in ENDING, item.kind, item.name))),
            nodes=self._nodes(ending),
            claims=self._claims(ending, pods),
            pods=pods,
            refused_by_protection=tuple(
                f"{step.name} ({step.type})"
                for steps in self._grouped.values()
                for step in _firsts(steps)
                if step.is_protected and _OPERATIONS[step.operation] in ENDING
            ),
        )

    def _loss(self, owner: Owner) -> Loss:
        loss = self._losses.of(owner, self.actions[owner])
        return replace(loss, workloads=self._users(owner)) if self._users(owner) else loss

    def _users(self, owner: Owner) -> tuple[str, ...]:
        return users_of(owner, self._plan, self._was.plan)

    def _pods(self) -> tuple[LostPod, ...]:
        found = {
            (pod.cluster, pod.namespace, pod.name): pod for loss in self._lost.values() for pod in loss.pods
        }
        return tuple(found[key] for key in sorted(found))

    def _claims(self, ending: Sequence[Owner], pods: tuple[LostPod, ...]) -> int | None:
        if self._running is not None:
            unknown = any(self._lost[owner].claims is None for owner in ending)
            return None if unknown else self._losses.claims(pods)
        counted: dict[tuple[str, str], int] = {}
        for owner in ending:
            loss = self._losses.of(owner, self.actions[owner])
            if loss.claims is None:
                return None
            if owner.kind == "workload":
                counted[owner.cluster, owner.name] = loss.claims
            elif loss.claims:
                # The workloads of a pool or a cluster may go by themselves too, and are counted once.
                for name in loss.workloads:
                    one = self._losses.of(Owner("workload", owner.cluster, name), "delete")
                    counted[owner.cluster, name] = one.claims or 0
        return sum(counted.values())

    def _nodes(self, ending: Sequence[Owner]) -> int | None:
        total = 0
        for owner in ending:
            if owner.kind not in ("pool", "cluster"):
                continue
            was = self._was.clusters.get(owner.cluster)
            names = [owner.name] if owner.kind == "pool" else list(was.pools if was else ())
            if was is None and owner.kind == "cluster":
                return None
            for name in names:
                if owner.kind == "cluster" and Owner("pool", owner.cluster, name) in ending:
                    continue
                now = nodes_now(self._running, owner.cluster, name)
                known = was.pools.get(name) if was else None
                if now is None and known is None:
                    return None
                total += now if now is not None else known.max_nodes if known else 0
        return total

    def _subject(self, owner: Owner, action: Action, fields: Sequence[str]) -> SentenceSubject:
        clusters = {cluster.name: cluster for cluster in (self._plan.clusters if self._plan else ())}
        return SentenceSubject(
            owner=owner,
            action=action,
            fields=fields,
            loss=self._lost.get(owner) or self._losses.of(owner, action),
            plan=clusters.get(owner.cluster),
            was=self._was.clusters.get(owner.cluster),
            nodes=nodes_now(self._running, owner.cluster, owner.name) if owner.kind == "pool" else None,
        )

    def _change(self, owner: Owner, steps: Mapping[str, Sequence[EngineStep]]) -> Change:
        changed = [_resource(list(found)) for found in steps.values()]
        fields = dict.fromkeys(field for found in steps.values() for field in fields_of(found))
        subject = self._subject(owner, self.actions[owner], list(fields))
        return Change(
            weight=weight(subject),
            action=subject.action,
            kind=owner.kind,
            cluster=owner.cluster,
            name=owner.name,
            text=sentence(subject),
            details=(*(self._particulars(owner, steps) or _values(changed)), *details(subject)),
            lost_claims=subject.loss.claims,
            lost_workloads=subject.loss.workloads,
            resources=tuple(changed),
        )

    def _particulars(self, owner: Owner, steps: Mapping[str, Sequence[EngineStep]]) -> tuple[str, ...]:
        found = [step for group in steps.values() for step in group]
        if owner.kind == "class" and self.actions[owner] in ("update", "replace"):
            shown = (
                asked_before_and_after(found),
                matched_before_and_after(found, self._offers.get(owner.cluster)),
            )
            return tuple(text for text in shown if text)
        if owner.kind == "pool" and rolls_nodes(found):
            return ("the cloud changes it by new nodes, one after the other",)
        return ()

    def _blast(self, owner: Owner, steps: Mapping[str, Sequence[EngineStep]]) -> Blast:
        loss = self._lost[owner]
        return Blast(
            action=self.actions[owner],
            kind=owner.kind,
            cluster=owner.cluster,
            name=owner.name,
            workloads=loss.workloads,
            claims=loss.claims,
            protected=any(step.is_protected for step in _firsts(steps)),
        )

    def _only_declared(self) -> Iterable[Change]:
        """Pools whose declaration changes and that are no resource of the stack."""
        for cluster in self._plan.clusters if self._plan else ():
            was = self._was.clusters.get(cluster.name)
            for pool in cluster.pools:
                owner = Owner("pool", cluster.name, pool.name)
                before = was.pools.get(pool.name) if was else None
                if owner in self._grouped or before is None or not before_words(before, pool):
                    continue
                yield Change(
                    weight="ordinary",
                    action="update",
                    kind="pool",
                    cluster=cluster.name,
                    name=pool.name,
                    text=sentence(self._subject(owner, "update", ())),
                    details=("only what is declared of it changes; this stack changes no node of it",),
                    lost_claims=0,
                    lost_workloads=(),
                    resources=(),
                )


def _action(owner: Owner, steps: Mapping[str, Sequence[EngineStep]]) -> Action:
    """Return the strongest step on an owner's resources; for a cluster only that of the cluster itself.

    A pool whose nodes are replaced one after the other is replaced, whatever the engine calls it.
    """
    found = [step for group in steps.values() for step in group]
    if owner.kind == "pool" and rolls_nodes(found):
        return "replace"
    return max((_OPERATIONS[step.operation] for step in found), key=lambda action: _STRENGTH[action])


def _firsts(steps: Mapping[str, Sequence[EngineStep]]) -> list[EngineStep]:
    return [found[0] for found in steps.values()]


def _resource(steps: Sequence[EngineStep]) -> ResourceChange:
    step = next((item for item in steps if item.operation == "replace"), steps[0])
    old: object = (step.old or {}).get("inputs")
    new: object = (step.new or {}).get("inputs")
    return ResourceChange(
        urn=step.urn,
        type=step.type,
        name=step.name,
        operation=step.operation,
        protected=step.is_protected,
        properties=tuple(_property(path, kind, old, new) for path, kind in step.diff.items()),
    )


def _values(resources: Sequence[ResourceChange]) -> tuple[str, ...]:
    shown = dict.fromkeys(
        f"{last_name(item.path)} {item.before or 'nothing'} -> {item.after or 'nothing'}"
        for resource in resources
        if resource.operation in ("update", "replace")
        for item in resource.properties
        if item.path not in NAMED_BY_ITSELF
    )
    return tuple(shown)[:_VALUES]


def _property(path: str, kind: str, old: object, new: object) -> PropertyChange:
    before, after = change_shown(value_at(old, path), value_at(new, path), path)
    return PropertyChange(path=path, before=before, after=after, replaces=kind.endswith("replace"))


def _rolled_by(pool_type: str) -> Iterator[str]:
    """Yield the inputs of a pool type that its cloud changes by new nodes."""
    for resources in all_resources():
        for form in resources.pools:
            if form.types.fullmatch(pool_type):
                yield from form.rolled_by


def _claims_of(classes: set[str], cluster: ClusterPlan) -> set[str]:
    found: set[str] = set()
    for item in (*cluster.templates, *cluster.claims):
        for request in item.spec.to_object().get("devices", {}).get("requests", []):
            choices = [request.get("exactly", {}), *request.get("firstAvailable", [])]
            if any(choice.get("deviceClassName") in classes for choice in choices):
                found.add(item.name)
    return found


def _classes_of(driver: str, cluster: ClusterPlan) -> set[str]:
    facts = drivers.facts_of(driver)
    owned = facts.owned_classes if facts is not None else frozenset[str]()
    declared = {
        item.name
        for item in cluster.classes
        if any(driver in selector.cel.expression for selector in item.spec.selectors)
    }
    return declared | owned


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
        return "it is deleted"
    shown: list[str] = []
    if was is not None and plan is not None and before_words(was, plan):
        if was.machine_name != plan.machine.name:
            shown.append(f"machine type changes from {was.machine_name} to {plan.machine.name}")
        if (was.min_nodes, was.max_nodes) != (plan.min_nodes, plan.max_nodes):
            shown.append(
                f"{node_range(was.min_nodes, was.max_nodes)} "
                f"becomes {node_range(plan.min_nodes, plan.max_nodes)}"
            )
        if was.layout is not None and was.layout != layout_text(plan.sharing):
            now = layout_text(plan.sharing) or "whole devices"
            shown.append(f"partitions change from {was.layout or 'whole devices'} to {now}")
        if was.advertise is not None and was.advertise != plan.advertise:
            shown.append(f"advertise changes from {was.advertise} to {plan.advertise}")
    elif subject.fields:
        shown.append(f"{', '.join(subject.fields)} {'changes' if len(subject.fields) == 1 else 'change'}")
    return ", ".join(shown)


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
