"""Pools of GKE: machines, labels, taints, names, chart values, and devices that its autoscaler predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.clouds.common.machines import (
    ReservedLabels,
    advertiser_labels,
    check_devices,
    check_labels,
    find_machine,
    identity_of,
    planned,
    short_hash,
)
from dra_fleet.clouds.gke import (
    CLOUD,
    COMPUTE_CLASS,
    DRANET,
    GPU_DRA,
    GPU_PRESENT,
    NO_PLUGIN,
    QUEUED,
    TPU_DRA,
    TRIPLE,
)
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.resources import chips_of, in_slice
from dra_fleet.drivers.common.placement import any_linux_node, away_from
from dra_fleet.drivers.common.values import merged, nested
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.nodes import NodeDevice
from dra_fleet.model.specs import POOL, PublishedDevice

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.gke.facts import GkeScaleFromZero
    from dra_fleet.clouds.gke.settings import GkeClusterSettings, GkePoolSettings
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, PoolPlan


LIMIT = 40
"""The longest name of a node pool or a cluster. Lower-case letters, digits and hyphens, a letter first."""

SYSTEM_POOL = "system"
"""The pool of the cluster's own pods, in GKE too."""

_REGIONAL_ZONES = 3
"""Number of zones of a regional cluster that names none."""


def node_pool_name(name: str, *identity: str) -> str:
    """Return a pool's name in GKE: what fits of `name`, then a hash of it and the immutable properties.

    With other properties the name differs, so that the new pool exists before the old one is deleted.
    """
    suffix = short_hash("\n".join((name, *identity)))
    stem = name if name[:1].isalpha() else f"p{name}"
    return f"{stem[: LIMIT - len(suffix) - 1].rstrip('-')}-{suffix}"


def region_of(location: str) -> str:
    """Return the region of a location: us-central1 for us-central1 and for us-central1-a."""
    parts = location.split("-")
    return "-".join(parts[:2])


def is_zone(location: str) -> bool:
    """Return True if a location is a zone."""
    return location.count("-") == 2  # noqa: PLR2004 - continent, region, zone


def zones_of(zones: Sequence[str], location: str) -> int:
    """Return the number of zones of a pool.

    Args:
        zones: those that it names.
        location: of its cluster.
    """
    return len(zones) or (1 if is_zone(location) else _REGIONAL_ZONES)


AUTOMATIC = frozenset({"nvidia.com/gpu", "google.com/tpu", "kubernetes.io/arch"})
"""Keys of the taints that GKE puts on nodes itself; declaring them again would show as drift."""
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
    """Return the plan of a pool, or None if its machine was rejected."""
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
    own = _labels(name, pool, machine, settings, classes)
    check_labels(at, pool, own, findings, machine=machine, reserved=_RESERVED)
    plan = planned(name, pool, machine, {**pool.labels, **own}, taints=_taints(machine, classes))
    return replace(plan, driver_root=gke_facts().image(pool.image).driver_root if machine.gpus else None)


def pool_name(plan: PoolPlan, pool: GkePoolSettings) -> str:
    """Return a pool name that changes with every immutable property, so that a new pool replaces the old."""
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
    """Return the catalogue name of a pool's driver installer; None if the stack installs none."""
    if not plan.machine.gpus or pool.gpu_driver != "installer":
        return None
    return pool.driver_installer or fitting_installer(plan.machine, pool.image)


def fitting_installer(machine: Machine, image: str) -> str | None:
    """Return the installer for a machine and a node image, or None."""
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
    """Return True if a DRA driver of stack or cluster advertises the devices, not the device plugin."""
    if pool.advertise in {"device-plugin", "compute-domain-only"}:
        return False
    return not settings.drivers or bool(allocating(machine, settings))


def allocating(machine: Machine, settings: GkeClusterSettings) -> list[str]:
    """Return the stack's drivers that advertise a machine's devices instead of the device plugin."""
    return [driver.name for driver in drivers.in_place_of_plugins(machine) if driver.name in settings.drivers]


def dranet_classes_of(cluster: GkeClusterSettings) -> Mapping[str, str]:
    """Return the classes that GKE installs for network cards on pools with GKE's own DRANET."""
    if not any(pool.dranet for pool in cluster.pools.values()):
        return {}
    return {item.name: item.cel for item in gke_facts().dranet_classes}


def compute_classes_of(pool: str, settings: GkeClusterSettings) -> list[str]:
    """Return the ComputeClasses that a pool is in."""
    return [name for name, item in sorted(settings.compute_classes.items()) if pool in item.priorities]


