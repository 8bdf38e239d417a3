"""A driver's node plugin publishes its devices: with its pod's own token, owned by the node, read back.

Idempotent by content: equal slices are left alone, so a restarted agent duplicates nothing.
How the real helper does it: https://github.com/kubernetes/dynamic-resource-allocation, `resourceslice`.
"""

from __future__ import annotations

import json
import logging
import random
from typing import TYPE_CHECKING, cast

from dra_fleet.drivers import keeps_order
from dra_fleet.model.published import slice_specs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import KubeApi, Object

logger = logging.getLogger(__name__)

SLICE_API = "resource.k8s.io/v1"
SLICE = "ResourceSlice"


def in_published_order(devices: list[Object], driver: str, *, seed: str) -> list[Object]:
    """Devices in the order in which a driver publishes them once it has started.

    Args:
        devices: resource.k8s.io/v1 device objects.
        driver: the driver's name; some publish in another order each time they start.
        seed: tells one start from another; it is logged, and gives the same order again.
    """
    if keeps_order(driver, with_counters=any(device.get("consumesCounters") for device in devices)):
        return devices
    logger.info("%s publishes %d devices in the order of seed %s", driver, len(devices), seed)
    return random.Random(f"{seed}/{driver}").sample(devices, len(devices))  # noqa: S311 - no secret


class SlicePublisher:
    """Publishes devices, and remembers what the server keeps of them, as the real helper does.

    Fields that the server drops are logged and not sent again: neither another try nor a restart would help,
    so that the plugin runs on.
    https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/resourceslice/resourceslicecontroller.go#L963
    """

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def is_published(
        self,
        present: list[Object],
        node: Object,
        driver: str,
        devices: list[Object],
        counters: Sequence[Object] = (),
    ) -> bool:
        """Whether a driver's slices on a node hold these devices already, as far as its informer has them."""
        specs = slice_specs(driver, node["metadata"]["name"], devices, 0, counters)
        return self._same(present, specs) and all(_owned_by(item, node) for item in present)

    async def publish(
        self,
        api: KubeApi,
        node_name: str,
        driver: str,
        devices: list[Object],
        counters: Sequence[Object] = (),
    ) -> None:
        """Bring the slices of one driver on one node in line with its devices.

        Args:
            api: acts as the driver's pod.
            node_name: whose devices they are; also the pool's name.
            driver: the driver's name.
            devices: resource.k8s.io/v1 device objects.
            counters: what they share.

        Raises:
            ApiError: the pod may not do it, or the server refuses a slice.
        """
        selector = f"spec.nodeName={node_name},spec.driver={driver}"
        listed = await api.list(SLICE_API, SLICE, params={"fieldSelector": selector})
        present = sorted(listed["items"], key=lambda item: item["metadata"]["name"])
        node = await api.get("v1", "Node", node_name)
        if self.is_published(present, node, driver, devices, counters):
            return
        newest = max((item["spec"]["pool"]["generation"] for item in present), default=0)
        specs = slice_specs(driver, node_name, devices, newest + 1, counters)
        stored = [
            await _write(api, spec, present[index] if index < len(present) else None, node)
            for index, spec in enumerate(specs)
        ]
        for surplus in present[len(specs) :]:
            await api.delete(SLICE_API, SLICE, surplus["metadata"]["name"])
        for index, (sent, kept) in enumerate(zip(specs, stored, strict=True)):
            self._tell_dropped(node_name, index, sent, kept["spec"])

    def _same(self, present: list[Object], wanted: list[Object]) -> bool:
        if len(present) != len(wanted):
            return False
        pools = [{**item["spec"]["pool"], "generation": 0} for item in present]
        kept = [_content(item["spec"]) for item in present]
        sent = [_content(spec) for spec in wanted]
        generations = {item["spec"]["pool"]["generation"] for item in present}
        return (
            len(generations) == 1
            and sorted(kept) == sorted(self._kept.get(content, content) for content in sent)
            and all(pool == {**wanted[0]["pool"], "generation": 0} for pool in pools)
        )

    def _tell_dropped(self, pool: str, index: int, sent: Object, stored: Object) -> None:
        missing = sorted(_missing(sent, stored, "spec"))
        if missing:
            self._kept[_content(sent)] = _content(stored)
            logger.warning(
                'pool "%s", slice #%d: some fields were dropped by the apiserver, probably because a feature '
                "is disabled: %s",
                pool,
                index,
                ", ".join(missing),
            )


async def _write(api: KubeApi, spec: Object, present: Object | None, node: Object) -> Object:
    body: Object = {"apiVersion": SLICE_API, "kind": SLICE, "spec": spec}
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": node["metadata"]["name"],
        "uid": node["metadata"]["uid"],
        "controller": True,
    }
    if present is None:
        name = f"{spec['nodeName']}-{spec['driver']}-"
        return await api.create({**body, "metadata": {"generateName": name, "ownerReferences": [owner]}})
    meta = {
        "name": present["metadata"]["name"],
        "resourceVersion": present["metadata"]["resourceVersion"],
        "ownerReferences": [owner],
    }
    return await api.replace({**body, "metadata": meta})


def _owned_by(item: Object, node: Object) -> bool:
    owners = item["metadata"].get("ownerReferences", [])
    return any(owner["uid"] == node["metadata"]["uid"] for owner in owners)


def _content(spec: Object) -> str:
    return json.dumps([spec.get("devices", []), spec.get("sharedCounters", [])], sort_keys=True)


def _missing(sent: object, stored: object, path: str) -> set[str]:
    lost: set[str] = set()
    if isinstance(sent, dict):
        kept = cast("Object", stored) if isinstance(stored, dict) else {}
        for key, value in cast("Object", sent).items():
            if key in kept:
                lost |= _missing(value, kept[key], f"{path}.{key}")
            elif value not in ([], {}, None):
                lost.add(f"{path}.{key}")
    elif isinstance(sent, list) and isinstance(stored, list):
        pairs = zip(cast("list[object]", sent), cast("list[object]", stored), strict=False)
        for one, other in pairs:
            lost |= _missing(one, other, f"{path}[]")
    return lost
