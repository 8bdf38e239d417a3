"""Machine types, the nodes of a simulated node pool, and GKE's rules for new and changed pools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from dra_fleet.clouds.gke import CLOUD
from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.clouds.gke.resources import chips_of
from dra_fleet.clouds.gke.simulation.account import digits_of, letters_of, metric, refuse, region_of, zones_of
from dra_fleet.rehearsal.clouds.clusters import near
from dra_fleet.rehearsal.clouds.scaling import SCALED, numbers_of
from dra_fleet.rehearsal.simulator.hardware_file import node
from dra_fleet.rehearsal.simulator.node import NodeHardware, NodeTaint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clouds.gke.simulation.account import GkeLimits
    from dra_fleet.model.hardware import Machine
    from dra_fleet.rehearsal.clouds.cloud import Properties


_GENERAL: Final = re.compile(
    r"(?P<series>[a-z][0-9]+[a-z]?)-(?P<kind>standard|highmem|highcpu)-(?P<cpus>\d+)"
)
_GIB_PER_CPU: Final = {"standard": 4.0, "highmem": 8.0, "highcpu": 1.0}
"""https://cloud.google.com/compute/docs/general-purpose-machines; E2, N1, N2 and C are near it."""
_ACCELERATED: Final = ("a2", "a3", "a4", "a4x", "g2", "g4", "ct4p", "ct5lp", "ct5p", "ct6e")


class MachineType(Struct, frozen=True, kw_only=True):
    """A machine type with the accelerators of a pool. `machine`: its catalogue entry."""

    name: str
    cpus: int
    memory_gib: int
    machine: Machine | None


def find_machine_type(name: str, accelerator: str | None, count: int) -> MachineType | None:
    """Return the machine type with `count` accelerators of a type; None if it is unknown.

    Args:
        name: such as "g2-standard-8".
        accelerator: such as "nvidia-l4"; None without.
        count: how many per node.
    """
    for machine in CLOUD.machines.values():
        if machine.cloud_type != name:
            continue
        if chips_of(machine) or (machine.accelerator == accelerator and machine.gpus == count):
            return MachineType(
                name=name,
                cpus=machine.cpus,
                memory_gib=machine.memory_gib or 4 * machine.cpus,
                machine=machine,
            )
    match = _GENERAL.fullmatch(name)
    if match and accelerator is None and match["series"] not in _ACCELERATED:
        cpus = int(match["cpus"])
        memory = round(cpus * _GIB_PER_CPU[match["kind"]])
        return MachineType(name=name, cpus=cpus, memory_gib=memory, machine=None)
    return None


def known_with(name: str) -> list[str]:
    """Return the accelerators that a machine type supports, as "1 x nvidia-l4"."""
    return [
        f"{machine.gpus} x {machine.accelerator}"
        for machine in CLOUD.machines.values()
        if machine.gpus and machine.cloud_type == name
    ]


def known_names() -> set[str]:
    return {item.cloud_type for item in CLOUD.machines.values()}


DRIVER: Final = "580.126.9"
LATEST_DRIVER: Final = "590.48.1"
"""Assumed: which versions an image's default and latest are differs by its release."""
NO_PLUGIN: Final = "gke-no-default-nvidia-gpu-device-plugin"
TPU_DRA: Final = "cloud.google.com/gke-tpu-dra-driver"
EFFECTS: Final = {
    "NO_SCHEDULE": "NoSchedule",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
    "NO_EXECUTE": "NoExecute",
}
MANAGED: Final = ("GPU_DRIVER_VERSION_UNSPECIFIED", "DEFAULT", "LATEST")
"""GKE installs the driver; unset means so too."""


def config_of(pool: Properties) -> Properties:
    """Return the pool's node configuration."""
    return cast("Properties", pool.get("nodeConfig") or {})


def accelerator_of(pool: Properties) -> Properties:
    """Return the accelerators of each node; empty without accelerators."""
    given = cast("list[Properties]", config_of(pool).get("guestAccelerators") or [])
    return given[0] if given else {}


def machine_of(pool: Properties) -> MachineType:
    """Return the pool's machine type.

    Raises:
        CloudRefusal: there is none of that name, or not with these accelerators.
    """
    name = str(config_of(pool).get("machineType") or "e2-medium")
    accelerator = accelerator_of(pool)
    kind = str(accelerator["type"]) if accelerator else None
    found = find_machine_type(name, kind, int(accelerator.get("count", 0)))
    if found is not None:
        return found
    if known_with(name):
        raise refuse(
            "INVALID_ARGUMENT",
            f"Machine type {name} cannot have {accelerator.get('count', 0)} x {kind or 'no accelerator'}; "
            f"allowed: {' or '.join(known_with(name))}",
        )
    raise refuse(
        "INVALID_ARGUMENT",
        f"Machine type with name '{name}' is not known to the simulated Google Cloud; nearest: "
        f"{near(name, known_names())}. Add it to the catalogue of machines if it exists",
    )


