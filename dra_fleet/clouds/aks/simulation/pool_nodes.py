"""VM sizes, the nodes of a simulated agent pool, and the rules of AKS for new and changed pools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.clouds.aks import CLOUD
from dra_fleet.clouds.aks.plan import partitions_of
from dra_fleet.clouds.aks.plan import quota_family as family
from dra_fleet.clouds.aks.simulation.account import SIZE, digits_of, full_version, group_id, refuse
from dra_fleet.model.specs import mebibytes
from dra_fleet.rehearsal.clouds.clusters import InstanceType, near
from dra_fleet.rehearsal.clouds.scaling import numbers_of
from dra_fleet.rehearsal.simulator.hardware_file import node
from dra_fleet.rehearsal.simulator.node import NodeHardware, NodeTaint

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clouds.aks.simulation.account import AksLimits
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


MOST_NODES: Final = 1000


def refuse_invalid(name: str, pool: Properties) -> None:
    """Check one pool by itself.

    Raises:
        CloudRefusal: AKS does not take it.
    """
    size = size_of(pool)
    system = str(pool.get("mode", "User")).lower() == "system"
    least = 1 if system else 0
    count = count_of(pool)
    if not least <= count <= MOST_NODES:
        mode = "system" if system else "user"
        raise _invalid(name, f"count is {count}; it must be {least} to {MOST_NODES} in a {mode} pool")
    _refuse_scaling(name, pool, count)
    if system and is_spot(pool):
        raise _invalid(name, "a system pool cannot be a spot pool; set scaleSetPriority to Regular")
    profile = pool.get("gpuInstanceProfile")
    if profile and not partitions_of(size.gpu, str(profile)):
        raise _invalid(
            name,
            f"gpuInstanceProfile {profile} is not supported with VM size {size.name}; "
            "leave it out, or use an A100, H100 or H200 size",
        )
    for label in cast("dict[str, str]", pool.get("nodeLabels") or {}):
        if label.startswith(RESERVED):
            raise _invalid(
                name, f"label {label} is reserved: {RESERVED} belongs to AKS; choose another prefix"
            )
    for taint in cast("list[str]", pool.get("nodeTaints") or []):
        parse_taint(taint)


def refuse_other_network(pools: Iterable[Properties]) -> None:
    """Check that all pools of a cluster, or none, are in subnets, and those of one virtual network.

    Raises:
        CloudRefusal: AKS does not take it: https://github.com/Azure/AKS/issues/2927 (2022-05-04) and
            https://learn.microsoft.com/azure/aks/node-pool-unique-subnet#limitations (2026-11-25).
    """
    subnets = {str(pool.get("name")): str(pool.get("vnetSubnetID") or "") for pool in pools}
    without = [name for name, subnet in subnets.items() if not subnet]
    if without and len(without) < len(subnets):
        raise refuse("InvalidParameter", f"The Agentpool {without[0]} does not have subnet defined.")
    networks = {subnet.rpartition("/subnets/")[0].lower() for subnet in subnets.values()}
    if len(networks) > 1:
        raise refuse(
            "InvalidParameter", "All subnets of a cluster's agent pools must be in one virtual network."
        )


def _refuse_scaling(name: str, pool: Properties, count: int) -> None:
    low, high = pool.get("minCount"), pool.get("maxCount")
    if not pool.get("enableAutoScaling"):
        if low is not None or high is not None:
            raise _invalid(
                name, "minCount and maxCount need enableAutoScaling; set it to true or leave them out"
            )
        return
    if low is None or high is None:
        raise _invalid(name, "enableAutoScaling needs minCount and maxCount")
    if not low <= count <= high:
        raise _invalid(name, f"count {count} is not between minCount {low} and maxCount {high}")


def _invalid(name: str, what: str) -> Exception:
    return refuse("InvalidParameter", f"Agent pool {name}: {what}")


def refuse_beyond_limits(
    pool: Properties, others: Iterable[Properties], region: str, limits: AksLimits, *, had: int = 0
) -> None:
    """Check a pool against the subscription's quota and the region's stock.

    Args:
        pool: the pool as it shall be.
        others: all other pools of the subscription.
        region: where it is.
        limits: of the rehearsal.
        had: how many of its machines the pool has already.

    Raises:
        CloudRefusal: with AKS's own words.
    """
    size = size_of(pool)
    more = count_of(pool) - had
    if more <= 0:
        return
    group = family(size.name)
    quota = limits.quota(group)
    if quota is not None:
        alike = [one for one in others if family(str(one["vmSize"])) == group]
        used = sum(size_of(one).cpus * count_of(one) for one in alike)
        remaining = quota - used - had * size.cpus
        if more * size.cpus > remaining:
            raise refuse(
                "ErrCode_InsufficientVCPUQuota",
                f"Insufficient vcpu quota requested {more * size.cpus}, remaining {max(remaining, 0)} "
                f"for family {group} for region {region}. Ask for more quota, or for fewer machines",
            )
    if limits.is_out_of_stock(size.name):
        raise refuse(
            "AllocationFailed",
            f"Allocation failed. We do not have sufficient capacity for the requested VM size {size.name} in "
            f"region {region}. Try later, or another size, zone or region: https://aka.ms/allocation-guidance",
        )
