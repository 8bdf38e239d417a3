"""The devices there are: ResourceSlices read once, asked for every node, and the result of an attempt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from dra_fleet.kubernetes.cel import CelDevice
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.scheduling.taints import Taint

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.pools import DevicePool


Object = Mapping[str, Any]


Amount = int | Fraction
"""Exact amount of a capacity or counter. Nearly all are integers, which are far faster."""


class DeviceId(NamedTuple):
    """Identity of a device in a cluster."""

    driver: str
    pool: str
    device: str


class PoolId(NamedTuple):
    """Identity of a pool in a cluster."""

    driver: str
    pool: str


class CandidateNode(Struct, frozen=True):
    """The node a pod is tried on."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict[str, str])


class InUse(Struct, frozen=True):
    """Devices in use by earlier pods.

    Attributes:
        devices: Devices in exclusive use.
        capacity: What the holders of each shared device have consumed, by published name.
    """

    devices: frozenset[DeviceId] = frozenset()
    capacity: Mapping[DeviceId, Mapping[str, Amount]] = field(
        default_factory=dict[DeviceId, Mapping[str, Amount]]
    )

    def holds(self, device: DeviceId) -> bool:
        """Return whether the device or a part of it is in use."""
        return device in self.devices or device in self.capacity


@lru_cache(maxsize=4096)
def amount(text: str) -> Amount:
    """Return a quantity's amount."""
    found = Quantity.parse(text).amount
    return found.numerator if found.denominator == 1 else found


LARGEST = 2**63 - 1
"""The largest amount that the scheduler calculates with."""


def in_thousandths(value: Amount) -> bool:
    """Return whether the scheduler can count an amount in thousandths."""
    return (value * 1000) % 1 == 0 and abs(value * 1000) <= LARGEST


class Capacity(Struct, frozen=True, dict=True):
    """A published capacity, and the amounts of it that may be requested.

    Attributes:
        value: All there is.
        default: What a request that names nothing consumes, else all.
        valid_values: The amounts that can be had, ascending; empty for any.
        least, most, step: The range of amounts that can be had.
        counts_thousandths: Whether the range is not rounded to integers.
    """

    value: Amount
    default: Amount | None = None
    valid_values: tuple[Amount, ...] = ()
    least: Amount | None = None
    most: Amount | None = None
    step: Amount | None = None
    counts_thousandths: bool = False

    @cached_property
    def has_policy(self) -> bool:
        """True if the capacity restricts the amounts that may be requested."""
        limits = (self.default, self.least, self.most, self.step)
        return bool(self.valid_values) or any(limit is not None for limit in limits)

    @classmethod
    def of(cls, published: Object) -> Capacity:
        """Read an entry of ``device.capacity``."""
        policy: Object = published.get("requestPolicy") or {}
        limits: Object = policy.get("validRange") or {}
        return cls(
            value=amount(str(published["value"])),
            default=_optional(policy.get("default")),
            valid_values=tuple(amount(str(value)) for value in policy.get("validValues") or ()),
            least=_optional(limits.get("min")),
            most=_optional(limits.get("max")),
            step=_optional(limits.get("step")),
        )


def _optional(text: object) -> Amount | None:
    return None if text is None else amount(str(text))


class AllocatableDevice(Struct, frozen=True, eq=False, dict=True):
    """A published device.

    Attributes:
        id: Which one.
        published: Its entry in the slice.
        is_selected_per_node: Whether it says itself which nodes can use it.
    """

    id: DeviceId
    published: Object
    is_selected_per_node: bool

    @cached_property
    def for_selectors(self) -> CelDevice:
        """The device as a selector sees it."""
        return CelDevice.of(self.published, self.id.driver)

    @cached_property
    def is_shareable(self) -> bool:
        """True if several claims may use parts of the device."""
        return bool(self.published.get("allowMultipleAllocations"))

    @cached_property
    def capacity(self) -> dict[str, Capacity]:
        """Capacities of the device, by published name."""
        published: Object = self.published.get("capacity") or {}
        return {name: Capacity.of(value) for name, value in published.items()}

    @cached_property
    def exact_capacity(self) -> dict[str, Capacity]:
        """Capacities as Kubernetes 1.38 reads them.

        Ranges count thousandths where they can, and a name with the driver hides the name without it.
        """
        return {
            name: replace(
                found,
                counts_thousandths=all(
                    in_thousandths(limit)
                    for limit in (found.least, found.most, found.step)
                    if limit is not None
                ),
            )
            for name, found in self.capacity.items()
            if f"{self.id.driver}/{name}" not in self.capacity
        }

    @cached_property
    def consumes(self) -> tuple[tuple[str, dict[str, Amount]], ...]:
        """The counters it takes from each counter set of its pool."""
        return tuple(
            (entry["counterSet"], _counters(entry.get("counters") or {}))
            for entry in self.published.get("consumesCounters") or ()
        )

    @cached_property
    def taints(self) -> tuple[Taint, ...]:
        """Its taints that keep pods away; other effects mean nothing."""
        published = map(Taint.of, self.published.get("taints") or ())
        return tuple(taint for taint in published if taint.keeps_off)

    @property
    def has_binding_conditions(self) -> bool:
        """True if the device must be prepared before a pod is bound."""
        return bool(self.published.get("bindingConditions"))