def bounds_of(pool: Properties, cluster: Properties) -> tuple[int, int] | None:
    """Return the bounds of an autoscaled pool in all zones together; None without autoscaling."""
    scaling = cast("Properties", pool.get("autoscaling") or {})
    if not scaling:
        return None
    zones = len(zones_of(pool, cluster))
    least, most = (
        int(scaling.get(f"total{bound}NodeCount") or zones * int(scaling.get(f"{first}NodeCount") or 0))
        for bound, first in (("Min", "min"), ("Max", "max"))
    )
    return least, most


def count_of(pool: Properties, cluster: Properties) -> int:
    """Return the pool's nodes in all zones; changed bounds apply when the autoscaler acts next.

    https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler
    """
    size = pool.get(SCALED, {}).get("size")
    if size is not None and bounds_of(pool, cluster) is not None:
        return int(size)
    per_zone = pool.get("nodeCount", pool.get("initialNodeCount", 0))
    return int(per_zone or 0) * len(zones_of(pool, cluster))


def machines(pool: Properties, cluster: Properties, cluster_id: str) -> list[NodeHardware]:
    """All machines of a pool.

    Args:
        pool: the pool's properties.
        cluster: the cluster's properties with its outputs.
        cluster_id: the cluster's id.
    """
    machine, name = machine_of(pool), str(pool["name"])
    stem = f"gke-{cluster['name']}-{name}-{digits_of(f'{cluster_id}/{name}')}"
    zones = zones_of(pool, cluster)
    return [
        node(
            name=f"{stem}-{letters_of(f'{stem}/{index}')}",
            machine=machine.machine.name if machine.machine else None,
            cpu=str(machine.cpus),
            memory=f"{machine.memory_gib}Gi",
            labels=_labels(pool, name, machine, zones[index % len(zones)]),
            taints=tuple(_taints(pool, machine)),
            nvidia=_managed_driver(pool, machine),
            installable=_installable(pool, machine),
            advertised=_advertised(pool, machine),
        )
        for index in numbers_of(pool, count_of(pool, cluster))
    ]


def _labels(pool: Properties, name: str, machine: MachineType, zone: str) -> dict[str, str]:
    config, accelerator = config_of(pool), accelerator_of(pool)
    labels = {
        "cloud.google.com/gke-nodepool": name,
        "cloud.google.com/machine-family": machine.name.partition("-")[0],
        "cloud.google.com/gke-os-distribution": "ubuntu" if image_of(pool).startswith("UBUNTU") else "cos",
        "cloud.google.com/gke-container-runtime": "containerd",
        "node.kubernetes.io/instance-type": machine.name,
        "topology.kubernetes.io/region": region_of(zone),
        "topology.kubernetes.io/zone": zone,
    }
    if machine.machine is not None and machine.machine.arch is not None:
        labels["kubernetes.io/arch"] = machine.machine.arch
    if accelerator:
        labels["cloud.google.com/gke-accelerator"] = str(accelerator["type"])
        labels["cloud.google.com/gke-accelerator-count"] = str(accelerator["count"])
        if driver_version_of(accelerator) in MANAGED:
            labels["cloud.google.com/gke-gpu-driver-version"] = (
                "latest" if driver_version_of(accelerator) == "LATEST" else "default"
            )
    if (chips := chips_of(machine.machine)) is not None:
        labels["cloud.google.com/gke-tpu-accelerator"] = chips.called
        placement = cast("Properties", pool.get("placementPolicy") or {})
        labels["cloud.google.com/gke-tpu-topology"] = str(placement.get("tpuTopology") or chips.topology)
        labels["cloud.google.com/gke-accelerator-count"] = str(chips.count)
    network = cast("Properties", pool.get("networkConfig") or {})
    if profile := network.get("acceleratorNetworkProfile"):
        labels["gke.networks.io/accelerator-network-profile"] = str(profile)
    if config.get("spot"):
        labels["cloud.google.com/gke-spot"] = "true"
    if config.get("flexStart"):
        labels["cloud.google.com/gke-flex-start"] = "true"
    return {**labels, **cast("dict[str, str]", config.get("labels") or {})}


