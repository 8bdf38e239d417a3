"""What the API server keeps of the devices that a driver sends: fields of gates that are off are dropped.

It does so without a word, so that a device that was sent to be shared is stored as one that is held whole.
Source: https://github.com/kubernetes/kubernetes, `pkg/registry/resource/resourceslice/strategy.go`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.minors import PARTITIONS, SHARES, is_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.model.nodes import NodeDevice, Object


def stored(devices: Iterable[NodeDevice], minor: str) -> tuple[NodeDevice, ...]:
    """The devices as a server of a minor keeps them.

    Args:
        devices: as the driver sends them.
        minor: the cluster's Kubernetes minor.
    """
    partitions, shares = is_on(PARTITIONS, minor), is_on(SHARES, minor)
    if partitions and shares:
        return tuple(devices)
    return tuple(
        replace(
            device,
            seen=_kept(device.seen, partitions=partitions, shares=shares),
            placed=_kept(device.placed, partitions=partitions, shares=shares),
        )
        for device in devices
    )


def _kept(body: Object, *, partitions: bool, shares: bool) -> Object:
    kept = dict(body)
    if not partitions:
        kept.pop("consumesCounters", None)
    if not shares:
        kept.pop("allowMultipleAllocations", None)
        if "capacity" in kept:
            kept["capacity"] = {
                name: {key: value for key, value in item.items() if key != "requestPolicy"}
                for name, item in kept["capacity"].items()
            }
    return kept
