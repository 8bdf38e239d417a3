"""The machines of an agent pool: names, labels, taints and drivers as AKS makes them.

Labels: https://learn.microsoft.com/azure/aks/use-labels and what nodes of such pools are seen with.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from rehearsal.clouds.azure.names import digits_of
from rehearsal.clouds.azure.refusing import refuse
from rehearsal.clouds.azure.sizes import find_size, mig_layout, near
from rehearsal.world.hardware import NodeHardware, NodeTaint, NvidiaOnHost

if TYPE_CHECKING:
    from rehearsal.clouds.azure.sizes import VmSize
    from rehearsal.clouds.values import Properties

CUDA_DRIVER: Final = "580.95.05"
GRID_DRIVER: Final = "550.144.06"
GRID_DRIVER_RTX: Final = "595.58.03"
"""Assumed patch levels of the branches AKS installs: https://github.com/Azure/aks-gpu"""
DIGITS36: Final = "0123456789abcdefghijklmnopqrstuvwxyz"
EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
RESERVED: Final = "kubernetes.azure.com/"


def size_of(pool: Properties) -> VmSize:
    """The pool's VM size.

    Raises:
        CloudRefusal: there is none of that name.
    """
    name = str(pool.get("vmSize", ""))
    size = find_size(name)
    if size is None:
        raise refuse(
            "VMSizeNotSupported",
            f"The VM size of {name} is not known to the simulated Azure; nearest: {near(name)}. "
            "Add it to the catalogue of machines if it exists",
        )
    return size


def count_of(pool: Properties) -> int:
    """How many nodes the pool has; the autoscaler is not simulated, so it stays there."""
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
    return [
        NodeHardware(
            name=f"aks-{name}-{digits_of(cluster_id)}-vmss{_base36(index)}",
            machine=size.machine,
            cpu=str(size.cpus),
            memory=f"{size.memory_gib}Gi",
            labels=_labels(pool, name, cluster, size, index),
            taints=tuple(_taints(pool)),
            nvidia=_driver(pool, size),
        )
        for index in range(count_of(pool))
    ]


def _base36(number: int) -> str:
    return "".join(DIGITS36[number // 36**place % 36] for place in reversed(range(6)))


def _labels(pool: Properties, name: str, cluster: Properties, size: VmSize, index: int) -> dict[str, str]:
    region = str(cluster["location"])
    zones = cast("list[str]", pool.get("availabilityZones") or [])
    labels = {
        "agentpool": name,
        "kubernetes.azure.com/agentpool": name,
        "kubernetes.azure.com/cluster": str(cluster["nodeResourceGroup"]),
        "kubernetes.azure.com/mode": str(pool.get("mode", "User")).lower(),
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
    """Whether the pool's machines may be taken away at any time."""
    return str(pool.get("scaleSetPriority", "Regular")).lower() == "spot"


def _taints(pool: Properties) -> list[NodeTaint]:
    texts = list(cast("list[str]", pool.get("nodeTaints") or []))
    spot = "kubernetes.azure.com/scalesetpriority=spot:NoSchedule"
    if is_spot(pool) and spot not in texts:
        texts.append(spot)
    return [parse_taint(text) for text in texts]


def parse_taint(text: str) -> NodeTaint:
    """The taint written as key=value:effect or key:effect.

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


def _driver(pool: Properties, size: VmSize) -> NvidiaOnHost | None:
    """What AKS installs on a GPU machine, unless the pool says None."""
    if size.gpu is None or driver_choice(pool) == "none":
        return None
    profile = pool.get("gpuInstanceProfile")
    layout = mig_layout(size, str(profile)) if profile else None
    return NvidiaOnHost(driver_version=_version(size.gpu), mig=layout or {})


def driver_choice(pool: Properties) -> str:
    """`install` or `none`; AKS installs where nothing is said."""
    profile = cast("Properties", pool.get("gpuProfile") or {})
    return str(profile.get("driver") or "Install").lower()


def _version(gpu: str) -> str:
    if gpu.startswith("RTX"):
        return GRID_DRIVER_RTX
    return GRID_DRIVER if gpu.startswith("A10-") or gpu == "A10" else CUDA_DRIVER
