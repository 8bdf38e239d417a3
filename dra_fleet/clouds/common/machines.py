"""Machines, labels and names of node pools on any cloud."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from dra_fleet import drivers
from dra_fleet.core.findings.errors import under
from dra_fleet.drivers.divided_devices import known_whole_taken
from dra_fleet.kubernetes.cel import CelUnsupported
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.classes import CelClass
from dra_fleet.model.hardware import OWN, Machine
from dra_fleet.model.plan import PoolPlan
from dra_fleet.model.settings import ExclusiveSharing
from dra_fleet.model.specs import ADVERTISER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.settings import CommonPoolSettings, CreatedPoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers import Driver
    from dra_fleet.drivers.resources import Dividable
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.settings import Advertiser, InlineMachine, Sharing

    Place = tuple[str, ...]


_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"

HASH_LENGTH = 6


def short_hash(text: str) -> str:
    """Six letters and digits that follow from a text."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    digits = ""
    for _ in range(HASH_LENGTH):
        number, digit = divmod(number, len(_DIGITS))
        digits += _DIGITS[digit]
    return digits


@dataclass(frozen=True, kw_only=True)
class ReservedLabels:
    """The labels that a cloud keeps to itself.

    Attributes:
        owner: What people call it.
        refuser: Who refuses them.
        prefixes: How they begin.
        judged: Further ones, which the cloud's own checks judge.
        set_by: By key the setting of a pool that has this program set one.
        why: By key what a label of this program's is for, to begin a sentence with.
    """

    owner: str
    refuser: str
    prefixes: tuple[str, ...]
    judged: frozenset[str] = frozenset()
    set_by: Mapping[str, str] = field(default_factory=dict[str, str])
    why: Mapping[str, str] = field(default_factory=dict[str, str])


def check_labels(
    at: Place,
    pool: CreatedPoolSettings,
    ours: Mapping[str, str],
    findings: Findings,
    *,
    machine: Machine,
    reserved: ReservedLabels,
    operated: bool = False,
) -> None:
    """Refuse labels of a pool that this program sets itself, that the cloud keeps to itself, or that mislead.

    Args:
        at: where the pool stands in the stack file.
        pool: its settings.
        ours: the labels that the program sets.
        findings: collects the problems.
        machine: its machine.
        reserved: those that the cloud keeps to itself.
        operated: whether an operator readies the cluster's nodes.
    """
    for key, value in sorted(pool.labels.items()):
        if key in reserved.judged or ours.get(key) == value:
            continue
        told: Place = (*at, "labels", key)
        setting, fix = reserved.set_by.get(key), f"remove {key} from labels"
        if key in ours:
            what = reserved.why.get(key) or _what_for(key)
            findings.error(*told, what=what, got=value, allowed=ours[key], fix=fix)
        elif setting is not None:
            what = f"is a label that this program sets where the pool says {setting}"
            findings.error(*told, what=what, got=value, fix=f"{fix}, and set {setting}")
        elif key.startswith(reserved.prefixes):
            what = (
                f"has a prefix that belongs to {reserved.owner} or Kubernetes; {reserved.refuser} refuses it"
            )
            findings.error(*told, what=what, got=key, fix="choose a prefix of your own")
        elif what := _misleads(key, value, machine, pool.advertise, operated=operated):
            findings.error(*told, what=what, got=value, fix=fix)


def _what_for(key: str) -> str:
    if any(key in driver.facts.plugin_labels for driver in drivers.known()):
        return "must be true, or the DRA driver's plugin does not run on the pool's nodes"
    return "is a label this program sets itself on every node of the pool"


def _misleads(key: str, value: str, machine: Machine, advertise: Advertiser | None, *, operated: bool) -> str:
    """What a label makes software do that goes by it, or writes it itself; empty for nothing wrong.

    An operator forgets: https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/state_manager.go
    """
    for driver in drivers.known():
        operator = driver.resources.operator if operated else None
        leads = driver.facts.plugin_labels.get(key) == value
        if leads and not driver.serves(machine):
            return f"has driver {driver.name} come to nodes without devices for it: {machine.name} has none"
        if operator is None:
            continue
        if leads and advertise == "dra":
            return (
                f"has {operator.title} forget that its device plugin shall leave this pool to DRA: it takes "
                "nodes for ones with devices before it has found any, and both give them out"
            )
        if operator.finds.search(key):
            return f"is written by {operator.title}'s discovery, which puts what it finds in its place"
    return ""


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


