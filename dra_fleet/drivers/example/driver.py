"""The example driver of the Kubernetes project: devices without hardware, for clusters that have none.

It publishes whole GPUs, partitions that share counters, and parts of either, on every node where it runs.
Source: https://github.com/kubernetes-sigs/dra-example-driver, deployments/helm and `internal/profiles/gpu`
(2026-07, v0.4.0).
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace
from typing_extensions import override

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.base import Driver
from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.common.selectors import quoted
from dra_fleet.drivers.common.value_checks import default_namespace
from dra_fleet.drivers.common.values import value_at
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.minors import PARTITIONS, is_on
from dra_fleet.kubernetes.scheduling.taints import toleration_list
from dra_fleet.model.nodes import GIVE_SLICES, Published
from dra_fleet.model.specs import PublishedDevice, VersionAttribute, stable_uuid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import NodeDevice, Object
    from dra_fleet.model.plan import ChartValues, PoolPlan
    from dra_fleet.model.specs import AttributeValue


# Devices of dra-example-driver: they need no hardware, and the profile decides their kind.
#
# Source: https://github.com/kubernetes-sigs/dra-example-driver, `internal/profiles` (v0.4.0).

PROFILES = ("gpu", "cpu", "net")
"""https://github.com/kubernetes-sigs/dra-example-driver/blob/v0.4.0/deployments/helm/dra-example-driver/values.schema.json"""

_WHOLE = {"memory": "80Gi", "compute": "100"}

_LEAST = {"memory": "1Gi", "compute": "1"}

_BINDING = {
    "bindingConditions": ["BindingConditions"],
    "bindingFailureConditions": ["BindingFailureConditions"],
}

_SHARED = {"allowMultipleAllocations": True}

_BANDWIDTH = {"default": "1G", "validRange": {"min": "100M", "max": "100G", "step": "1M"}}


class Options(Struct, frozen=True, kw_only=True):
    """Options at the driver's start.

    Attributes:
        driver: Its name.
        profile: The kind of its devices.
        count: Number of GPUs or network cards.
        partitions: Partitions of each GPU.
        is_shared: True if claims may share a GPU.
        waits_for_binding: True if a controller must report a GPU as ready before a pod is bound.
        numa_nodes: Number of NUMA nodes, the devices of profile `cpu`.
        cpus: CPUs of each NUMA node.
    """

    driver: str = "gpu.example.com"
    profile: str = "gpu"
    count: int = 8
    partitions: int = 0
    is_shared: bool = False
    waits_for_binding: bool = False
    numa_nodes: int = 8
    cpus: int = 4


CONTROLLER_PLUGINS: Final = ("BindingConditions",)
"""https://github.com/kubernetes-sigs/dra-example-driver/blob/v0.4.0/cmd/dra-example-controller/main.go#L47."""

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


