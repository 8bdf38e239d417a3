"""VM sizes, and the nodes that a simulated agent pool makes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.plan import partitions_of
from dra_fleet.clouds.aks.simulation.account import SIZE, digits_of, full_version, group_id, refuse
from dra_fleet.model.specs import mebibytes
from dra_fleet.rehearsal.clouds.clusters import InstanceType, near
from dra_fleet.rehearsal.clouds.scaling import numbers_of
from dra_fleet.rehearsal.simulator.hardware_file import node
from dra_fleet.rehearsal.simulator.node import NodeHardware, NodeTaint

if TYPE_CHECKING:
    from dra_fleet.rehearsal.clouds.cloud import Properties


_GIB_PER_CPU: Final = {"D": 4, "E": 8, "F": 2}
"""https://learn.microsoft.com/azure/virtual-machines/sizes/overview: general purpose, memory, compute."""


def find_size(name: str) -> InstanceType | None:
    """Return the size of that name in any case, as Azure does; None if it is unknown."""
    known = next((item for item in CLOUD.machines.values() if item.name.lower() == name.lower()), None)
    if known is not None:
        return InstanceType.of(known)
    match = SIZE.fullmatch(name)
    if match and match["series"] in _GIB_PER_CPU:
        cpus = int(match["cpus"])
        memory = cpus * _GIB_PER_CPU[match["series"]]
        return InstanceType(name=name, cpus=cpus, memory_gib=memory)
    return None


CUDA_DRIVER: Final = "580.95.05"
GRID_DRIVER: Final = "570.237"
GRID_DRIVER_RTX: Final = "595.91.07"
"""The GRID driver of AKS's images (vGPU 18.8, 20.2): https://github.com/Azure/aks-gpu/pull/190.

The patch level of the CUDA driver is assumed. Node images from before May 2026 have GRID 550.144.06.
"""
DIGITS36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
_KEPT_MILLICPUS: Final = ((1, 1, 60), (2, 2, 40), (3, 4, 20), (5, 10**6, 10))
"""Reserved thousandths of each CPU: from the first to the last CPU, the reserved amount."""
_KEPT_MIB_PER_POD: Final = 20
_KEPT_MIB: Final = 50
_EVICTION_MIB: Final = 100
NODE_IMAGE: Final = "AKSUbuntu-2404gen2containerd-202610.20.0"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
RESERVED: Final = "kubernetes.azure.com/"


def size_of(pool: Properties) -> InstanceType:
    """Return the pool's VM size.

    Raises:
        CloudRefusal: there is none of that name.
    """
    name = str(pool.get("vmSize", ""))
    size = find_size(name)
    if size is None:
        raise refuse(
            "VMSizeNotSupported",
            f"The VM size of {name} is not known to the simulated Azure; nearest: "
            f"{near(name, CLOUD.machines)}. If it exists, report it in catalogue.yaml beside the stack file: "
            f"clouds: {{aks: {{machines: [{{name: {name}, like: A KNOWN ONE, …}}]}}}}",
        )
    return size


def count_of(pool: Properties) -> int:
    """Return the pool's number of nodes."""
    return int(pool.get("count", pool.get("minCount", 1) if pool.get("enableAutoScaling") else 1))


def machines(pool: Properties, name: str, cluster: Properties, cluster_id: str) -> list[NodeHardware]:
    """All machines of a pool.

    Args:
        pool: the pool's properties.
        name: the pool's name.
        cluster: the cluster's properties with its outputs.
        cluster_id: the cluster's id.
    """
    size = size_of(pool)
    version = full_version(pool.get("orchestratorVersion") or cluster["currentKubernetesVersion"], name)
    scale_set = f"aks-{name}-{digits_of(cluster_id)}-vmss"
    group = group_id(cluster_id.split("/")[2], str(cluster["nodeResourceGroup"]).lower())
    return [
        node(
            name=f"{scale_set}{_base36(index)}",
            machine=size.machine,
            cpu=str(size.cpus),
            memory=f"{size.memory_gib}Gi",
            allocatable=allocatable(size, _most_pods(pool, cluster)),
            kubelet=f"v{version}",
            provider_id=f"azure://{group}/providers/Microsoft.Compute/virtualMachineScaleSets/{scale_set}"
            f"/virtualMachines/{index}",
            labels=_labels(pool, name, cluster, size, index),
            taints=tuple(_taints(pool)),
            nvidia=_driver(pool, size),
        )
        for index in numbers_of(pool, count_of(pool))
    ]


