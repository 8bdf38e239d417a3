"""Puts a review together from what the engine said, the stack file, its proof and what runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.findings.errors import KEY
from dra_fleet.core.yaml_text import Unreadable, read_json
from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.extending import EXTENDS
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.review import verdict as judged
from dra_fleet.review.changes import Changes
from dra_fleet.review.cost import OWN, cost
from dra_fleet.review.exposure import exposure
from dra_fleet.review.findings import findings
from dra_fleet.review.fitting import matrices, workloads
from dra_fleet.review.fleet_map import example_map, running_map
from dra_fleet.review.masking import MASK, scrub_all
from dra_fleet.review.model import Cost, Engine, Money, Origin, Review, Totals
from dra_fleet.review.offered import Offered, offered
from dra_fleet.review.pools import PoolContext, pools
from dra_fleet.review.sharing import sharing, uses
from dra_fleet.review.unchecked import unchecked
from dra_fleet.review.versions import versions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.fleet import FleetSettings
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.proof.answer.verdicts import Proof
    from dra_fleet.review.events import Preview
    from dra_fleet.review.model import Node, Pool, Workload
    from dra_fleet.review.running import Running
    from dra_fleet.review.was import Was


@dataclass(frozen=True, kw_only=True)
class Fleet:
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
    """The fleet that the engine was given; None where its events hold none or a part, or a secret instead."""
    text = preview.config.get(KEY, "")
    if not text or text == MASK:
        return None
    try:
        value = read_json(text)
    except Unreadable:
        return None
    whole = isinstance(value, Mapping) and EXTENDS not in value
    return cast("Mapping[str, Any]", value) if whole else None


@dataclass(frozen=True, kw_only=True)
class Known:
    """All that a review is made of. `plan_command`: applies what was reviewed; empty without a saved plan."""

    stack: str
    preview: Preview
    fleet: Fleet
    was: Was
    running: Running | None
    plan_command: str = ""
    origin: Origin = field(default_factory=Origin)


def make_review(known: Known) -> Review:
    """The whole review. It asks nobody and reads no clock: the same inputs always give the same review."""
    preview, fleet, was, running = known.preview, known.fleet, known.was, known.running
    plan = fleet.plan
    offers = [offered(cluster) for cluster in plan.clusters] if plan else []
    changes = Changes(preview, plan, was, running, offers)
    found_pools = pools(
        offers,
        PoolContext(was=was, running=running, actions=changes.pool_actions(), maps=_maps(offers, running)),
    )
    told, blast = changes.told(), changes.blast()
    found = findings(preview, fleet.proof, fleet.invalid, plan.warnings if plan else ())
    ran = _engine(preview)
    money = cost(plan, was, running) if plan else _NO_COST
    copies = workloads(plan, fleet.proof, was.proof, running) if plan and fleet.proof else ()
    run = versions(plan, was, preview.started.date()) if plan else ()
    shared = sharing(fleet.settings, plan) if fleet.settings and plan else ()
    reached = exposure(plan, _secret_keys(preview)) if plan else ()
    review = Review(
        stack=known.stack,
        owner=plan.owner if plan else "",
        environment=plan.environment if plan else "",
        previewed=preview.started,
        against=was.source,
        plan=known.plan_command,
        origin=known.origin,
        verdict=judged.verdict(
            [
                *judged.engine_reasons(ran, found),
                *judged.change_reasons(told, blast, clusters=len(plan.clusters) if plan else 0),
                *judged.fleet_reasons(copies, run, shared, reached),
                *judged.cost_reasons(money, _bought(plan, money)),
            ]
        ),
        totals=_totals(found_pools, copies, plan, preview),
        changes=told,
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


def _secret_keys(preview: Preview) -> tuple[str, ...]:
    return tuple(sorted(key for key, value in preview.config.items() if value == MASK))


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
