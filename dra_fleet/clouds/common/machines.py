"""Machines, labels and names of node pools on any cloud."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import under
from dra_fleet.drivers.divided_devices import known_whole_taken
from dra_fleet.kubernetes.cel import CelUnsupported
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.classes import CelClass
from dra_fleet.model.hardware import DESCRIBED, OWN, Machine
from dra_fleet.model.plan import PoolPlan
from dra_fleet.model.settings import ExclusiveSharing
from dra_fleet.model.specs import ADVERTISER

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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


class ReservedLabels(Struct, frozen=True, kw_only=True):
    """The labels that a cloud keeps to itself.

    Attributes:
        owner: What people call it.
        refuser: Who refuses them.
        prefixes: How they begin.
        checked: Further ones, which the cloud's own checks check.
        set_by: By key the setting of a pool that has this program set one.
        why: By key what a label of this program's is for, to begin a sentence with.
    """

    owner: str
    refuser: str
    prefixes: tuple[str, ...]
    checked: frozenset[str] = frozenset()
    set_by: Mapping[str, str] = field(default_factory=dict[str, str])
    why: Mapping[str, str] = field(default_factory=dict[str, str])


def check_labels(
    at: Place,
    pool: CreatedPoolSettings,
    own: Mapping[str, str],
    findings: Findings,
    *,
    machine: Machine,
    reserved: ReservedLabels,
    operated: bool = False,
) -> None:
    """Reject labels of a pool that dra-fleet sets, that the cloud reserves, or that mislead.

    Args:
        at: the pool's path in the stack file.
        pool: its settings.
        own: labels that the program sets.
        findings: collects the problems.
        machine: its machine.
        reserved: those that the cloud keeps to itself.
        operated: whether an operator readies the cluster's nodes.
    """
    for key, value in sorted(pool.labels.items()):
        if key in reserved.checked or own.get(key) == value:
            continue
        reported: Place = (*at, "labels", key)
        setting, fix = reserved.set_by.get(key), f"remove {key} from labels"
        if key in own:
            what = reserved.why.get(key) or _what_for(key)
            findings.error(*reported, what=what, got=value, allowed=own[key], fix=fix)
        elif setting is not None:
            what = f"is a label that this program sets where the pool says {setting}"
            findings.error(*reported, what=what, got=value, fix=f"{fix}, and set {setting}")
        elif key.startswith(reserved.prefixes):
            what = (
                f"has a prefix that belongs to {reserved.owner} or Kubernetes; {reserved.refuser} refuses it"
            )
            findings.error(*reported, what=what, got=key, fix="choose a prefix of your own")
        elif what := _misleads(key, value, machine, pool.advertise, operated=operated):
            findings.error(*reported, what=what, got=value, fix=fix)


def _what_for(key: str) -> str:
    if any(key in driver.facts.plugin_labels for driver in drivers.known()):
        return "must be true, or the DRA driver's plugin does not run on the pool's nodes"
    return "is a label this program sets itself on every node of the pool"


def _misleads(key: str, value: str, machine: Machine, advertise: Advertiser | None, *, operated: bool) -> str:
    """Return how a label misleads software that reads or writes it; empty if it does not.

    The GPU Operator deletes its labels:
    https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/state_manager.go
    """
    for driver in drivers.known():
        operator = driver.resources.operator if operated else None
        leads = driver.facts.plugin_labels.get(key) == value
        if leads and not driver.serves(machine):
            return f"has driver {driver.name} come to nodes without devices for it: {machine.name} has none"
        if operator is None:
            continue
        if leads and advertise in {"dra", "managed"}:
            return (
                f"has {operator.title} forget that its device plugin shall leave this pool to DRA: it takes "
                "nodes for ones with devices before it has found any, and both give them out"
            )
        if operator.finds.search(key):
            return f"is written by {operator.title}'s discovery, which puts what it finds in its place"
    return ""


def find_machine(
    at: tuple[str, ...],
    requested: str | InlineMachine,
    known: Mapping[str, Machine],
    describe: str,
    *,
    findings: Findings,
) -> Machine | None:
    """Return the machine, or None after reporting why it is rejected.

    Args:
        at: the pool's path in the stack file.
        requested: a name, or a description.
        known: the machines that may be named here.
        describe: how to describe an unknown machine.
        findings: collects the problems.
    """
    if isinstance(requested, str):
        machine = known.get(requested)
        if machine is None:
            others = [cloud.name for cloud in clouds.known() if requested in cloud.machines]
            findings.unknown(
                *at,
                "machine",
                what=f"is a machine of cloud {others[0]}" if others else "is not a machine of the catalogue",
                got=requested,
                known=list(known),
                fix="" if others else describe,
            )
        return machine
    models = drivers.accelerators()
    if requested.gpu is not None and requested.gpu not in models:
        findings.unknown(
            *at,
            "machine",
            "gpu",
            what="is not a GPU model of the catalogue",
            got=requested.gpu,
            known=list(models),
        )
        return None
    return _described(requested)


def check_devices(
    at: tuple[str, ...], machine: Machine, pool: CommonPoolSettings, findings: Findings
) -> None:
    """Reject a sharing strategy or an advertiser that the machine's devices do not support.

    Args:
        at: the pool's path in the stack file.
        machine: the pool's machine.
        pool: its settings.
        findings: collects the problems.
    """
    _check_sharing(at, machine, pool.sharing, findings)
    if pool.advertise is not None:
        _check_advertiser(at, machine, pool, pool.advertise, findings)


def _check_sharing(at: tuple[str, ...], machine: Machine, requested: Sharing, findings: Findings) -> None:
    """Refuse a strategy that the machine's devices cannot follow; whole devices are had of all."""
    for driver in drivers.known():
        if not isinstance(requested, driver.strategies()):
            continue
        if driver.serves(machine):
            findings.errors += driver.check_sharing(machine, requested, under(*at, "sharing"))
        else:
            findings.error(
                *at,
                "sharing",
                what=f"shares GPUs that {machine.name} does not have",
                got=requested.strategy,
                fix="remove sharing, or choose a machine with GPUs",
            )


