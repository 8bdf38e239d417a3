"""What dra-example-driver publishes: devices that need no hardware, of a kind that its profile says.

Source: https://github.com/kubernetes-sigs/dra-example-driver, `internal/profiles` (v0.4.0).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.published import PublishedDevice, VersionAttribute, stable_uuid

if TYPE_CHECKING:
    from dra_fleet.model.published import AttributeValue, Object

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


@dataclass(frozen=True, kw_only=True)
class Options:
    """What the driver is started with.

    Attributes:
        driver: Its name.
        profile: The kind of its devices.
        count: How many, of GPUs and network cards.
        partitions: Of each GPU.
        is_shared: Whether several claims may hold parts of a GPU.
        waits_for_binding: Whether a controller must say that a GPU is ready before a pod is bound.
        numa_nodes: The devices of profile `cpu`.
        cpus: Of each NUMA node.
    """

    driver: str = "gpu.example.com"
    profile: str = "gpu"
    count: int = 8
    partitions: int = 0
    is_shared: bool = False
    waits_for_binding: bool = False
    numa_nodes: int = 8
    cpus: int = 4


def example_devices(node: str, options: Options) -> list[PublishedDevice]:
    """The devices of one node.

    Args:
        node: seeds the devices' UUIDs, as in the driver.
        options: what the driver is started with.
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
    """What a GPU and its partitions take their capacity from."""
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
    """A GPU's partitions and, after them, the GPU itself, which takes what all of them take."""
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
    """One of so many equal parts, rounded down to a whole number as the driver does."""
    whole = Quantity.parse(amount)
    return str(Quantity(Fraction(int(whole.amount) // parts), whole.format))


def _in_steps(device: PublishedDevice) -> dict[str, Object]:
    """Of each capacity a claim takes all unless it says how much, in steps of the least."""
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