def _taints(pool: Properties, machine: MachineType) -> list[NodeTaint]:
    """Return the pool's taints, and those that GKE adds to GPU, TPU and arm64 nodes."""
    automatic = {
        "nvidia.com/gpu": "present" if accelerator_of(pool) else "",
        "google.com/tpu": "present" if chips_of(machine.machine) else "",
        "kubernetes.io/arch": "arm64" if machine.machine and machine.machine.arch == "arm64" else "",
    }
    given = cast("list[dict[str, str]]", config_of(pool).get("taints") or [])
    own = [
        NodeTaint(key=item["key"], value=item["value"], effect=cast("Any", EFFECTS[item["effect"]]))
        for item in given
    ]
    keys = {taint.key for taint in own}
    added = [
        NodeTaint(key=key, value=value, effect="NoSchedule")
        for key, value in automatic.items()
        if value and key not in keys
    ]
    return [*own, *added]


def image_of(pool: Properties) -> str:
    return str(config_of(pool).get("imageType") or "COS_CONTAINERD").upper()


def driver_version_of(accelerator: Properties) -> str:
    """Return the driver installation that the pool requests."""
    said = cast("Properties", accelerator.get("gpuDriverInstallationConfig") or {})
    return str(said.get("gpuDriverVersion") or MANAGED[0])


def _has_plugin(pool: Properties) -> bool:
    return config_of(pool).get("labels", {}).get(NO_PLUGIN) != "true"


def _root(pool: Properties) -> str:
    return gke_facts().image(image_of(pool)).driver_root


def _managed_driver(pool: Properties, machine: MachineType) -> dict[str, object] | None:
    """GKE's own installation, which is part of its device plugin: without the plugin there is no driver."""
    said = driver_version_of(accelerator_of(pool))
    if machine.machine is None or not machine.machine.gpus or said not in MANAGED or not _has_plugin(pool):
        return None
    version = LATEST_DRIVER if said == "LATEST" else DRIVER
    return {"driverVersion": version, "driverRoot": _root(pool)}


def _installable(pool: Properties, machine: MachineType) -> dict[str, object] | None:
    """Return the driver that an installer's pod supports on this node image with this GPU."""
    gpu = machine.machine
    if gpu is None or not gpu.gpus or driver_version_of(accelerator_of(pool)) in MANAGED:
        return None
    return {
        "image": "ubuntu" if image_of(pool).startswith("UBUNTU") else "cos",
        "driverRoot": _root(pool),
        "default": None if gpu.gpu_fraction or gpu.arch == "arm64" else DRIVER,
        "latest": LATEST_DRIVER,
    }


def _advertised(pool: Properties, machine: MachineType) -> dict[str, int]:
    """Return the devices that GKE's device plugins advertise, unless their label turns them off."""
    labels = cast("dict[str, str]", config_of(pool).get("labels") or {})
    if accelerator_of(pool) and _has_plugin(pool):
        return {"nvidia.com/gpu": int(accelerator_of(pool)["count"])}
    if (chips := chips_of(machine.machine)) and labels.get(TPU_DRA) != "true":
        return {"google.com/tpu": chips.count}
    return {}


MOST_PER_ZONE: Final = 1000
RESERVED: Final = ("kubernetes.io/", "k8s.io/")
_COMPACT_WITH_FLEX: Final = ("a3-ultragpu", "a4", "h4d")


def refuse_invalid(pool: Properties, cluster: Properties) -> None:
    """Check one pool by itself.

    Raises:
        CloudRefusal: GKE does not take it.
    """
    machine_of(pool)
    name = str(pool["name"])
    _refuse_counts(name, pool)
    _refuse_zones(name, pool, cluster)
    labels = cast("dict[str, str]", config_of(pool).get("labels") or {})
    for label in labels:
        if label.partition("/")[0] in ("kubernetes.io", "k8s.io") or ".kubernetes.io/" in label:
            raise _invalid(name, f"label {label} is reserved for Kubernetes; choose another prefix")
    _refuse_capacity(name, pool)
    _refuse_upgrades(name, pool, cluster)


def _refuse_counts(name: str, pool: Properties) -> None:
    scaling = cast("Properties", pool.get("autoscaling") or {})
    totals = {"totalMinNodeCount", "totalMaxNodeCount"} & scaling.keys()
    per_zone = {"minNodeCount", "maxNodeCount"} & scaling.keys()
    if totals and per_zone:
        raise _invalid(name, f"{min(totals)} and {min(per_zone)} cannot be used together")
    low, high = scaling.get("totalMinNodeCount", 0), scaling.get("totalMaxNodeCount")
    if high is not None and low > high:
        raise _invalid(name, f"totalMinNodeCount {low} is more than totalMaxNodeCount {high}")
    each = int(pool.get("nodeCount", pool.get("initialNodeCount", 0)) or 0)
    if not 0 <= each <= MOST_PER_ZONE:
        raise _invalid(name, f"{each} nodes per zone; it must be 0 to {MOST_PER_ZONE}")


def _refuse_zones(name: str, pool: Properties, cluster: Properties) -> None:
    region = region_of(str(cluster["location"]))
    for zone in zones_of(pool, cluster):
        if region_of(zone) != region:
            raise _invalid(name, f"zone {zone} is not in the cluster's region {region}")


