"""Claims that are named for partitions and would get whole devices."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.drivers.divided_devices import MINOR, names_partitions
from dra_fleet.kubernetes.cel import CelDevice, environment

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeGroup
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.answer.messages import ProofFindings
    from dra_fleet.proof.demand.asks import ClaimAsk
    from dra_fleet.proof.search.placements import Placements


def report_whole_devices(
    cluster: ClusterPlan,
    asks: Mapping[str, ClaimAsk],
    groups: Sequence[NodeGroup],
    placements: Placements,
    findings: ProofFindings,
) -> None:
    """Report claims whose name, or whose class's name, says partitions while their devices are whole.

    In production each is an error, elsewhere a warning.

    Args:
        cluster: the plan of a cluster.
        asks: its claims by name, as far as their selectors compile.
        groups: its nodes.
        placements: what matches on its nodes.
        findings: collects the messages.
    """
    for name, claim in asks.items():
        named = [item for item in (name, *(ask.class_name for ask in claim.asks)) if names_partitions(item)]
        counts = _whole_devices(claim, groups, placements) if named else {}
        if not counts:
            continue
        pools = ", ".join(f"{count} per node of pool {pool}" for pool, count in counts.items())
        what = f"{named[0]} is named for partitions, but selects whole devices: {pools}"
        fix = (
            "give the pool sharing: {strategy: mig, layout: …}, because mig.strategy of an operator divides "
            "nothing, and the class type: mig"
        )
        report = findings.refuse if findings.strict else findings.warn
        report("claims", name, what=f"on cluster {cluster.name}: {what}", fix=fix)


def _whole_devices(claim: ClaimAsk, groups: Sequence[NodeGroup], placements: Placements) -> dict[str, int]:
    counts: dict[str, int] = {}
    for group in groups:
        found = placements.suitability(claim, group.shape)
        whole = sum(device.key in found.maybe and _is_whole(device) for device in group.shape.devices)
        if whole:
            counts[group.pool] = whole
    return counts


@lru_cache(maxsize=4096)
def _is_whole(device: NodeDevice) -> bool:
    driver = drivers.publishing(device.driver)
    dividable = driver.resources.dividable if driver is not None else None
    if dividable is None:
        return False
    program = environment(MINOR).compile(dividable.is_partition)
    return program.evaluate(CelDevice.of(device.seen, device.driver)).outcome == "false"