def check_devices(
    at: tuple[str, ...], machine: Machine, pool: CommonPoolSettings, findings: Findings
) -> None:
    """Refuse what cannot be had of the machine's devices: a way to share them, or somebody to advertise them.

    Args:
        at: where the pool stands in the stack file.
        machine: the pool's machine.
        pool: its settings.
        findings: collects the problems.
    """
    _check_sharing(at, machine, pool.sharing, findings)
    if pool.advertise is not None:
        _check_advertiser(at, machine, pool, pool.advertise, findings)


def _check_sharing(at: tuple[str, ...], machine: Machine, wanted: Sharing, findings: Findings) -> None:
    """Refuse a strategy that the machine's devices cannot follow; whole devices are had of all."""
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


def _check_advertiser(
    at: tuple[str, ...],
    machine: Machine,
    pool: CommonPoolSettings,
    advertise: Advertiser,
    findings: Findings,
) -> None:
    serving = drivers.in_place_of_plugins(machine)
    if not serving:
        findings.error(
            *at,
            "advertise",
            what=f"is about devices that {machine.name} does not have, or that no device plugin gives out",
            got=advertise,
            fix="remove advertise",
        )
    elif advertise == "compute-domain-only" and not any(driver.controller_switch for driver in serving):
        findings.error(
            *at,
            "advertise",
            what=f"is for drivers with ComputeDomains, which that of {machine.name} has not",
            got=advertise,
            allowed="dra, device-plugin",
            fix="choose one of these",
        )
    elif (
        advertise != "dra"
        and pool.sharing.strategy != ExclusiveSharing().strategy
        and all(driver.replicas(pool.sharing) == 1 for driver in serving)
    ):
        findings.error(
            *at,
            "sharing",
            what="is how a DRA driver's devices are shared, and a device plugin gives out those of this pool",
            got=pool.sharing.strategy,
            allowed=ExclusiveSharing().strategy,
            fix="remove sharing, or set advertise: dra",
        )


def isolation(machine: Machine, wanted: Sharing) -> str:
    """What isolates the devices of a pool from each other; empty where no driver tells."""
    return next(filter(None, (driver.isolation(machine, wanted) for driver in drivers.known())), "")


def is_divided(pool: PoolPlan) -> bool:
    """Whether a pool's devices are divided before a driver publishes them."""
    return any(driver.is_divided(pool.machine, pool.sharing) for driver in drivers.known())


def labels_of(
    machine: Machine,
    pool: CommonPoolSettings,
    *,
    by_operator: bool = False,
    operated: bool = False,
    is_found: bool = False,
) -> dict[str, str]:
    """The labels that a pool's nodes need for the drivers, and for operators that ready them.

    An operator whose device plugin shall leave a pool alone forgets what labels tell it of nodes that
    are said to have devices before it finds any itself, but not that all of its pods shall leave them alone:
    https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/state_manager.go.

    Args:
        machine: the pool's.
        pool: its settings.
        by_operator: whether the operator installs the devices' driver.
        operated: whether the operator runs in the cluster.
        is_found: whether the nodes' image says by itself that there are devices.
    """
    labels = advertiser_labels(machine, pool)
    if pool.advertise == "device-plugin":
        for driver in drivers.known():
            labels |= driver.plugin_labels(pool.sharing)
        return labels
    for driver in drivers.known():
        labels |= driver.pool_labels(machine, pool.sharing, by_operator=by_operator)
    for driver in drivers.in_place_of_plugins(machine) if pool.advertise == "dra" and operated else ():
        operator = driver.resources.operator
        # It makes the partitions of nodes, so that it is not told to leave those alone.
        if operator is not None and not (is_found and driver.is_divided(machine, pool.sharing)):
            labels = {key: labels[key] for key in labels if is_found or key not in driver.facts.plugin_labels}
            labels[operator.device_plugin_kept_off[0 if is_found else -1]] = "false"
    return labels


def advertiser_labels(machine: Machine, pool: CommonPoolSettings) -> dict[str, str]:
    """The label that says who advertises a pool's devices, where its settings do."""
    told = pool.advertise is not None and drivers.in_place_of_plugins(machine)
    return {ADVERTISER: str(pool.advertise)} if told else {}


def identity_of(plan: PoolPlan) -> tuple[str, ...]:
    """What in a pool's name tells who advertises its devices: pods hold those of the nodes that they are on.

    Nodes keep their advertiser, so that others come in their place where it changes. Nothing where it is DRA.
    """
    return () if plan.advertise == "dra" else (plan.advertise,)


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
        devices=tuple(map(drivers.as_published, pool.devices)),
        advertise=pool.advertise or "dra",
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