def _refuse_capacity(name: str, pool: Properties) -> None:
    """Spot, reservations, Dynamic Workload Scheduler and compact placement exclude each other in part."""
    config = config_of(pool)
    spot, flex = bool(config.get("spot")), bool(config.get("flexStart"))
    queued = bool(cast("Properties", pool.get("queuedProvisioning") or {}).get("enabled"))
    affinity = cast("Properties", config.get("reservationAffinity") or {})
    consume = affinity.get("consumeReservationType")
    compact = cast("Properties", pool.get("placementPolicy") or {}).get("type") == "COMPACT"
    if (spot or flex or queued) and consume not in (None, "NO_RESERVATION"):
        raise _invalid(name, f"reservation affinity {consume} cannot be used here; use NO_RESERVATION")
    if spot and (flex or queued):
        raise _invalid(name, "spot cannot be combined with flex-start or queued provisioning")
    if flex and cast("Properties", pool.get("management") or {}).get("autoRepair"):
        raise _invalid(name, "flex-start needs management.autoRepair false")
    if flex and compact and not str(config.get("machineType")).startswith(_COMPACT_WITH_FLEX):
        raise _invalid(name, "flex-start allows compact placement only with A3 Ultra, A4 and H4D")
    machine = machine_of(pool).machine
    if queued and compact and chips_of(machine) is None:
        raise _invalid(name, "queued provisioning cannot be combined with compact placement")
    if compact and len(cast("list[str]", pool.get("nodeLocations") or [])) > 1:
        raise _invalid(name, "compact placement needs exactly one zone")
    if consume == "SPECIFIC_RESERVATION" and not (affinity.get("key") and affinity.get("values")):
        raise _invalid(
            name, "SPECIFIC_RESERVATION needs key compute.googleapis.com/reservation-name and values"
        )


def _refuse_upgrades(name: str, pool: Properties, cluster: Properties) -> None:
    channel = cast("Properties", cluster.get("releaseChannel") or {}).get("channel", "REGULAR")
    management = cast("Properties", pool.get("management") or {})
    if channel != "UNSPECIFIED" and management.get("autoUpgrade") is False:
        raise _invalid(name, f"Auto_upgrade must be true when release_channel {channel} is set")


def _invalid(name: str, what: str) -> Exception:
    return refuse("INVALID_ARGUMENT", f"Node pool {name}: {what}")


def refuse_beyond_limits(
    pool: Properties,
    cluster: Properties,
    others: Iterable[tuple[Properties, Properties]],
    limits: GkeLimits,
    *,
    had: int = 0,
) -> None:
    """Check a pool against the project's quota and the zones' stock.

    Args:
        pool: the pool as it shall be.
        cluster: its cluster.
        others: all other pools of the project, with their clusters.
        limits: of the rehearsal.
        had: how many of its machines the pool has already.

    Raises:
        CloudRefusal: with Google's own words.
    """
    more = count_of(pool, cluster) - had
    if more <= 0:
        return
    kind, each = _accelerators(pool)
    quota = limits.quota(kind) if kind else None
    if kind and quota is not None:
        used = in_use(kind, others)
        if used + (had + more) * each > quota:
            region = region_of(str(cluster["location"]))
            raise refuse(
                "RESOURCE_EXHAUSTED",
                f"Insufficient quota to satisfy the request: quota {metric(kind)} exceeded, "
                f"limit {quota} in region {region}, in use {used + had * each}, requested {more * each}. "
                "Ask for more quota, or for fewer nodes",
            )
    machine = str(config_of(pool).get("machineType"))
    for zone in zones_of(pool, cluster):
        if {zone, machine} & set(limits.stock_outs):
            raise refuse(
                "RESOURCE_EXHAUSTED",
                f"ZONE_RESOURCE_POOL_EXHAUSTED: The zone '{zone}' does not have enough resources available "
                f"to fulfill the request for {machine}. Try later, another zone, or a reservation",
            )


def in_use(kind: str, pools: Iterable[tuple[Properties, Properties]]) -> int:
    """Return the number of accelerators of a type in pools.

    Args:
        kind: such as "nvidia-l4".
        pools: with their clusters.
    """
    return sum(
        _accelerators(pool)[1] * count_of(pool, cluster)
        for pool, cluster in pools
        if _accelerators(pool)[0] == kind
    )


def _accelerators(pool: Properties) -> tuple[str, int]:
    """Return the accelerator of a pool's nodes and its number per node; empty without accelerators."""
    given = accelerator_of(pool)
    if given:
        return str(given["type"]), int(given["count"])
    chips = chips_of(machine_of(pool).machine)
    return (chips.called, chips.count) if chips else ("", 0)
