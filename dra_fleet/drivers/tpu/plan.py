"""TPU chips of a node go together: the driver prepares all of them for one claim, or fails.

Source: https://github.com/kubernetes-sigs/dra-driver-google-tpu, `ValidateTpuRequest`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.tpu import DRIVER
from dra_fleet.drivers.tpu.chips import chips_of
from dra_fleet.settings.claims import FirstAvailableRequest
from dra_fleet.settings.classes import CelClass

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import ComputeDomainPlan, PoolPlan, ReleasePlan
    from dra_fleet.settings.claims import ClaimSettings, CommonRequestSettings
    from dra_fleet.settings.fleet import FleetSettings
    from dra_fleet.settings.workloads import WorkloadSettings


def check_cluster(
    cluster: str, settings: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Refuse claims that would take a part of a node's chips. Claims of workloads on this cluster count."""
    chips = sorted({found.chips for pool in pools if (found := chips_of(pool.machine)) is not None})
    if not chips:
        return
    used = {workload.claim for workload in settings.workloads.values() if workload.cluster == cluster}
    for name in sorted(used & settings.claims.keys()):
        for path, request in _requests(settings.claims[name]):
            if not _asks_for_tpus(request.class_, settings) or request.allocation_mode == "All":
                continue
            count = request.count or 1
            if chips != [count]:
                findings.error(
                    "claims",
                    name,
                    *path,
                    "count",
                    what=f"is a part of a node's TPU chips on cluster {cluster}; the driver prepares all of "
                    "a node's chips for one claim, or none",
                    got=str(count),
                    allowed="allocationMode: All",
                    fix="write allocationMode: All instead of count",
                )


def check_fleet(settings: FleetSettings, findings: Findings) -> None:
    """Nothing: the driver has no settings of its own."""
    del settings, findings


def plan_domains(
    cluster: str,
    settings: FleetSettings,
    pools: Sequence[PoolPlan],
    releases: Sequence[ReleasePlan],
    findings: Findings,
) -> tuple[ComputeDomainPlan, ...]:
    """None: the driver has no objects of its own."""
    del cluster, settings, pools, releases, findings
    return ()


def node_labels(workload: WorkloadSettings, pools: Sequence[PoolPlan]) -> Mapping[str, str]:
    """None: the scheduler goes by devices alone."""
    del workload, pools
    return {}


def shared_by(workload: WorkloadSettings, settings: FleetSettings) -> str:
    """Nothing: a claim has a node's chips alone."""
    del workload, settings
    return ""


def _requests(claim: ClaimSettings) -> Iterator[tuple[tuple[object, ...], CommonRequestSettings]]:
    for name, request in sorted(claim.requests.items()):
        if isinstance(request, FirstAvailableRequest):
            for index, item in enumerate(request.first_available):
                yield ("requests", name, "firstAvailable", index), item
        else:
            yield ("requests", name), request


def _asks_for_tpus(name: str, settings: FleetSettings) -> bool:
    facts = DRIVER.facts
    wanted = settings.classes.get(name)
    if wanted is None:
        return name in facts.owned_classes
    if isinstance(wanted, CelClass):
        return any(facts.driver in expression for expression in wanted.cel)
    return wanted.driver == facts.name