def allocatable(size: InstanceType, pods: int) -> dict[str, str]:
    """Return the resources of a machine that AKS leaves to pods.

    https://learn.microsoft.com/azure/aks/node-resource-reservations
    """
    kept_cpu = sum(milli * max(0, min(size.cpus, last) - first + 1) for first, last, milli in _KEPT_MILLICPUS)
    total = size.memory_gib * 1024
    kept_memory = min(_KEPT_MIB_PER_POD * pods + _KEPT_MIB, total // 4) + _EVICTION_MIB
    return {
        "cpu": f"{1000 * size.cpus - kept_cpu}m",
        "memory": mebibytes(total - kept_memory),
        "pods": str(pods),
    }


def _most_pods(pool: Properties, cluster: Properties) -> int:
    """https://learn.microsoft.com/azure/aks/concepts-network-ip-address-planning."""
    given = pool.get("maxPods")
    if given is not None:
        return int(given)
    network = cast("Properties", cluster.get("networkProfile") or {})
    if network.get("networkPluginMode") == "overlay":
        return 250
    return 30 if network.get("networkPlugin") == "azure" else 110


def _base36(number: int) -> str:
    return "".join(DIGITS36[number // 36**place % 36] for place in reversed(range(6)))


def _labels(
    pool: Properties, name: str, cluster: Properties, size: InstanceType, index: int
) -> dict[str, str]:
    region = str(cluster["location"])
    zones = cast("list[str]", pool.get("availabilityZones") or [])
    labels = {
        "agentpool": name,
        "beta.kubernetes.io/instance-type": size.name,
        "kubernetes.azure.com/agentpool": name,
        "kubernetes.azure.com/cluster": str(cluster["nodeResourceGroup"]),
        "kubernetes.azure.com/mode": str(pool.get("mode", "User")).lower(),
        "kubernetes.azure.com/node-image-version": NODE_IMAGE,
        "kubernetes.azure.com/os-sku": str(pool.get("osSKU", "Ubuntu")),
        "kubernetes.azure.com/role": "agent",
        "node.kubernetes.io/instance-type": size.name,
        "topology.kubernetes.io/region": region,
        "topology.kubernetes.io/zone": f"{region}-{zones[index % len(zones)]}" if zones else "0",
    }
    if size.gpu:
        labels |= {"accelerator": "nvidia", "kubernetes.azure.com/accelerator": "nvidia"}
    if is_spot(pool):
        labels["kubernetes.azure.com/scalesetpriority"] = "spot"
    return {**labels, **cast("dict[str, str]", pool.get("nodeLabels") or {})}


def is_spot(pool: Properties) -> bool:
    """Return True if the pool's machines may be preempted."""
    return str(pool.get("scaleSetPriority", "Regular")).lower() == "spot"


def _taints(pool: Properties) -> list[NodeTaint]:
    texts = list(cast("list[str]", pool.get("nodeTaints") or []))
    spot = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"
    if is_spot(pool) and spot not in texts:
        texts.append(spot)
    return [parse_taint(text) for text in texts]


def parse_taint(text: str) -> NodeTaint:
    """Parse a taint written as key=value:effect or key:effect.

    Raises:
        CloudRefusal: it is not written so.
    """
    left, separator, effect = text.rpartition(":")
    key, _, value = left.partition("=")
    if not separator or not key or effect not in EFFECTS:
        raise refuse(
            "InvalidParameter",
            f"The value of parameter agentPoolProfile.nodeTaints is invalid: {text!r}; "
            f"write key=value:effect with one of {', '.join(EFFECTS)}",
        )
    return NodeTaint(key=key, value=value, effect=cast("Any", effect))


def _driver(pool: Properties, size: InstanceType) -> dict[str, object] | None:
    """Return the driver that AKS installs on a GPU machine, unless the pool declares None."""
    if size.gpu is None or driver_choice(pool) == "none":
        return None
    profile = pool.get("gpuInstanceProfile")
    layout = partitions_of(size.gpu, str(profile)) if profile else {}
    return {"driverVersion": _version(size.gpu), "mig": layout}


def driver_choice(pool: Properties) -> str:
    """`install` or `none`; AKS installs where nothing is said."""
    profile = cast("Properties", pool.get("gpuProfile") or {})
    return str(profile.get("driver") or "Install").lower()


def _version(gpu: str) -> str:
    if gpu.startswith("RTX"):
        return GRID_DRIVER_RTX
    return GRID_DRIVER if gpu.startswith("A10-") or gpu == "A10" else CUDA_DRIVER
