"""Devices, labels, taints and resources of one node for the proof, as plain values."""

from __future__ import annotations

from collections import Counter
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from msgspec import Struct, field

from dra_fleet.kubernetes.cel import CelDevice
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.kubernetes.scheduling.taints import Taint

Object = dict[str, Any]
Origin = Literal["recorded", "documented", "unknown"]

NODE = "node"
"""The name under which a shape's devices are allocated; nodes of one shape differ in nothing else."""
GIVE_SLICES = "give recorded slices (`kubectl get nodes,resourceslices -o json`) with --slices"
"""Advice for devices that cannot be predicted."""
MOST_PODS = 110
"""Pods a kubelet admits by default: https://kubernetes.io/docs/setup/best-practices/cluster-large/."""


class NodeDevice(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """A device of a node.

    Attributes:
        driver: The driver that publishes it.
        name: Its name in the pool.
        seen: Its entry in the slice with UNKNOWN for every unpredictable value.
        placed: The same entry with placeholders that are equal only for devices that share the unknown value.
        origins: Source of each attribute and capacity.
        multiprocessors: Of the hardware behind it, where the driver does not publish them.
        group: Devices of one group share a slice where the driver splits its slices.
        part: The vGPU's part of a GPU, such as "1/6 of a GPU (A10-4Q)"; empty for other devices.
    """

    driver: str
    name: str
    seen: Object
    placed: Object
    origins: Mapping[str, Origin]
    multiprocessors: int | None = None
    group: str = ""
    part: str = ""

    @cached_property
    def key(self) -> tuple[str, str]:
        """Unique key of the device within its node."""
        return (self.driver, self.name)

    @cached_property
    def subject(self) -> CelDevice:
        """The device as a selector sees it."""
        return CelDevice.of(self.seen, self.driver)


class Published(NamedTuple):
    """Devices that drivers publish on a node.

    Attributes:
        devices: All devices, as the drivers send them.
        unpredictable: Reasons for unknown devices, by driver's name.
        counters: Counter sets that devices share, by driver's name.
        known_drivers: Names of the drivers whose devices here are known, even if there are none.
    """

    devices: tuple[NodeDevice, ...] = ()
    unpredictable: Mapping[str, str] = {}
    counters: Mapping[str, tuple[Object, ...]] = {}
    known_drivers: frozenset[str] = frozenset()


class ComputeResources(NamedTuple):
    """Thousandths of a CPU, bytes of memory and pods: what a node has for workloads, or what pods take."""

    cpu: int
    memory: int
    pods: int

    @classmethod
    def of(cls, cpu: str, memory: str, pods: int) -> ComputeResources:
        """Read quantities."""
        return cls(ceil(Quantity.parse(cpu).amount * 1000), ceil(Quantity.parse(memory).amount), pods)

    def holds(self, taken: ComputeResources) -> bool:
        """Return True if `taken` fits."""
        return taken.cpu <= self.cpu and taken.memory <= self.memory and taken.pods <= self.pods

    def plus(self, other: ComputeResources, times: int = 1) -> ComputeResources:
        """Return the sum of this and `times` the other."""
        return ComputeResources(
            self.cpu + times * other.cpu, self.memory + times * other.memory, self.pods + times * other.pods
        )


NOTHING = ComputeResources(0, 0, 0)
"""Resources in use on an empty node."""
ONE_POD = ComputeResources(0, 0, 1)
"""Resources in use by a pod of which nothing else is known."""


class NodeShape(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """A node; all nodes of one shape are alike for the scheduler.

    Attributes:
        labels: Known labels.
        knows_labels: True if there are no other labels.
        lacks_labels: Keys of labels that it certainly lacks.
        known_drivers: Drivers whose devices here are known, even if there are none.
        taints: Its taints.
        resources: Maximum resources for pods.
        sure resources: Resources that are certainly left for pods.
        devices: All devices of all drivers, as published.
        unpredictable: Reasons for unknown devices, by driver.
        counters: Counter sets that devices share, by driver.
        in_order: Drivers that always publish their devices in this order. Others may use another order after
            each start.
    """

    labels: Mapping[str, str]
    knows_labels: bool
    taints: tuple[Taint, ...]
    resources: ComputeResources
    sure_resources: ComputeResources
    devices: tuple[NodeDevice, ...]
    unpredictable: Mapping[str, str]
    counters: Mapping[str, tuple[Object, ...]] = field(default_factory=dict[str, tuple[Object, ...]])
    lacks_labels: frozenset[str] = frozenset()
    known_drivers: frozenset[str] = frozenset()
    in_order: frozenset[str] = frozenset()

    @property
    def any_order(self) -> frozenset[str]:
        """The drivers whose devices may come in any order."""
        return frozenset(device.driver for device in self.devices) - self.in_order

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """Number of devices that each driver publishes."""
        return Counter(device.driver for device in self.devices)

    @cached_property
    def subjects(self) -> frozenset[str]:
        """The keys of its devices as selectors see them."""
        return frozenset(device.subject.key for device in self.devices)

    @cached_property
    def shares_devices(self) -> bool:
        """True if several pods may share a device."""
        return any(device.seen.get("allowMultipleAllocations") for device in self.devices)

    @cached_property
    def is_simple(self) -> bool:
        """True if each device is wholly allocated or free: no shares, counters, taints or conditions."""
        special = ("allowMultipleAllocations", "consumesCounters", "taints", "bindingConditions")
        return not any(device.seen.get(key) for device in self.devices for key in special)


class NodeGroup(Struct, frozen=True, kw_only=True, eq=False):
    """Nodes of one shape in one pool: how many at least and at most."""

    pool: str
    shape: NodeShape
    least: int
    most: int
