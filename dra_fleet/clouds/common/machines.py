"""The machine behind a pool, found in the catalogue or described in the stack file, and its GPUs' sharing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.findings.errors import under
from dra_fleet.hardware.models import OWN, Machine
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import Taint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.findings.refusals import Findings
    from dra_fleet.settings.pools import CommonPoolSettings, InlineMachine
    from dra_fleet.settings.sharing import Sharing


def find_machine(
    at: tuple[str, ...],
    wanted: str | InlineMachine,
    known: Mapping[str, Machine],
    describe: str,
    *,
    findings: Findings,
) -> Machine | None:
    """The machine, or None after what is wrong was told.

    Args:
        at: where the pool stands in the stack file.
        wanted: a name, or a description.
        known: the machines that may be named here.
        describe: how to describe one that is not known.
        findings: collects the problems.
    """
    if isinstance(wanted, str):
        machine = known.get(wanted)
        if machine is None:
            findings.unknown(
                *at,
                "machine",
                what="is no machine of the catalogue",
                got=wanted,
                known=list(known),
                fix=describe,
            )
        return machine
    models = drivers.accelerators()
    if wanted.gpu not in models:
        findings.unknown(
            *at,
            "machine",
            "gpu",
            what="is no GPU model of the catalogue",
            got=wanted.gpu,
            known=list(models),
        )
        return None
    return _described(wanted)


def check_sharing(at: tuple[str, ...], machine: Machine, wanted: Sharing, findings: Findings) -> None:
    """Refuse a strategy that the machine's devices cannot follow; whole devices are had of all.

    Args:
        at: where the pool stands in the stack file.
        machine: the pool's machine.
        wanted: the strategy.
        findings: collects the problems.
    """
    for driver in drivers.known():
        if not isinstance(wanted, driver.strategies()):
            continue
        if driver.serves(machine):
            findings.errors += driver.check_sharing(machine, wanted, under(*at, "sharing"))
        else:
            findings.error(
                *at,
                "sharing",
                what=f"shares GPUs that {machine.name} does not have",
                got=wanted.strategy,
                fix="remove sharing, or choose a machine with GPUs",
            )


def isolation(machine: Machine, wanted: Sharing) -> str:
    """What isolates the devices of a pool from each other; empty where no driver tells."""
    return next(filter(None, (driver.isolation(machine, wanted) for driver in drivers.known())), "")


def taints_of(pool: CommonPoolSettings) -> tuple[Taint, ...]:
    """The taints that a pool is declared with."""
    return tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in pool.taints)


def _described(machine: InlineMachine) -> Machine:
    return Machine(
        name=f"{machine.gpus} x {machine.gpu}",
        cloud=OWN,
        gpu=machine.gpu,
        gpus=machine.gpus,
        cpus=machine.cpus,
        memory_gib=machine.memory,
        source="the stack file",
        date=kubernetes_facts().date,
    )
