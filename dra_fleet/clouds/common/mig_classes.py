"""Classes of a stack on a cluster whose GPUs are partitioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.drivers.divided_devices import known_whole_taken
from dra_fleet.kubernetes.cel import CelUnsupported
from dra_fleet.model.classes import CelClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.drivers.resources import Dividable
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan


def check_mig_classes(
    cluster: str, fleet: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Refuse classes that match whole GPUs as well, on a cluster with partitions."""
    for driver in drivers.known():
        if any(driver.is_divided(pool.machine, pool.sharing) for pool in pools):
            _check_classes(cluster, fleet, driver, findings)


def _check_classes(cluster: str, fleet: FleetSettings, driver: Driver, findings: Findings) -> None:
    dividable = driver.resources.dividable
    if dividable is None:
        return
    told = {name: wanted for name, wanted in fleet.classes.items() if isinstance(wanted, CelClass)}
    for name, wanted in sorted(told.items()):
        if _takes_whole(tuple(wanted.cel), dividable):
            findings.error(
                "classes",
                name,
                "cel",
                what=f"also matches whole GPUs, on cluster {cluster} with its MIG partitions",
                got=" && ".join(wanted.cel),
                fix=f"add && {dividable.is_partition}, or 'gpu' if whole GPUs are meant",
            )


def _takes_whole(expressions: tuple[str, ...], dividable: Dividable) -> bool:
    try:
        return bool(known_whole_taken(expressions, (dividable,), divided=True))
    except CelUnsupported:
        return False  # the proof tells that it is unknown