class Example(Driver):
    """The example driver."""

    name = "example"
    sharing_value = "gpuAllowMultipleAllocations"
    publishers = {"gpu.example.com": "dra-example-kubeletplugin"}
    intents = {"product": "model", "memory": "memory"}
    plugin_section = "kubeletPlugin"
    # A loop over the index: https://github.com/kubernetes-sigs/dra-example-driver,
    # `internal/profiles/gpu/gpu.go` (v0.4.0, 2026-11-22).
    order = "by index"
    order_with_counters = "by index"

    @override
    def values(self, release: Release) -> ChartValues:
        """Use the GPU profile and tolerate the pools' taints."""
        chosen: dict[str, Any] = {"deviceProfile": "gpu"}
        tolerations = toleration_list(taint for pool in release.pools for taint in pool.taints)
        if tolerations:
            chosen["kubeletPlugin"] = {"tolerations": tolerations}
        return chosen

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        found: list[Refusal] = []
        profile = value_at(final, "deviceProfile", default="gpu")
        if profile not in PROFILES:
            found.append(
                Refusal(
                    path="deviceProfile",
                    what="is rejected by the chart",
                    got=str(profile),
                    allowed=", ".join(PROFILES),
                )
            )
        plugins = cast("Sequence[object]", value_at(final, "controller.plugins", default=None) or ())
        found += [
            Refusal(
                path=f"controller.plugins[{index}]",
                what="is not a plugin of the controller, which exits",
                got=str(name),
                allowed=", ".join(CONTROLLER_PLUGINS),
            )
            for index, name in enumerate(plugins)
            if name not in CONTROLLER_PLUGINS
        ]
        return [*found, *default_namespace(release, final)]

    @override
    def priority_class_keys(self, values: ChartValues) -> Sequence[str]:
        return ("kubeletPlugin.priorityClassName",)

    @override
    def serves(self, machine: Machine) -> bool:
        return True

    @override
    def classes(self, installed: Installed) -> Mapping[str, str]:
        profile = value_at(installed.values, "deviceProfile") or "gpu"
        name = str(value_at(installed.values, "driverName") or f"{profile}.example.com")
        return {name: f"device.driver == {quoted(name)}"}

    @override
    def predict(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        name = self.facts.driver
        devices, reason, counters = _devices(installed, minor)
        return Published(
            devices=tuple(devices),
            unpredictable={name: reason} if reason else {},
            counters={name: counters} if counters else {},
            known_drivers=frozenset({name}),
        )


def _devices(driver: Installed, minor: str) -> tuple[list[NodeDevice], str, tuple[Object, ...]]:
    """Return the devices of a node, the reason if they are unknown, and their shared counters."""
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
    made = example_devices("example", options)
    devices = [known_device(options.driver, device, _PER_HOST) for device in made]
    return devices, "", tuple(example_counters(options)) if is_on(PARTITIONS, minor) else ()


DRIVER: Final = Example()


def example_devices(node: str, options: Options) -> list[PublishedDevice]:
    """Return the devices of one node.

    Args:
        node: seeds the devices' UUIDs, as in the driver.
        options: the driver's options.
    """
    if options.profile == "net":
        return [_network_card(node, index) for index in range(options.count)]
    if options.profile == "cpu":
        return [_numa_node(index, options) for index in range(options.numa_nodes)]
    gpus = (_gpu(node, index) for index in range(options.count))
    parts = options.partitions
    devices = [part for gpu in gpus for part in (_cut(gpu, parts) if parts > 0 else [gpu])]
    if options.is_shared:
        devices = [
            replace(device, policies=_in_steps(device), more={**device.more, **_SHARED}) for device in devices
        ]
    if options.waits_for_binding:
        devices = [replace(device, more={**device.more, **_BINDING}) for device in devices]
    return devices


def example_counters(options: Options) -> list[Object]:
    """Return the counters that a GPU and its partitions consume."""
    if options.profile != "gpu" or options.partitions <= 0:
        return []
    counters = _values(_WHOLE)
    return [{"name": _counters_of(index), "counters": counters} for index in range(options.count)]


def _gpu(node: str, index: int) -> PublishedDevice:
    return PublishedDevice(
        name=f"gpu-{index}", attributes=_product("gpu", node, index), capacity=dict(_WHOLE)
    )


def _product(kind: str, node: str, index: int) -> dict[str, AttributeValue | VersionAttribute]:
    return {
        "index": index,
        "uuid": f"{kind}-{stable_uuid('example', node, index)}",
        "model": f"LATEST-{kind.upper()}-MODEL",
        "driverVersion": VersionAttribute("1.0.0"),
    }


def _cut(gpu: PublishedDevice, parts: int) -> list[PublishedDevice]:
    """Return a GPU's partitions and then the GPU itself, which consumes what all of them consume."""
    share = {name: _part(amount, parts) for name, amount in _WHOLE.items()}
    made: list[tuple[str, dict[str, Any], dict[str, str]]] = [
        (f"{gpu.name}-partition-{number}", {"partition": number, "partitionable": True}, share)
        for number in range(parts)
    ]
    made.append((f"{gpu.name}-full", {"partitionable": True, "full": True}, _WHOLE))
    counters = _counters_of(gpu.name.removeprefix("gpu-"))
    return [
        PublishedDevice(
            name=name,
            attributes={**gpu.attributes, **marks},
            capacity=dict(amounts),
            more={"consumesCounters": [{"counterSet": counters, "counters": _values(amounts)}]},
        )
        for name, marks, amounts in made
    ]


def _counters_of(index: int | str) -> str:
    return f"gpu-{index}-counters"


def _values(amounts: dict[str, str]) -> Object:
    return {name: {"value": value} for name, value in amounts.items()}


def _part(amount: str, parts: int) -> str:
    """Return one of `parts` equal parts, rounded down to a whole number as the driver does."""
    whole = Quantity.parse(amount)
    return str(Quantity(Fraction(int(whole.amount) // parts), whole.format))


def _in_steps(device: PublishedDevice) -> dict[str, Object]:
    """Return the request policy of each capacity: by default all of it, in steps of the minimum."""
    return {
        name: {"default": value, "validRange": {"min": _LEAST[name], "max": value, "step": _LEAST[name]}}
        for name, value in device.capacity.items()
    }


def _network_card(node: str, index: int) -> PublishedDevice:
    return PublishedDevice(
        name=f"nic-{index}",
        attributes=_product("net", node, index),
        capacity={"vfs": "100", "ingressBandwidth": "100G", "egressBandwidth": "100G"},
        policies={
            "vfs": {"default": "1", "validValues": ["1"]},
            "ingressBandwidth": _BANDWIDTH,
            "egressBandwidth": _BANDWIDTH,
        },
        more=_SHARED,
    )


def _numa_node(index: int, options: Options) -> PublishedDevice:
    cpu = f"{options.driver}/cpu"
    return PublishedDevice(
        name=f"numa-{index}",
        attributes={"numaNodeID": index},
        capacity={cpu: str(options.cpus)},
        more={**_SHARED, "nodeAllocatableResourceMappings": {"cpu": {"capacityKey": cpu}}},
    )
