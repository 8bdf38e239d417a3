"""Classes of a stack on a cluster whose GPUs are partitioned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.settings.classes import CelClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers import Driver
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.settings.fleet import FleetSettings

_MIG_WORDS = (".type", "['type']", ".profile", ".parentUUID")
"""What tells a partition from a whole GPU in an expression."""


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
        text = " && ".join(wanted.cel)
        if driver.facts.driver in text and not any(word in text for word in _MIG_WORDS):
            findings.error(
                "classes",
                name,
                "cel",
                what=f"also matches whole GPUs, on cluster {cluster} with its MIG partitions",
                got=text,
                fix=f"add && {dividable.is_partition}, or 'gpu' if whole GPUs are meant",
            )
