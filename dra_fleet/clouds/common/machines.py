"""The machine behind a pool, found in the catalogue or described in the stack file, and its GPUs' sharing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from dra_fleet import drivers
from dra_fleet.findings.errors import under
from dra_fleet.hardware.models import OWN, Machine
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.plan import PoolPlan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    if wanted.gpu is not None and wanted.gpu not in models:
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


def is_divided(pool: PoolPlan) -> bool:
    """Whether a pool's devices are divided before a driver publishes them."""
    return any(driver.is_divided(pool.machine, pool.sharing) for driver in drivers.known())


def labels_of(machine: Machine, wanted: Sharing, *, by_operator: bool = False) -> dict[str, str]:
    """The labels that a pool's nodes need for the drivers, and for operators that ready them."""
    labels: dict[str, str] = {}
    for driver in drivers.known():
        labels |= driver.pool_labels(machine, wanted, by_operator=by_operator)
    return labels


def check_labels(
    at: tuple[str, ...],
    given: Mapping[str, str],
    ours: Mapping[str, str],
    reserved: tuple[str, ...],
    findings: Findings,
    *,
    owner: str,
    refuser: str,
) -> None:
    """Refuse labels of a pool that this program sets itself, or that the cloud keeps to itself.

    Args:
        at: where the pool stands in the stack file.
        given: its labels there.
        ours: those that the program sets.
        reserved: how the cloud's own begin.
        findings: collects the problems.
        owner: whose those are.
        refuser: who refuses them.
    """
    for key, value in sorted(given.items()):
        if key in ours and ours[key] != value:
            what = (
                "must be true, or the DRA driver's plugin does not run on the pool's nodes"
                if any(key in driver.facts.plugin_labels for driver in drivers.known())
                else "is a label this program sets itself on every node of the pool"
            )
            findings.error(
                *at, "labels", key, what=what, got=value, allowed=ours[key], fix=f"remove {key} from labels"
            )
        elif key.startswith(reserved):
            findings.error(
                *at,
                "labels",
                key,
                what=f"has a prefix that belongs to {owner} or Kubernetes; {refuser} refuses it",
                got=key,
                fix="choose a prefix of your own",
            )


def planned(
    name: str,
    pool: CommonPoolSettings,
    machine: Machine,
    labels: Mapping[str, str],
    *,
    taints: Sequence[Taint] = (),
    gpu_driver: Literal["host", "operator"] = "host",
) -> PoolPlan:
    """The plan of a pool.

    Args:
        name: the pool's name.
        pool: its settings.
        machine: its machine.
        labels: those of its nodes.
        taints: those that this program or the cloud adds.
        gpu_driver: who installs the GPU driver.
    """
    return PoolPlan(
        name=name,
        machine=machine,
        min_nodes=pool.nodes.min,
        max_nodes=pool.nodes.max,
        labels=dict(sorted(labels.items())),
        taints=(*taints_of(pool), *taints),
        gpu_driver=gpu_driver,
        sharing=pool.sharing,
        isolation=isolation(machine, pool.sharing),
        devices=pool.devices,
    )


def taints_of(pool: CommonPoolSettings) -> tuple[Taint, ...]:
    """The taints that a pool is declared with."""
    return tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in pool.taints)


def _described(machine: InlineMachine) -> Machine:
    return Machine(
        name=f"{machine.gpus} x {machine.gpu}" if machine.gpu else f"{machine.cpus} CPUs",
        cloud=OWN,
        gpu=machine.gpu,
        gpus=machine.gpus,
        cpus=machine.cpus,
        memory_gib=machine.memory,
        source="the stack file",
        date=kubernetes_facts().date,
    )
