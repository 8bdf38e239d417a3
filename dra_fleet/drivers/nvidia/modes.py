"""Devices of the NVIDIA driver with feature gates: partitions created on demand, and shares.

Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/gpu-kubelet-plugin/partitions.go`,
`driver.go` and `consumable_shares.go` (main of 2026-08).
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.nvidia.devices import nvidia_devices
from dra_fleet.drivers.nvidia.shares import is_shared, with_parts
from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.nvidia.devices import GpuOnHost
    from dra_fleet.drivers.nvidia.facts import MigProfile
    from dra_fleet.model.nodes import NodeDevice, Object, Origin
    from dra_fleet.model.specs import PublishedDevice

CAPACITIES = (
    "memory",
    "multiprocessors",
    "copyEngines",
    "decoders",
    "encoders",
    "jpegEngines",
    "ofaEngines",
)
_EXTENDED = "+"
MEDIA_EXTENSIONS = "media-extensions"
"""Counter for engines of which a GPU has one set, if their numbers are not public."""


def dynamic_partitions(
    whole: NodeDevice, parts: Iterable[tuple[NodeDevice, MigProfile, int]], memory_slices: int
) -> tuple[list[NodeDevice], Object]:
    """Return a GPU, every partition it supports, and the counters they share.

    A counter exists only if the largest partition's value is public, because that is its total. The memory
    slices, always public, show which partitions exclude each other.

    Args:
        whole: the GPU.
        parts: per profile and place: a partition, its profile and its first memory slice.
        memory_slices: memory slices of the GPU.

    Returns:
        The devices in the order in which the driver publishes them, and the entry of `sharedCounters`.
    """
    name = f"{whole.name}-counter-set"
    made = list(parts)
    largest = max((profile for _, profile, _ in made), key=lambda profile: profile.compute_slices)
    top = next(part for part, profile, _ in made if profile is largest)
    known = {key: text for key in CAPACITIES if (text := _known(top, key)) is not None}
    counted = [key for key in known if all(_known(part, key) is not None for part, _, _ in made)]
    everything = {_kebab(key): known[key] for key in counted} | _slices(range(memory_slices))
    if any(_EXTENDED in profile.name for _, profile, _ in made):
        everything[MEDIA_EXTENSIONS] = "1"
    devices = [_consuming(_with_capacities(whole, top, known), name, everything)]
    for part, profile, start in made:
        consumed = {_kebab(key): str(_known(part, key)) for key in counted}
        consumed |= _slices(range(start, start + profile.memory_slices))
        if _EXTENDED in profile.name:
            consumed[MEDIA_EXTENSIONS] = "1"
        devices.append(_consuming(part, name, consumed))
    counters = {counter: {"value": value} for counter, value in everything.items()}
    group = whole.name
    ordered = sorted(devices, key=lambda device: device.name)
    return [replace(device, group=group) for device in ordered], {"name": name, "counters": counters}


def dynamic_devices(
    gpus: Sequence[GpuOnHost],
    chart: ChartVersion,
    *,
    versions: tuple[str, str],
    seen: Callable[[PublishedDevice], NodeDevice],
) -> tuple[list[NodeDevice], tuple[Object, ...]]:
    """Every partition that could be made of GPUs, beside them, and the counters that they share.

    A GPU that must be reset to be partitioned stays as it started, and so does one without partitions.

    Args:
        gpus: the GPUs, not partitioned.
        chart: the driver's version.
        versions: of the GPU driver, and of CUDA.
        seen: how a device is seen on its node.
    """

    def published(gpu: GpuOnHost) -> list[PublishedDevice]:
        return nvidia_devices([gpu], driver_version=versions[0], cuda_version=versions[1], chart=chart)

    devices: list[NodeDevice] = []
    counters: list[Object] = []
    for gpu in gpus:
        found, mig = [seen(device) for device in published(gpu)], gpu.model.mig
        if mig is None or mig.needs_reset or gpu.mig is not None:
            devices += found
            continue
        (whole,) = found
        parts = [
            (seen(_unmade(part, start)), profile, start)
            for profile in mig.profiles
            for part in published(replace(gpu, mig=((profile.name, 1),)))
            for start in profile.placements or ()
        ]
        of_gpu, counter_set = dynamic_partitions(whole, parts, mig.memory_slices)
        devices += of_gpu
        counters.append(counter_set)
    return devices, tuple(counters)


def _unmade(device: PublishedDevice, start: int) -> PublishedDevice:
    """Return a partition that does not exist yet: without UUID and memory slices, named by its place."""
    return replace(
        device,
        name=f"{device.name.rpartition('-')[0]}-{start}",
        attributes={name: value for name, value in device.attributes.items() if name != "uuid"},
        capacity={
            name: value for name, value in device.capacity.items() if not name.startswith("memorySlice")
        },
    )


def with_shares(device: NodeDevice, option: str) -> NodeDevice:
    """Return a device that several claims may share.

    Args:
        device: the device.
        option: the chart's `consumableShares`: memory, unlimited, or a number of claims.
    """
    if not is_shared(device.placed, option):
        return device
    origins: dict[str, Origin] = {**device.origins}
    if option.isdigit():
        origins["shares"] = "documented"
    return replace(
        device,
        seen=with_parts(device.seen, option),
        placed=with_parts(_least(device), option),
        origins=origins,
    )


def _least(device: NodeDevice) -> Object:
    """Return the device with the least memory it may have, which limits what claims are promised."""
    capacity = {
        name: {"value": min(entry[ONE_OF], key=lambda text: Quantity.parse(text).amount)}
        for name, entry in device.seen["capacity"].items()
        if ONE_OF in entry
    }
    return {**device.placed, "capacity": {**device.placed["capacity"], **capacity}}


def _known(device: NodeDevice, name: str) -> str | None:
    value = device.seen.get("capacity", {}).get(name, {}).get("value", UNKNOWN)
    return None if value is UNKNOWN or device.origins.get(name) == "unknown" else str(value)


def _with_capacities(whole: NodeDevice, top: NodeDevice, known: Mapping[str, str]) -> NodeDevice:
    """Return the GPU with the capacities of its largest partition, as the driver then publishes it."""
    of_top: dict[str, Any] = top.seen.get("capacity", {})
    capacity: dict[str, Any] = {
        key: {"value": known[key]} if key in known else of_top.get(key, {"value": UNKNOWN})
        for key in CAPACITIES
    }
    own = whole.placed["capacity"]
    placeholder: dict[str, Any] = {
        key: {"value": known[key]} if key in known else own.get(key, {"value": "0"}) for key in CAPACITIES
    }
    origins: dict[str, Origin] = {
        **whole.origins,
        **{key: "documented" if key in known else "unknown" for key in CAPACITIES},
    }
    return replace(
        whole,
        seen={**whole.seen, "capacity": capacity},
        placed={**whole.placed, "capacity": placeholder},
        origins=origins,
    )


def _consuming(device: NodeDevice, name: str, consumed: Mapping[str, str]) -> NodeDevice:
    body = [{"counterSet": name, "counters": {key: {"value": value} for key, value in consumed.items()}}]
    return replace(
        device,
        seen={**device.seen, "consumesCounters": body},
        placed={**device.placed, "consumesCounters": body},
    )


def _slices(numbers: Iterable[int]) -> dict[str, str]:
    return {f"memory-slice-{number}": "1" for number in numbers}


def _kebab(name: str) -> str:
    return re.sub(r"([A-Z])", r"-\1", name).lower()
