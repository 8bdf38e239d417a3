"""What dra-example-driver will publish: whole GPUs, partitions that share counters, and parts of either.

Source: https://github.com/kubernetes-sigs/dra-example-driver, `internal/profiles/gpu` (2026-07, v0.4.0).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.example.devices import COMPUTE, MEMORY, example_devices
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.minors import PARTITIONS, is_on
from dra_fleet.model.nodes import GIVE_SLICES, Published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.driver import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.nodes import NodeDevice, Object
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.model.published import AttributeValue, PublishedDevice, VersionAttribute

MOST_WITH_COUNTERS = 64
"""Devices of one slice that may consume counters:
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-slice-v1/."""
MOST_DEVICES = 128
"""Devices of one slice."""
_TOO_MANY = (
    "the example driver puts all {count} devices{which} into one slice, which the API server "
    "refuses beyond {most}; lower kubeletPlugin.numDevices or kubeletPlugin.gpuPartitions"
)
_LEAST = {"memory": "1Gi", "compute": "1"}
_UNUSUAL = (
    ("deviceProfile", "gpu"),
    ("driverName", "gpu.example.com"),
    ("kubeletPlugin.bindingConditions", False),
)
_PER_HOST = frozenset({"uuid"})


def serves(machine: Machine) -> bool:
    """Whether a machine has devices of the driver: it makes them up wherever it runs."""
    del machine
    return True


def accelerators() -> Mapping[str, int | None]:
    """None: any machine has its devices."""
    return {}


def publishes(pool: PoolPlan, driver: Installed, minor: str) -> Published:
    """The same devices on every node.

    Args:
        pool: the pool.
        driver: the example driver as it runs there.
        minor: the cluster's Kubernetes minor.
    """
    del pool
    name = driver.facts.driver
    devices, reason, counters = _devices(driver, minor)
    return Published(
        devices=tuple(devices),
        unpredictable={name: reason} if reason else {},
        counters={name: counters} if counters else {},
        told=frozenset({name}),
    )


def _devices(driver: Installed, minor: str) -> tuple[list[NodeDevice], str, tuple[Object, ...]]:
    """The devices of a node, why they cannot be told, and the counters that they share."""
    values = driver.values
    changed = [key for key, usual in _UNUSUAL if value_at(values, key) not in (None, "", usual)]
    if changed:
        return (
            [],
            f"value {changed[0]} changes what the {driver.facts.name} driver publishes; {GIVE_SLICES}",
            (),
        )
    count = cast("int", value_at(values, "kubeletPlugin.numDevices", default=8))
    parts = cast("int", value_at(values, "kubeletPlugin.gpuPartitions", default=0))
    if count > MOST_DEVICES:
        return [], _TOO_MANY.format(count=count, which="", most=MOST_DEVICES), ()
    whole = example_devices(node="stand-in", count=count)
    name = driver.facts.driver
    if parts <= 0:
        devices = [known_device(name, device, _PER_HOST) for device in whole]
        counters: tuple[Object, ...] = ()
    elif count * (parts + 1) > MOST_WITH_COUNTERS:
        which, devices_made = " that share counters", count * (parts + 1)
        return [], _TOO_MANY.format(count=devices_made, which=which, most=MOST_WITH_COUNTERS), ()
    else:
        devices = [part for index, device in enumerate(whole) for part in _cut(name, device, index, parts)]
        counters = tuple(_counters(index) for index in range(count)) if is_on(PARTITIONS, minor) else ()
    if value_at(values, "gpuAllowMultipleAllocations", default=False):
        devices = [_shared(device) for device in devices]
    return devices, "", counters


def _cut(driver: str, whole: PublishedDevice, index: int, parts: int) -> list[NodeDevice]:
    """A GPU's partitions and, after them, the GPU itself, which takes what all of them take."""
    share = {"memory": _part(MEMORY, parts), "compute": _part(COMPUTE, parts)}
    everything = {"memory": MEMORY, "compute": COMPUTE}
    made = [
        (f"gpu-{index}-partition-{number}", {"partition": number, "partitionable": True}, share)
        for number in range(parts)
    ]
    made.append((f"gpu-{index}-full", {"partitionable": True, "full": True}, everything))
    found: list[NodeDevice] = []
    for name, marks, amounts in made:
        attributes: dict[str, AttributeValue | VersionAttribute] = {**whole.attributes, **marks}
        published = replace(whole, name=name, attributes=attributes, capacity=amounts)
        device = known_device(driver, published, _PER_HOST)
        consumed = {key: {"value": value} for key, value in amounts.items()}
        consumes = [{"counterSet": f"gpu-{index}-counters", "counters": consumed}]
        found.append(
            replace(
                device,
                seen={**device.seen, "consumesCounters": consumes},
                placed={**device.placed, "consumesCounters": consumes},
            )
        )
    return found


def _counters(index: int) -> Object:
    counters = {"memory": {"value": MEMORY}, "compute": {"value": COMPUTE}}
    return {"name": f"gpu-{index}-counters", "counters": counters}


def _part(amount: str, parts: int) -> str:
    """One of so many equal parts, rounded down to a whole number as the driver does."""
    whole = Quantity.parse(amount)
    return str(Quantity(Fraction(int(whole.amount) // parts), whole.format))


def _shared(device: NodeDevice) -> NodeDevice:
    return replace(device, seen=_with_policies(device.seen), placed=_with_policies(device.placed))


def _with_policies(body: Object) -> Object:
    """Of each capacity a claim takes all unless it says how much, in steps of the least."""
    capacity: dict[str, Any] = {}
    for name, entry in body["capacity"].items():
        value, least = entry["value"], _LEAST[name]
        policy = {"default": value, "validRange": {"min": least, "max": value, "step": least}}
        capacity[name] = {"value": value, "requestPolicy": policy}
    return {**body, "allowMultipleAllocations": True, "capacity": capacity}
