"""Puts a review together from what the engine said, the stack file, its proof and what runs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct, field

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import KEY, under
from dra_fleet.core.yaml_text import Unreadable, read_json
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import EXTENDS
from dra_fleet.fleet.upgrades import known_minors, outlook
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.proof.prove import prove
from dra_fleet.review import findings as checked
from dra_fleet.review.changes import Changes
from dra_fleet.review.events import short_list
from dra_fleet.review.findings import findings
from dra_fleet.review.fitting import OWN, cost, matrices, workloads
from dra_fleet.review.masking import MASK, scrub_all
from dra_fleet.review.model import (
    Amounts,
    Cost,
    Engine,
    Exposure,
    Money,
    Origin,
    Review,
    Shared,
    Totals,
    Unchecked,
    Use,
    Version,
)
from dra_fleet.review.pools import Offered, PoolContext, example_map, offered, pools, running_map
from dra_fleet.review.running import layout_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.clouds.resources import Support
    from dra_fleet.fleet import FleetSettings
    from dra_fleet.model.plan import ClusterPlan, FleetPlan, ReleasePlan
    from dra_fleet.proof.answer.costs import DeviceAmounts
    from dra_fleet.proof.answer.verdicts import Proof
    from dra_fleet.review.events import Preview
    from dra_fleet.review.model import Node, Pool, Workload
    from dra_fleet.review.running import Running, Was, WasCluster


_SOON = dt.timedelta(days=90)
"""Time before the end of support in which a version is `ending`: about as long as an upgrade of a fleet
takes.
"""


class Fleet(Struct, frozen=True, kw_only=True):
    """A stack file with its plan and proof, or why it has none."""

    settings: FleetSettings | None = None
    plan: FleetPlan | None = None
    proof: Proof | None = None
    invalid: SettingsInvalid | None = None


def fleet_of(settings: Mapping[str, Any]) -> Fleet:
    """Plan and prove a fleet; errors are kept, not raised."""
    try:
        parsed = parse(settings)
        plan = make_plan(parsed)
    except SettingsInvalid as invalid:
        return Fleet(invalid=invalid)
    return Fleet(settings=parsed, plan=plan, proof=prove(plan))


def previewed_fleet(preview: Preview) -> Mapping[str, Any] | None:
    """Return the fleet that the engine got; None if its events have none, only a part, or a secret."""
    text = preview.config.get(KEY, "")
    if not text or text == MASK:
        return None
    try:
        value = read_json(text)
    except Unreadable:
        return None
    whole = isinstance(value, Mapping) and EXTENDS not in value
    return cast("Mapping[str, Any]", value) if whole else None


class Known(Struct, frozen=True, kw_only=True):
    """All that a review is made of. `plan_command`: applies what was reviewed; empty without a saved plan."""

    stack: str
    preview: Preview
    fleet: Fleet
    was: Was
    running: Running | None
    plan_command: str = ""
    origin: Origin = field(default_factory=Origin)


def make_review(known: Known) -> Review:
    """Return the whole review. The same inputs always give the same review: it reads no clock."""
    preview, fleet, was, running = known.preview, known.fleet, known.was, known.running
    plan = fleet.plan
    offers = [offered(cluster) for cluster in plan.clusters] if plan else []
    changes = Changes(preview, plan, was, running, offers)
    found_pools = pools(
        offers,
        PoolContext(was=was, running=running, actions=changes.pool_actions(), maps=_maps(offers, running)),
    )
    shown, blast = changes.shown(), changes.blast()
    found = findings(preview, fleet.proof, fleet.invalid, plan.warnings if plan else ())
    ran = _engine(preview)
    money = cost(plan, was, running) if plan else _NO_COST
    copies = workloads(plan, fleet.proof, was.proof, running) if plan and fleet.proof else ()
    run = versions(plan, was, preview.started.date()) if plan else ()
    shared = sharing(fleet.settings, plan) if fleet.settings and plan else ()
    secrets = tuple(sorted(key for key, value in preview.config.items() if value == MASK))
    reached = exposure(plan, secrets) if plan else ()
    review = Review(
        stack=known.stack,
        owner=plan.owner if plan else "",
        environment=plan.environment if plan else "",
        previewed=preview.started,
        against=was.source,
        plan=known.plan_command,
        origin=known.origin,
        verdict=checked.verdict(
            [
                *checked.engine_reasons(ran, found),
                *checked.change_reasons(shown, blast, clusters=len(plan.clusters) if plan else 0),
                *checked.fleet_reasons(copies, run, shared, reached),
                *checked.cost_reasons(money, _bought(plan, money)),
            ]
        ),
        totals=_totals(found_pools, copies, plan, preview),
        changes=shown,
        blast=blast,
        matrices=matrices(fleet.proof, was.proof) if fleet.proof else (),
        workloads=copies,
        map_source="none" if not offers else "running" if running else "example",
        pools=found_pools,
        findings=found,
        versions=run,
        cost=money,
        sharing=shared,
        use=uses(fleet.proof) if fleet.proof else (),
        waste=tuple(item.note for item in fleet.proof.workloads if item.waste) if fleet.proof else (),
        exposure=reached,
        unchecked=unchecked(preview, plan, was, running, found_pools),
        engine=ran,
    )
    return Review.model_validate(scrub_all(review.model_dump(by_alias=True)))


_NOTHING = Money(amount=None, unknown_nodes=0)

_NO_COST = Cost(
    currency="USD",
    basis="nothing is known: the stack file is wrong",
    now=_NOTHING,
    after=_NOTHING,
    at_min=_NOTHING,
    at_max=_NOTHING,
    at_max_before=_NOTHING,
    pools=(),
    unknown=(),
    not_counted=(),
)


def _maps(offers: Sequence[Offered], running: Running | None) -> dict[str, Mapping[str, tuple[Node, ...]]]:
    found: dict[str, Mapping[str, tuple[Node, ...]]] = {}
    for offer in offers:
        if running is None:
            found[offer.cluster.name] = example_map(offer)
        elif offer.cluster.name in running.clusters:
            found[offer.cluster.name] = running_map(offer, running)
    return found


def _engine(preview: Preview) -> Engine:
    return Engine(
        result=preview.result,
        seconds=preview.seconds,
        operations=preview.operations,
        errors=tuple(preview.errors),
        warnings=tuple(preview.warnings),
        packs=preview.packs,
        rules_passed=tuple(sorted(preview.passed - preview.failed)),
        rules_failed=tuple(sorted(preview.failed)),
    )


def _bought(plan: FleetPlan | None, money: Cost) -> int:
    """Nodes of unknown price that the change adds at most, without machines that are there already."""
    clouds = {cluster.name: cluster.cloud for cluster in (plan.clusters if plan else ())}
    billed = [item for item in money.pools if clouds.get(item.cluster, OWN) != OWN]
    return sum(item.at_max.unknown_nodes - item.at_max_before.unknown_nodes for item in billed)


def _totals(
    found: Sequence[Pool], copies: Sequence[Workload], plan: FleetPlan | None, preview: Preview
) -> Totals:
    return Totals(
        clusters=len(plan.clusters) if plan else 0,
        pools=len(found),
        nodes_min=sum(pool.nodes_min for pool in found),
        nodes_max=sum(pool.nodes_max for pool in found),
        devices_min=sum(pool.devices_min for pool in found),
        devices_max=sum(pool.devices_max for pool in found),
        workloads=len(copies),
        claims=sum(item.copies for item in copies),
        changed_resources=sum(
            count for operation, count in preview.operations.items() if operation not in _UNCHANGED
        ),
    )


_UNCHANGED = frozenset({"same", "read", "refresh", "read-discard", "discard"})


def exposure(plan: FleetPlan, secret_keys: tuple[str, ...]) -> tuple[Exposure, ...]:
    """All facts, warnings first.

    Args:
        plan: The stack.
        secret_keys: The names of its secret configuration values.
    """
    found = [item for cluster in plan.clusters for item in _cluster(cluster)]
    if secret_keys:
        text = f"secret values of the configuration: {', '.join(secret_keys)}; none of them is shown here"
        found.append(Exposure(cluster="", subject="secrets", text=text, level="fine"))
    order = {"warning": 0, "note": 1, "fine": 2}
    return tuple(sorted(found, key=lambda item: order[item.level]))


def _cluster(cluster: ClusterPlan) -> Iterator[Exposure]:
    name = cluster.name
    for shown in clouds.named(cluster.cloud).exposure(cluster.settings):
        yield Exposure(cluster=name, subject=shown.subject, text=shown.text, level=shown.level)
    yield from _privileged(name, {item.name: item.labels for item in cluster.namespaces})
    for release in cluster.releases:
        text = f"{release.name} runs privileged pods in namespace {release.namespace}, as device drivers do"
        yield Exposure(cluster=name, subject="privileged pods", text=text, level="fine")


def _privileged(name: str, namespaces: Mapping[str, Mapping[str, str]]) -> Iterator[Exposure]:
    for namespace, labels in namespaces.items():
        if any(key.endswith("admin-access") and value == "true" for key, value in labels.items()):
            text = f"every claim in namespace {namespace} may ask for devices that others hold"
            yield Exposure(cluster=name, subject="admin access", text=text, level="warning")


def sharing(settings: FleetSettings, plan: FleetPlan) -> tuple[Shared, ...]:
    """Every pool with devices, and every workload whose pods share devices; those without isolation first."""
    found = [*_workloads(settings), *_pools(plan)]
    return tuple(sorted(found, key=lambda item: item.isolated))


def _pools(plan: FleetPlan) -> Iterator[Shared]:
    for cluster in plan.clusters:
        for pool in cluster.pools:
            if pool.isolation:
                layout = layout_text(pool.sharing)
                yield Shared(
                    cluster=cluster.name,
                    kind="pool",
                    name=pool.name,
                    strategy=f"{pool.sharing.strategy}: {layout}" if layout else pool.sharing.strategy,
                    isolation=pool.isolation,
                    isolated=True,
                    accepted="",
                )


def _workloads(settings: FleetSettings) -> Iterator[Shared]:
    for name, workload in sorted(settings.with_demand().workloads.items()):
        if workload.claim not in settings.claims:
            continue
        strategy = next(
            filter(None, (driver.shared_by(workload, settings) for driver in drivers.known())), ""
        )
        if strategy:
            yield Shared(
                cluster=workload.cluster,
                kind="workload",
                name=name,
                strategy=strategy,
                isolation="its pods share devices: neither memory nor faults are kept apart",
                isolated=False,
                accepted=workload.accept.get("isolation", ""),
            )


def uses(proof: Proof) -> tuple[Use, ...]:
    """Return the resources that one copy of each workload requests, gets and strands on each pool."""
    return tuple(
        Use(
            cluster=item.cluster,
            workload=item.name,
            pool=fit.pool,
            copies=item.copies,
            asked=_amounts(fit.cost.asked),
            got=_amounts(fit.cost.got),
            stranded=_amounts(fit.cost.stranded),
            left_on_node=_amounts(fit.cost.left_on_node),
        )
        for item in proof.workloads
        for fit in item.pools
        if fit.cost is not None
    )


def _amounts(known: DeviceAmounts) -> Amounts:
    return Amounts(memory=known.memory, multiprocessors=known.multiprocessors)


def unchecked(
    preview: Preview, plan: FleetPlan | None, was: Was, running: Running | None, pools: Sequence[Pool]
) -> tuple[Unchecked, ...]:
    """Return the parts that were not checked although a reader may expect it."""
    return tuple(_all(preview, plan, was, running, pools))


def _all(
    preview: Preview, plan: FleetPlan | None, was: Was, running: Running | None, pools: Sequence[Pool]
) -> Iterator[Unchecked]:
    stack = preview.stack or "STACK"
    if plan is None:
        yield Unchecked(
            what="claims, devices, versions, cost, sharing and exposure",
            why="the stack file is wrong, so there is no plan of the fleet",
            how="correct what the findings say and review again",
        )
    if not preview.packs:
        yield Unchecked(
            what="policies",
            why="the preview ran without a policy pack",
            how="preview with --policy-pack policies/run-pack; `dra-fleet review` does so by itself",
        )
    if preview.result != "succeeded":
        yield Unchecked(
            what="the changes of the engine",
            why="the preview stopped before it had looked at every resource",
            how="correct what the findings say and review again",
        )
    if running is None:
        yield Unchecked(
            what="pods that run and use devices now",
            why="the clusters were not asked",
            how=f"dra-fleet review {stack} --running clusters",
        )
    if was.plan is None:
        yield Unchecked(
            what="earlier matrix, verdicts and settings",
            why=was.problem or "the review was compared with no other stack file",
            how=f"dra-fleet review {stack} --against main",
        )
    if running is None or any(cluster.others is None for cluster in running.clusters.values()):
        yield Unchecked(
            what="third-party pods that use devices of these pools",
            why="only workloads that the stack declares are known by name",
            how="kubectl get resourceclaims --all-namespaces",
        )
    yield Unchecked(
        what="the devices that nodes publish",
        why="devices are predicted from the catalogue and the drivers' values",
        how="kubectl get nodes,resourceslices -o json > nodes.json; "
        f"dra-fleet prove {stack} --slices nodes.json",
    )
    yield from _of_pools(pools)
    yield Unchecked(
        what="changes made by hand",
        why="a preview compares with the state, not with the clouds",
        how=f"dra-fleet drift {stack}",
    )
    used = {cluster.cloud for cluster in plan.clusters} if plan else set[str]()
    managed = sorted(name for name in used if clouds.named(name).makes_nodes)
    if managed:
        yield Unchecked(
            what="quota and capacity for the machines",
            why="only the clouds know them, and they change",
            how=f"ask {', '.join(managed)} for the quota of each machine family in its region",
        )


def _of_pools(pools: Sequence[Pool]) -> Iterator[Unchecked]:
    reasons: dict[str, list[str]] = {}
    for pool in pools:
        for reason in pool.unpredictable:
            reasons.setdefault(reason, []).append(pool.name)
    for reason, names in reasons.items():
        yield Unchecked(
            what=f"devices of {short_list(names)}",
            why=reason,
            how="record the nodes' slices and give them to prove",
        )


def versions(plan: FleetPlan, was: Was, today: dt.date) -> tuple[Version, ...]:
    """Return the versions of every cluster, sorted by end of support.

    Args:
        plan: The stack.
        was: How it was.
        today: The day of the preview, so that the same events always give the same review.
    """
    found: list[Version] = []
    breaks = outlook(plan, known_minors()[-1]).errors
    for cluster in plan.clusters:
        before = was.clusters.get(cluster.name)
        place = f"{under('clusters', cluster.name)}."
        later = [error.what for error in breaks if error.path.startswith(place)]
        found.append(_kubernetes(cluster, before, today, later))
        support = clouds.named(cluster.cloud).resources.support
        if support is not None:
            found.append(_managed(cluster, support, before, today))
        found += [_release(cluster, release, before) for release in cluster.releases]
    order = {"ended": 0, "ending": 1, "unknown": 2, "supported": 2}
    return tuple(sorted(found, key=lambda item: order[item.status]))


def _kubernetes(
    cluster: ClusterPlan, before: WasCluster | None, today: dt.date, later: Sequence[str]
) -> Version:
    entry = kubernetes_facts().minor(cluster.kubernetes)
    floor = f"at least patch {entry.patch_floor}: {entry.patch_reason}" if entry and entry.patch_floor else ""
    return Version(
        cluster=cluster.name,
        component="Kubernetes",
        version=cluster.kubernetes,
        before=_changed(before.kubernetes if before else "", cluster.kubernetes),
        supported_until=entry.end_of_life if entry else None,
        by="upstream",
        status=_status(entry.end_of_life if entry else None, today),
        note="; ".join(filter(None, (floor, *later))),
        source=str(entry.source) if entry else "",
    )


def _managed(cluster: ClusterPlan, support: Support, before: WasCluster | None, today: dt.date) -> Version:
    end = support.standard_end(cluster.kubernetes)
    return Version(
        cluster=cluster.name,
        component="Kubernetes",
        version=cluster.kubernetes,
        before=_changed(before.kubernetes if before else "", cluster.kubernetes),
        supported_until=end,
        by=support.by,
        status=_status(end, today),
        note="" if end else "no public date was found",
        source=support.source(),
    )


def _release(cluster: ClusterPlan, release: ReleasePlan, before: WasCluster | None) -> Version:
    facts = drivers.facts_of(release.driver)
    chart = facts.version(release.version) if facts else None
    newest = facts.versions[-1].version if facts else release.version
    notes = ["its project publishes no end dates"]
    if chart is not None and not chart.verified:
        notes.append("the chart's values were not verified against the published chart")
    if newest != release.version:
        notes.append(f"{newest} is the newest known")
    return Version(
        cluster=cluster.name,
        component=release.name,
        version=release.version,
        before=_changed(before.releases.get(release.name, "") if before else "", release.version),
        supported_until=None,
        by="its project",
        status="unknown",
        note="; ".join(notes),
        source=str(chart.source) if chart else "",
    )


def _changed(before: str, now: str) -> str:
    return before if before != now else ""


def _status(end: dt.date | None, today: dt.date) -> Literal["supported", "ending", "ended", "unknown"]:
    if end is None:
        return "unknown"
    if end <= today:
        return "ended"
    return "ending" if end - today <= _SOON else "supported"