def _labels(
    name: str, pool: GkePoolSettings, machine: Machine, settings: GkeClusterSettings, classes: list[str]
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
    requested = {
        "nvidia.com/gpu": "present" if machine.gpus else "",
        "google.com/tpu": "present" if chips_of(machine) else "",
        "kubernetes.io/arch": "arm64" if machine.arch == "arm64" else "",
        COMPUTE_CLASS: "".join(classes[:1]),
    }
    return [Taint(key=key, value=value, effect="NoSchedule") for key, value in requested.items() if value]


CRITICAL = CLOUD.guarded_priorities
_EVERY_TAINT = [{"operator": "Exists"}]


def gke_driver_values(driver: Driver, release: Release, theirs: ChartValues) -> ChartValues:
    """Return the chart values that a driver needs on GKE.

    GKE admits critical priority classes only where a ResourceQuota allows them, or in kube-system.

    Args:
        driver: the driver.
        release: the release to be made.
        theirs: the stack's own values, which decide whether there is a controller.
    """
    values = merged(driver.values(release), theirs)
    chosen = nested({driver.plugin_key("tolerations"): _EVERY_TAINT})
    chosen = merged(chosen, nested(dict.fromkeys(driver.priority_keys(values, release.version), "")))
    if driver.has_controller(theirs, default=False):
        # Replaces the charts' affinity for control plane nodes, which GKE does not show, and keeps the
        # controller off nodes with GPUs, whose taint newer charts tolerate.
        with_gpus = [pool.labels.get(POOL) for pool in release.pools if pool.machine.gpus]
        away = away_from(any_linux_node(), [{POOL: name} for name in with_gpus if name is not None])
        chosen = merged(chosen, {"controller": {"affinity": away}})
    return chosen


_DRIVER = "gpu.nvidia.com"
_MOST_PREDICTED_BYTES = "136"
"""GKE's autoscaler computes a GPU's memory as so many bytes at most, whatever the GPU has."""


def gke_devices(pool: PoolPlan) -> tuple[tuple[NodeDevice, ...], str]:
    """Return the devices that GKE's autoscaler predicts on a node of an empty pool.

    Args:
        pool: the pool.

    Returns:
        The devices, and the reason if there are none: an unsupported accelerator, or partitions.
    """
    if pool.sharing.strategy == "mig":
        return (), "GKE's autoscaler knows no MIG partitions"
    name = pool.machine.accelerator
    devices = predicted_devices(name, pool.machine.gpus)
    return devices, "" if devices else f"GKE's autoscaler does not know accelerator {name or 'none'}"


def predicted_devices(accelerator: str | None, count: int) -> tuple[NodeDevice, ...]:
    """Return the GPUs that GKE's autoscaler predicts on a new node; none if it does not know them."""
    facts = gke_facts().scale_from_zero
    known = facts.accelerator(accelerator)
    if known is None:
        return ()
    return tuple(
        _imagined(
            PublishedDevice(
                name=f"gpu-{index}",
                attributes={
                    "type": "gpu",
                    "architecture": known.architecture,
                    "brand": "Nvidia",
                    "productName": known.product_name,
                    "uuid": f"GPU-{index}",
                    "index": index,
                    "minor": index,
                },
                capacity={"memory": _MOST_PREDICTED_BYTES},
            ),
            facts,
        )
        for index in range(count)
    )


def _imagined(device: PublishedDevice, facts: GkeScaleFromZero) -> NodeDevice:
    body = device.to_object()
    attributes = {name: value for name, value in body["attributes"].items() if name in facts.attributes}
    full = {**body, "attributes": attributes}
    return NodeDevice(
        driver=_DRIVER,
        name=device.name,
        seen=full,
        placed=full,
        origins=dict.fromkeys((*attributes, "memory"), "documented"),
    )


def gke_arguments(settings: GkeClusterSettings) -> Mapping[str, ChartValues]:
    """Return what settings pass on to the cloud unchanged, by pool; "" is the cluster."""
    found: dict[str, object] = {}
    if settings.create is not None and settings.create.encryption_key is not None:
        found["databaseEncryption"] = {"state": "ENCRYPTED", "keyName": settings.create.encryption_key}
    if settings.create is not None and settings.create.logs:
        found["loggingConfig"] = {"enableComponents": ["SYSTEM_COMPONENTS", *settings.create.logs]}
    accounts = {name: pool.service_account for name, pool in settings.pools.items()}
    accounts[SYSTEM_POOL] = settings.system_pool.service_account
    nodes = {name: {"nodeConfig": {"serviceAccount": one}} for name, one in accounts.items() if one}
    return {"": found, **nodes}
