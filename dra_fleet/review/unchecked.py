"""What a review did not look at, why, and how one can."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import clouds
from dra_fleet.review.model import Unchecked
from dra_fleet.review.words import short_list

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.review.events import Preview
    from dra_fleet.review.model import Pool
    from dra_fleet.review.running import Running
    from dra_fleet.review.was import Was


def unchecked(
    preview: Preview, plan: FleetPlan | None, was: Was, running: Running | None, pools: Sequence[Pool]
) -> tuple[Unchecked, ...]:
    """Everything that a reader may think was looked at and was not."""
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
            what="what the engine would change",
            why="the preview stopped before it had looked at every resource",
            how="correct what the findings say and review again",
        )
    if running is None:
        yield Unchecked(
            what="which pods run and hold devices now",
            why="the clusters were not asked",
            how=f"dra-fleet review {stack} --running clusters",
        )
    if was.plan is None:
        yield Unchecked(
            what="the matrix, verdicts and settings as they were",
            why=was.problem or "the review was compared with no other stack file",
            how=f"dra-fleet review {stack} --against main",
        )
    if running is None or any(cluster.others is None for cluster in running.clusters.values()):
        yield Unchecked(
            what="pods of others that hold devices of these pools",
            why="only workloads that the stack declares are known by name",
            how="kubectl get resourceclaims --all-namespaces",
        )
    yield Unchecked(
        what="what the nodes really publish",
        why="devices are predicted from the catalogue and the drivers' values",
        how="kubectl get nodes,resourceslices -o json > nodes.json; "
        f"dra-fleet prove {stack} --slices nodes.json",
    )
    yield from _of_pools(pools)
    yield Unchecked(
        what="changes that somebody made by hand",
        why="a preview compares with the state, not with the clouds",
        how=f"pulumi refresh --preview-only --stack {stack}",
    )
    used = {cluster.cloud for cluster in plan.clusters} if plan else set[str]()
    managed = sorted(name for name in used if clouds.named(name).makes_nodes)
    if managed:
        yield Unchecked(
            what="quota and capacity for the machines",
            why="only the clouds know, and only for the moment",
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
