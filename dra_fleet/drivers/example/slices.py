"""What dra-example-driver will publish: whole GPUs, partitions that share counters, and parts of either.

Source: https://github.com/kubernetes-sigs/dra-example-driver, `internal/profiles/gpu` (2026-07, v0.4.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.example.devices import Options, example_counters, example_devices
from dra_fleet.kubernetes.minors import PARTITIONS, is_on
from dra_fleet.model.nodes import GIVE_SLICES, Published

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.nodes import NodeDevice, Object
    from dra_fleet.model.plan import PoolPlan

MOST_WITH_COUNTERS = 64
"""Devices of one slice that may consume counters:
https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-slice-v1/."""
MOST_DEVICES = 128
"""Devices of one slice."""
_TOO_MANY = (
    "the example driver puts all {count} devices{which} into one slice, which the API server "
    "refuses beyond {most}; lower kubeletPlugin.numDevices or kubeletPlugin.gpuPartitions"
)
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


def accelerators_of(machine: Machine) -> None:
    """Nothing: any machine has its devices."""
    del machine


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
    options = Options(
        driver=driver.facts.driver,
        count=cast("int", value_at(values, "kubeletPlugin.numDevices", default=8)),
        partitions=cast("int", value_at(values, "kubeletPlugin.gpuPartitions", default=0)),
        is_shared=cast("bool", value_at(values, "gpuAllowMultipleAllocations", default=False)),
    )
    count, parts = options.count, options.partitions
    if count > MOST_DEVICES:
        return [], _TOO_MANY.format(count=count, which="", most=MOST_DEVICES), ()
    if parts > 0 and count * (parts + 1) > MOST_WITH_COUNTERS:
        which, devices_made = " that share counters", count * (parts + 1)
        return [], _TOO_MANY.format(count=devices_made, which=which, most=MOST_WITH_COUNTERS), ()
    made = example_devices("stand-in", options)
    devices = [known_device(options.driver, device, _PER_HOST) for device in made]
    return devices, "", tuple(example_counters(options)) if is_on(PARTITIONS, minor) else ()
