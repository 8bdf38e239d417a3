"""Node pools of GKE: the machine, the labels and taints of its nodes, and what is wrong with a pool alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.clouds.common.labels import ReservedLabels, check_labels
from dra_fleet.clouds.common.machines import (
    advertiser_labels,
    check_devices,
    find_machine,
    identity_of,
    planned,
)
from dra_fleet.clouds.gke import CLOUD
from dra_fleet.clouds.gke.chips import chips_of, in_slice
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.labels import (
    COMPUTE_CLASS,
    DRANET,
    GPU_DRA,
    GPU_PRESENT,
    NO_PLUGIN,
    QUEUED,
    TPU_DRA,
    TRIPLE,
)
from dra_fleet.clouds.gke.names import node_pool_name
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.labels import POOL

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clouds.gke.pool_settings import GkePoolSettings
    from dra_fleet.clouds.gke.settings import GkeClusterSettings
    from dra_fleet.findings.refusals import Findings
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import PoolPlan

AUTOMATIC = frozenset({"nvidia.com/gpu", "google.com/tpu", "kubernetes.io/arch"})
"""Keys of the taints that GKE puts on nodes itself; declaring them again would show as drift."""
NETWORK_CARDS = "dranet"
"""The driver of which GKE has a build of its own."""
_RESERVED = ReservedLabels(
    owner="GKE",
    refuser="Google",
    prefixes=("cloud.google.com/", "kubernetes.io/", "k8s.io/", "gke.io/"),
    set_by={
        DRANET: "dranet: true",
        QUEUED: "queued: true",
        **dict.fromkeys((NO_PLUGIN, GPU_DRA, TPU_DRA), "advertise: dra"),
    },
    why={
        NO_PLUGIN: "must be true, or GKE's device plugin advertises the GPUs that the DRA driver publishes",
        GPU_DRA: "must be true, or the autoscaler never adds a node of this pool for a claim",
        TPU_DRA: "must be true, or GKE's TPU device plugin advertises the chips that the driver publishes",
    },
)
_DESCRIBE = (
    "describe it in the stack file: machine: {machineType: g2-standard-8, accelerator: nvidia-l4, gpu: L4, "
    "gpus: 1, cpus: 8, memory: 32}"
)


def plan_gke_pool(
    at: tuple[str, ...], name: str, settings: GkeClusterSettings, findings: Findings
) -> PoolPlan | None:
    """The plan of a pool, or None after its machine was refused."""
    pool = settings.pools[name]
    known = CLOUD.machines
    machine = find_machine(at, pool.machine, known, _DESCRIBE, findings=findings)
    if machine is None:
        return None
    if not isinstance(pool.machine, str):
        described = pool.machine
        machine = machine.model_copy(
            update={
                "name": described.machine_type,
                "cloud": "gke",
                "accelerator": described.accelerator,
                "arch": described.arch,
            }
        )
    machine = in_slice(machine, None if pool.placement is None else pool.placement.topology)
    check_devices(at, machine, pool, findings)
    classes = compute_classes_of(name, settings)
    ours = _labels(name, pool, machine, settings, classes)
    check_labels(at, pool, ours, findings, machine=machine, reserved=_RESERVED)
    plan = planned(name, pool, machine, {**pool.labels, **ours}, taints=_taints(machine, classes))
    return replace(
        plan,
        driver_root=gke_facts().image(pool.image).driver_root if machine.gpus else None,
        managed_drivers=frozenset({NETWORK_CARDS} if pool.dranet else ()),
    )


def pool_name(plan: PoolPlan, pool: GkePoolSettings) -> str:
    """The pool's name in GKE. It changes with what GKE cannot change: a new pool replaces the old."""
    reservation, placement = pool.reservation, pool.placement
    return node_pool_name(
        plan.name,
        plan.machine.name,
        pool.image,
        str(pool.gpu_driver),
        str((pool.spot, pool.flex_start, pool.queued, pool.dranet)),
        pool.max_run_duration or "",
        "" if reservation is None else ",".join((reservation.consume, *reservation.names)),
        "" if placement is None else f"{placement.compact},{placement.policy},{placement.topology}",
        pool.gpu_partition_size or "",
        "" if pool.gpu_sharing is None else f"{pool.gpu_sharing.strategy},{pool.gpu_sharing.clients}",
        ",".join(pool.additional_networks),
        *identity_of(plan),
    )


def installer_of(plan: PoolPlan, pool: GkePoolSettings) -> str | None:
    """The driver installer of a pool by its name in the catalogue; None where this stack installs none."""
    if not plan.machine.gpus or pool.gpu_driver != "installer":
        return None
    return pool.driver_installer or fitting_installer(plan.machine, pool.image)


def fitting_installer(machine: Machine, image: str) -> str | None:
    """The installer made for a machine and a node image; None where there is none."""
    arch, fractional = machine.arch or "amd64", machine.gpu_fraction is not None
    return next(
        (
            entry.name
            for entry in gke_facts().installers
            if (entry.image, entry.arch, entry.fractional) == (image, arch, fractional)
        ),
        None,
    )


def allocates(machine: Machine, pool: GkePoolSettings, settings: GkeClusterSettings) -> bool:
    """Whether a DRA driver gives out what else the device plugin would: the stack's, or the cluster's own."""
    if pool.advertise in {"device-plugin", "compute-domain-only"}:
        return False
    return not settings.drivers or bool(allocating(machine, settings))


def allocating(machine: Machine, settings: GkeClusterSettings) -> list[str]:
    """The drivers of the stack that give out the devices of a machine instead of the device plugin."""
    return [driver.name for driver in drivers.in_place_of_plugins(machine) if driver.name in settings.drivers]


def dranet_classes_of(cluster: GkeClusterSettings) -> Mapping[str, str]:
    """The classes that GKE itself brings for network cards: where a pool has its own DRANET."""
    if not any(pool.dranet for pool in cluster.pools.values()):
        return {}
    return {item.name: item.cel for item in gke_facts().dranet_classes}


def compute_classes_of(pool: str, settings: GkeClusterSettings) -> list[str]:
    """The ComputeClasses that a pool is in."""
    return [name for name, item in sorted(settings.compute_classes.items()) if pool in item.priorities]


def _labels(
    name: str,
    pool: GkePoolSettings,
    machine: Machine,
    settings: GkeClusterSettings,
    classes: list[str],
) -> dict[str, str]:
    labels = {POOL: name, **advertiser_labels(machine, pool)}
    if machine.gpus and allocates(machine, pool, settings):
        labels |= dict.fromkeys(TRIPLE, "true")
    if chips_of(machine) and allocates(machine, pool, settings):
        labels[TPU_DRA] = "true"
    if machine.gpus and pool.advertise == "compute-domain-only":
        labels[GPU_PRESENT] = "true"
    if pool.dranet:
        labels[DRANET] = "true"
    if pool.queued:
        labels[QUEUED] = "true"
    labels |= dict.fromkeys([COMPUTE_CLASS] if classes else [], "".join(classes[:1]))
    return labels


def _taints(machine: Machine, classes: list[str]) -> list[Taint]:
    wanted = {
        "nvidia.com/gpu": "present" if machine.gpus else "",
        "google.com/tpu": "present" if chips_of(machine) else "",
        "kubernetes.io/arch": "arm64" if machine.arch == "arm64" else "",
        COMPUTE_CLASS: "".join(classes[:1]),
    }
    return [Taint(key=key, value=value, effect="NoSchedule") for key, value in wanted.items() if value]
