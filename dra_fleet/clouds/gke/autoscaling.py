"""What GKE's autoscaler imagines of a pool without nodes: the devices that it predicts itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.gke.facts import gke_facts
from dra_fleet.model.nodes import NodeDevice
from dra_fleet.model.published import PublishedDevice

if TYPE_CHECKING:
    from dra_fleet.clouds.gke.facts import GkeScaleFromZero
    from dra_fleet.model.plan import PoolPlan

_DRIVER = "gpu.nvidia.com"
_MOST_PREDICTED_BYTES = "136"
"""GKE's autoscaler computes a GPU's memory as so many bytes at most, whatever the GPU has."""


def gke_devices(pool: PoolPlan) -> tuple[tuple[NodeDevice, ...], str]:
    """The devices that GKE's autoscaler imagines on a node of a pool without nodes.

    Args:
        pool: the pool.

    Returns:
        The devices, and why there are none: it does not know every accelerator, and no partitions.
    """
    facts = gke_facts().scale_from_zero
    name = pool.machine.accelerator
    known = facts.accelerator(name)
    if known is None:
        return (), f"GKE's autoscaler does not know accelerator {name or 'none'}"
    if pool.sharing.strategy == "mig":
        return (), "GKE's autoscaler knows no MIG partitions"
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
        for index in range(pool.machine.gpus)
    ), ""


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