def _check_advertiser(
    at: tuple[str, ...], machine: Machine, pool: CommonPoolSettings, advertise: Advertiser, findings: Findings
) -> None:
    serving = drivers.in_place_of_plugins(machine)
    if not serving:
        findings.error(
            *at,
            "advertise",
            what=f"is about devices that {machine.name} does not have, or that no device plugin advertises",
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
            what="is for devices of a DRA driver, and a device plugin advertises those of this pool"
            if advertise != "managed"
            else "is for devices of a driver of the stack, and the cloud manages that of this pool",
            got=pool.sharing.strategy,
            allowed=ExclusiveSharing().strategy,
            fix="remove sharing, or set advertise: dra",
        )


def isolation(machine: Machine, requested: Sharing) -> str:
    """Return the isolation between the devices of a pool; empty if no driver reports it."""
    return next(filter(None, (driver.isolation(machine, requested) for driver in drivers.known())), "")


def is_divided(pool: PoolPlan) -> bool:
    """Return True if a pool's devices are divided before a driver publishes them."""
    return any(driver.is_divided(pool.machine, pool.sharing) for driver in drivers.known())


def labels_of(
    machine: Machine,
    pool: CommonPoolSettings,
    *,
    by_operator: bool = False,
    operated: bool = False,
    is_found: bool = False,
) -> dict[str, str]:
    """Return the node labels that the drivers and operators need.

    If a label reports devices before the operator finds any, the operator deletes the label that disables
    only its device plugin. It keeps the label that disables all of its pods:
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
    is_managed = pool.advertise == "managed"
    for driver in drivers.known() if not is_managed else ():
        labels |= driver.pool_labels(machine, pool.sharing, by_operator=by_operator)
    is_kept_off = operated and (pool.advertise == "dra" or is_managed)
    for driver in drivers.in_place_of_plugins(machine) if is_kept_off else ():
        operator = driver.resources.operator
        # It makes the partitions of nodes, so that it is not reported to leave those alone.
        if operator is not None and not (is_found and driver.is_divided(machine, pool.sharing)):
            labels = {key: labels[key] for key in labels if is_found or key not in driver.facts.plugin_labels}
            labels[operator.device_plugin_kept_off[0 if is_found else -1]] = "false"
    return labels


def advertiser_labels(machine: Machine, pool: CommonPoolSettings) -> dict[str, str]:
    """Return the label with the advertiser of a pool's devices; empty if the pool does not set one."""
    reported = pool.advertise is not None and drivers.in_place_of_plugins(machine)
    return {ADVERTISER: str(pool.advertise)} if reported else {}


def identity_of(plan: PoolPlan) -> tuple[str, ...]:
    """Return the part of a pool's name that changes with the component that advertises its devices.

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
    """Return the plan of a pool.

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
    """Return the taints that a pool declares."""
    return tuple(Taint(key=taint.key, value=taint.value, effect=taint.effect) for taint in pool.taints)


def _described(machine: InlineMachine) -> Machine:
    return Machine(
        name=f"{machine.gpus} x {machine.gpu}" if machine.gpu else f"{machine.cpus} CPUs",
        cloud=OWN,
        gpu=machine.gpu,
        gpus=machine.gpus,
        cpus=machine.cpus,
        memory_gib=machine.memory,
        source=DESCRIBED,
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
    reported = {
        name: requested for name, requested in fleet.classes.items() if isinstance(requested, CelClass)
    }
    for name, requested in sorted(reported.items()):
        if _takes_whole(tuple(requested.cel), dividable):
            findings.error(
                "classes",
                name,
                "cel",
                what=f"also matches whole GPUs, on cluster {cluster} with its MIG partitions",
                got=" && ".join(requested.cel),
                fix=f"add && {dividable.is_partition}, or 'gpu' if whole GPUs are meant",
            )


def _takes_whole(expressions: tuple[str, ...], dividable: Dividable) -> bool:
    try:
        return bool(known_whole_taken(expressions, (dividable,), divided=True))
    except CelUnsupported:
        return False  # the proof reports that it is unknown


def check_region(at: tuple[str, ...], region: str, zones: Iterable[str], findings: Findings) -> None:
    """Check that the zones of a cluster's subnets, whose names begin with their region, are in its region."""
    others = [zone for zone in zones if not zone.startswith(region)]
    if others:
        findings.error(
            *at,
            "region",
            what=f"is not the region of {', '.join(others)}, where the cluster has subnets",
            got=region,
            fix="write a region, and zones of it",
        )
