"""What is wrong with how a node pool of GKE gets its nodes: spot, reservations, queues, placement, slices.

Sources: https://cloud.google.com/kubernetes-engine/docs/concepts/dws and
https://github.com/GoogleCloudPlatform/cluster-toolkit, modules/compute/gke-node-pool (what it refuses).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from dra_fleet.clouds.gke.chips import chips_of

if TYPE_CHECKING:
    from dra_fleet.clouds.gke.pool_settings import GkePoolSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan

At = tuple[str, ...]
_COMPACT_WITH_FLEX = ("a3-ultragpu", "a4", "h4d")


def check_gke_capacity(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    """Spot, reservations, Dynamic Workload Scheduler and compact placement exclude each other in part."""
    kinds = {"spot": pool.spot, "flexStart": pool.flex_start, "queued": pool.queued}
    chosen = [key for key, on in kinds.items() if on]
    reservation = pool.reservation
    if chosen and reservation is not None and reservation.consume != "NO_RESERVATION":
        findings.error(
            *at,
            "reservation",
            "consume",
            what=f"cannot be combined with {', '.join(chosen)}",
            got=reservation.consume,
            allowed="NO_RESERVATION",
            fix=f"remove reservation, or {chosen[0]}",
        )
    if pool.spot and len(chosen) > 1:
        findings.error(
            *at,
            "spot",
            what=f"cannot be combined with {', '.join(chosen[1:])}",
            got="true",
            fix=f"remove spot, or {chosen[1]}",
        )
    if pool.flex_start:
        _check_flex_start(at, plan, pool, findings)
    if pool.queued and plan.min_nodes > 0:
        findings.error(
            *at,
            "nodes",
            "min",
            what="must be 0 with queued: nodes come with a request and go with it",
            got=str(plan.min_nodes),
            allowed="0",
            fix="set nodes: {min: 0, …}",
        )
    _check_compact(at, plan, pool, findings)
    _check_slice(at, plan, pool, findings)


def _check_flex_start(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    if pool.auto_repair:
        findings.error(
            *at,
            "autoRepair",
            what="must be false with flexStart: a repaired node would give its capacity back",
            got="true",
            allowed="false",
            fix="set autoRepair: false",
        )
    if plan.min_nodes == plan.max_nodes:
        findings.error(
            *at,
            "nodes",
            what="must not be a fixed number with flexStart: nodes come when there is room",
            got=str(plan.max_nodes),
            fix="let nodes.max be larger than nodes.min",
        )


def _check_compact(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    placement = pool.placement
    if placement is None or not placement.compact:
        return
    at = (*at, "placement", "compact")
    if pool.flex_start and not plan.machine.name.startswith(_COMPACT_WITH_FLEX):
        findings.error(
            *at,
            what=f"cannot be combined with flexStart on {plan.machine.name}",
            got="true",
            allowed="with a3-ultragpu, a4 and h4d machines",
            fix="remove placement, or flexStart",
        )
    if pool.queued and chips_of(plan.machine) is None:
        findings.error(
            *at, what="cannot be combined with queued", got="true", fix="remove placement, or queued"
        )
    if len(pool.zones) > 1:
        findings.error(
            *at,
            what="needs nodes in one zone",
            got=f"true with zones {', '.join(pool.zones)}",
            fix="name exactly one zone",
        )
    if pool.upgrade.strategy == "BLUE_GREEN":
        findings.error(
            *at,
            what="cannot be combined with upgrade strategy BLUE_GREEN",
            got="true",
            fix="set upgrade: {strategy: SURGE}",
        )


def _check_slice(at: At, plan: PoolPlan, pool: GkePoolSettings, findings: Findings) -> None:
    """A topology is that of one TPU slice, which is the whole pool and comes as a whole."""
    topology = None if pool.placement is None else pool.placement.topology
    if topology is None:
        return
    at = (*at, "placement", "topology")
    chips = chips_of(plan.machine)
    if chips is None:
        findings.error(
            *at,
            what=f"is that of a TPU slice, and {plan.machine.name} has no TPU",
            got=topology,
            fix="remove topology",
        )
        return
    nodes, rest = divmod(math.prod(int(part) for part in topology.split("x")), chips.count)
    if nodes == 1 and not rest:
        return
    if rest or plan.min_nodes != nodes or plan.max_nodes != nodes:
        exact = f"nodes: {{min: {nodes}, max: {nodes}}}"
        findings.error(
            *at,
            what=f"makes the pool one slice of whole nodes with {chips.count} chips each, "
            "which come together",
            got=f"{topology} with nodes: {{min: {plan.min_nodes}, max: {plan.max_nodes}}}",
            allowed=f"a topology of {plan.max_nodes * chips.count} chips" if rest else exact,
            fix="change topology or nodes" if rest else f"set {exact}",
        )
