"""A node's devices as the ResourceSlices in which its drivers publish them, for the allocator."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from dra_fleet.model.nodes import NODE
from dra_fleet.model.published import slice_specs
from dra_fleet.proof.allocator import Inventory

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.nodes import NodeShape, Object


@lru_cache(maxsize=4096)
def inventory_of(shape: NodeShape) -> Inventory:
    """The slices of a node, gathered once for all questions about it."""
    by_driver: dict[str, dict[str, list[Object]]] = {}
    for device in shape.devices:
        by_driver.setdefault(device.driver, {}).setdefault(device.group, []).append(device.placed)
    return Inventory(
        {"metadata": {"name": f"{driver}-{number:03}"}, "spec": spec}
        for driver, groups in sorted(by_driver.items())
        for number, spec in enumerate(_specs(shape, driver, groups))
    )


def _specs(shape: NodeShape, driver: str, groups: Mapping[str, list[Object]]) -> list[Object]:
    """Slices as the driver splits them: counters and one for each group, or all devices together."""
    if driver not in shape.counters:
        return slice_specs(driver, NODE, [device for group in groups.values() for device in group], 1)
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": len(groups) + 1}
    base: Object = {"driver": driver, "nodeName": NODE, "pool": pool}
    return [
        {**base, "sharedCounters": list(shape.counters[driver])},
        *({**base, "devices": devices} for devices in groups.values()),
    ]
