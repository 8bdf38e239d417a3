"""What one node offers, as the proof sees it: devices, labels, taints and resources. Plain values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

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
"""What makes known what cannot be predicted of a node."""
MOST_PODS = 110
"""Pods a kubelet admits by default: https://kubernetes.io/docs/setup/best-practices/cluster-large/."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeDevice:
    """One device of a node.

    Attributes:
        driver: The driver that publishes it.
        name: Its name in the pool.
        seen: Its entry in the slice with UNKNOWN for every value that nobody can know yet.
        placed: The same with stand-ins that keep which devices share an unknown value and which do not.
        origins: Where each attribute and capacity is known from.
        multiprocessors: Of the hardware behind it, where the driver does not publish them.
        group: Devices of one group share a slice where the driver splits its slices.
        part: Which part of which GPU a vGPU is, such as "1/6 of a GPU (A10-4Q)"; empty for other devices.
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
        """What tells it from the others of its node."""
        return (self.driver, self.name)

    @cached_property
    def subject(self) -> CelDevice:
        """The device as a selector sees it."""
        return CelDevice.of(self.seen, self.driver)


class Published(NamedTuple):
    """What drivers publish on a node.

    Attributes:
        devices: All devices, as the drivers send them.
        unpredictable: Why what is published under a driver's name cannot be told, by that name.
        counters: By driver's name the counter sets that its devices share.
        told: The drivers' names under which it is known what is published here, even if that is nothing.
    """

    devices: tuple[NodeDevice, ...] = ()
    unpredictable: Mapping[str, str] = {}
    counters: Mapping[str, tuple[Object, ...]] = {}
    told: frozenset[str] = frozenset()


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
        """Whether as much as `taken` fits in."""
        return taken.cpu <= self.cpu and taken.memory <= self.memory and taken.pods <= self.pods

    def plus(self, other: ComputeResources, times: int = 1) -> ComputeResources:
        """This and `times` the other."""
        return ComputeResources(
            self.cpu + times * other.cpu, self.memory + times * other.memory, self.pods + times * other.pods
        )


NOTHING = ComputeResources(0, 0, 0)
"""What an empty node holds."""
ONE_POD = ComputeResources(0, 0, 1)
"""What a pod takes of which nothing else is known."""


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeShape:
    """One node; all nodes of one shape are alike for the scheduler.

    Attributes:
        labels: The labels that are known.
        knows_labels: Whether there are no others.
        lacks_labels: Keys of labels that it has not for certain.
        told: The drivers of which it is known what they publish here, even if that is nothing.
        taints: Its taints.
        resources: What pods may take of it at most.
        sure resources: What is left to them for certain.
        devices: All devices of all drivers, as published.
        unpredictable: Why what a driver publishes here cannot be told, by driver.
        counters: By driver the counter sets that its devices share.
        in_order: The drivers that always publish their devices in the order in which they stand here; those
            of all others may come in any order, and in another one after each start of the driver.
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
    told: frozenset[str] = frozenset()
    in_order: frozenset[str] = frozenset()

    @property
    def any_order(self) -> frozenset[str]:
        """The drivers whose devices may come in any order."""
        return frozenset(device.driver for device in self.devices) - self.in_order

    @cached_property
    def sizes(self) -> Mapping[str, int]:
        """How many devices each driver publishes."""
        return Counter(device.driver for device in self.devices)

    @cached_property
    def subjects(self) -> frozenset[str]:
        """The keys of its devices as selectors see them."""
        return frozenset(device.subject.key for device in self.devices)

    @cached_property
    def shares_devices(self) -> bool:
        """Whether several pods may hold one device."""
        return any(device.seen.get("allowMultipleAllocations") for device in self.devices)

    @cached_property
    def is_simple(self) -> bool:
        """Whether each device is held whole or free: no shares, counters, taints or binding conditions."""
        special = ("allowMultipleAllocations", "consumesCounters", "taints", "bindingConditions")
        return not any(device.seen.get(key) for device in self.devices for key in special)


@dataclass(frozen=True, eq=False, kw_only=True)
class NodeGroup:
    """Nodes of one shape in one pool: how many at least and at most."""

    pool: str
    shape: NodeShape
    least: int
    most: int