def _counters(published: Object) -> dict[str, Amount]:
    return {name: amount(str(counter["value"])) for name, counter in published.items()}


class Slice(Struct, frozen=True, eq=False, dict=True):
    """A ResourceSlice, read."""

    name: str
    pool: PoolId
    generation: int
    slices_in_pool: int
    spec: Object
    devices: tuple[AllocatableDevice, ...]

    @classmethod
    def of(cls, published: Object) -> Slice:
        """Read a resource.k8s.io/v1 ResourceSlice."""
        spec: Object = published["spec"]
        pool: Object = spec["pool"]
        driver, name = spec["driver"], pool["name"]
        per_node = bool(spec.get("perDeviceNodeSelection"))
        return cls(
            name=published["metadata"]["name"],
            pool=PoolId(driver, name),
            generation=int(pool.get("generation", 0)),
            slices_in_pool=int(pool["resourceSliceCount"]),
            spec=spec,
            devices=tuple(
                AllocatableDevice(DeviceId(driver, name, device["name"]), device, per_node)
                for device in spec.get("devices") or ()
            ),
        )

    @cached_property
    def counter_sets(self) -> dict[str, dict[str, Amount]]:
        """The counters its pool's devices share; meaningful only when names are unique."""
        return {
            entry["name"]: _counters(entry.get("counters") or {})
            for entry in self.spec.get("sharedCounters") or ()
        }

    @cached_property
    def has_groups(self) -> bool:
        """True if a device of the slice declares compatibility groups."""
        return any(
            entry.get("compatibilityGroups")
            for device in self.devices
            for entry in device.published.get("consumesCounters") or ()
        )

    @property
    def has_counters(self) -> bool:
        """True if the slice publishes shared counters."""
        return bool(self.spec.get("sharedCounters"))


class Inventory:
    """All ResourceSlices of a cluster, indexed by the node that can use them."""

    def __init__(self, slices: Iterable[Object]) -> None:
        self.slices = tuple(Slice.of(published) for published in slices)
        self.of_pool: dict[PoolId, list[Slice]] = defaultdict(list)
        for found in self.slices:
            self.of_pool[found.pool].append(found)
        self.gathered: dict[Hashable, Sequence[DevicePool]] = {}
        """The pools that nodes can use, as they were asked for."""
        self._indexes: dict[bool, _Index] = {}

    def candidates(self, node: CandidateNode, *, counters_everywhere: bool) -> list[Slice]:
        """Return the slices that may concern a node; the others certainly do not.

        Args:
            node: The node.
            counters_everywhere: Whether slices with counters concern every node.
        """
        index = self._indexes.get(counters_everywhere)
        if index is None:
            index = self._indexes[counters_everywhere] = self._index(counters_everywhere=counters_everywhere)
        return [*index.on_node.get(node.name, ()), *index.shared]

    def _index(self, *, counters_everywhere: bool) -> _Index:
        index = _Index()
        for found in self.slices:
            node: str = found.spec.get("nodeName") or ""
            is_local = node and not (counters_everywhere and found.has_counters)
            (index.on_node[node] if is_local else index.shared).append(found)
        return index


class _Index(Struct, frozen=True):
    """Slices by node, and those that may concern any."""

    on_node: dict[str, list[Slice]] = field(default_factory=lambda: defaultdict(list))
    shared: list[Slice] = field(default_factory=list["Slice"])


class Allocated(Struct, frozen=True):
    """A device allocated to a request.

    Attributes:
        request: The request's name, or request/subrequest.
        device: Which device.
        consumed: The capacity a shared device gives up, by its published name; empty for an exclusive device.
        admin_access: Whether the device is only borrowed by an administrator.
    """

    request: str
    device: DeviceId
    consumed: Mapping[str, Amount] = field(default_factory=dict[str, "Amount"])
    admin_access: bool = False


class Allocation(Struct, frozen=True):
    """Every claim has its devices: one tuple per claim, in the order of its requests."""

    claims: tuple[tuple[Allocated, ...], ...]


class NoFit(Struct, frozen=True):
    """The claims do not fit on this node; another node may do."""

    reason: str = "cannot allocate all claims"


class Failure(Struct, frozen=True):
    """The scheduler gives up on the pod for all nodes, with this message."""

    message: str


class Undecided(Struct, frozen=True):
    """The answer depends on a value that is not known before the device exists."""

    message: str


class TimedOut(Struct, frozen=True):
    """The search took more steps than were allowed."""

    message: str = "timed out trying to allocate devices"


Outcome = Allocation | NoFit | Failure | Undecided | TimedOut


class Stop(Exception):  # noqa: N818 - an answer on its way up, not an error
    """Ends a search with its answer."""

    def __init__(self, outcome: NoFit | Failure | Undecided | TimedOut) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome
