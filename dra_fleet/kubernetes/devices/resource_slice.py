"""ResourceSlices: the devices a driver publishes, with the API server's own rules.

Rules that span slices of a pool (unique device names, counters that exist) are the allocator's.
Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-slice-v1/
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from dra_fleet.kubernetes.devices.base import DeviceModel, QuantityText, as_server, refuse, since_1_38
from dra_fleet.kubernetes.devices.names import (
    AttributeText,
    DnsLabel,
    DnsSubdomain,
    DriverName,
    FullyQualifiedName,
    LabelKey,
    LabelValue,
    PoolName,
    QualifiedName,
    SemanticVersion,
    label_value,
    slashes,
)
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from fractions import Fraction


class NodeSelectorRequirement(DeviceModel):
    """A condition on one label or field of a node."""

    key: LabelKey
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _values_fit_operator(self) -> Self:
        if self.operator in ("In", "NotIn") and not self.values:
            raise refuse(f"must have values with operator {self.operator}", at="values")
        if self.operator in ("Exists", "DoesNotExist") and self.values:
            raise refuse(f"must have no values with operator {self.operator}", at="values")
        if self.operator in ("Gt", "Lt") and len(self.values) != 1:
            raise refuse(f"must have one value with operator {self.operator}", at="values")
        return self

    def wrong_value(self) -> tuple[int, str] | None:
        """Return the position of the first invalid label value, and why it is invalid."""
        problems = ((index, label_value(value)) for index, value in enumerate(self.values))
        return next(((index, problem) for index, problem in problems if problem is not None), None)


class NodeFieldRequirement(DeviceModel):
    """A condition on the node's name, the only field there is."""

    key: Literal["metadata.name"]
    operator: Literal["In", "NotIn"]
    values: Annotated[tuple[str, ...], Field(min_length=1, max_length=1)]


class NodeSelectorTerm(DeviceModel):
    """All conditions must hold."""

    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeFieldRequirement, ...] = ()

    @model_validator(mode="after")
    def _label_values(self) -> Self:
        for place, requirement in enumerate(self.match_expressions):
            wrong = requirement.wrong_value()
            if wrong is not None:
                raise refuse(wrong[1], at=("matchExpressions", place, "values", wrong[0]))
        return self


class NodeSelector(DeviceModel):
    """Any term must hold."""

    node_selector_terms: Annotated[tuple[NodeSelectorTerm, ...], Field(min_length=1)]


MAX_VALID_VALUES = 10

Path = tuple[str | int, ...]
"""The path to a value, part by part, because keys of maps may contain dots."""


class CapacityRange(DeviceModel):
    """Amounts from `min` in steps up to `max`."""

    min: QuantityText | None = None
    max: QuantityText | None = None
    step: QuantityText | None = None


class RequestPolicy(DeviceModel):
    """Amounts that a claim may consume, and its default amount."""

    default: QuantityText | None = None
    valid_values: tuple[QuantityText, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(DeviceModel):
    """An amount of something a device has."""

    value: QuantityText
    request_policy: RequestPolicy | None = None

    def check_policy(self, at: Path, *, as_server: bool) -> None:
        """Raise for a policy that contradicts itself or the value."""
        policy = self.request_policy
        if policy is None:
            return
        at = (*at, "requestPolicy")
        if policy.valid_values and policy.valid_range is not None:
            raise refuse("must have only one of validValues and validRange", at=at)
        if (policy.valid_values or policy.valid_range is not None) and policy.default is None:
            raise refuse("must have a default", at=(*at, "default"))
        if policy.default is None:
            return
        default, value = _amount(policy.default), _amount(self.value)
        if policy.valid_values:
            _check_values(
                tuple(_amount(item) for item in policy.valid_values), default, value, (*at, "validValues")
            )
        if policy.valid_range is not None:
            _check_range(policy.valid_range, default, value, (*at, "validRange"))
            if default > value and not as_server:
                raise refuse("must be at most the value", at=(*at, "default"))


def _amount(text: str) -> Fraction:
    return Quantity.parse(text).amount


def _check_values(values: tuple[Fraction, ...], default: Fraction, value: Fraction, at: Path) -> None:
    if len(values) > MAX_VALID_VALUES:
        raise refuse(f"must have at most {MAX_VALID_VALUES} values", at=at)
    if any(first >= second for first, second in pairwise(values)):
        raise refuse("must be ascending without duplicates", at=at)
    if values[-1] > value:
        raise refuse("must not exceed the capacity's value", at=at)
    if default not in values:
        raise refuse("must contain the default", at=at)


def _check_range(limits: CapacityRange, default: Fraction, value: Fraction, at: Path) -> None:
    if limits.min is None:
        raise refuse("is required", at=(*at, "min"))
    low = _amount(limits.min)
    high = None if limits.max is None else _amount(limits.max)
    if not low <= default or low > value or (high is not None and not default <= high <= value):
        raise refuse("must satisfy min <= default <= max <= value", at=at)
    if limits.step is None:
        return
    step = _amount(limits.step)
    if step <= 0 or low + step > value:
        raise refuse("must be positive, and min + step at most the value", at=(*at, "step"))
    # The server counts in whole numbers, rounded up: `validateRequestPolicyRangeStep` of
    # https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/apis/resource/validation/validation.go.
    ends = [default] if high is None else [default, high]
    if any((ceil(end) - ceil(low)) % ceil(step) for end in ends):
        raise refuse("must divide default - min and max - min", at=(*at, "step"))


MAX_DEVICES = 128

MAX_DEVICES_ADVANCED = 64

MAX_ATTRIBUTES_AND_CAPACITIES = 32

MAX_ATTRIBUTE_VALUES = 48

MAX_COUNTER_SETS = 8

MAX_COUNTERS = 32

MAX_CONSUMED_SETS = 2

MAX_TAINTS = 16

MAX_BINDING_CONDITIONS = 4

MAX_GROUPS = 2

INT64 = 2**63

Int64 = Annotated[int, Field(ge=-INT64, lt=INT64)]

NodeName = DnsSubdomain


def _no_negative(text: str) -> str:
    if _amount(text) < 0:
        raise refuse("must not be negative")
    return text


def _positive(text: str) -> str:
    if _amount(text) <= 0:
        raise refuse("must be positive")
    return text


NoNegativeQuantity = Annotated[QuantityText, AfterValidator(_no_negative)]
PositiveQuantity = Annotated[QuantityText, AfterValidator(_positive)]


def _only_true(value: bool) -> bool:
    if not value:
        raise refuse("must be unset or true")
    return value


OnlyTrue = Annotated[bool, AfterValidator(_only_true)]


class DeviceAttribute(DeviceModel):
    """A value of exactly one type."""

    kept_when_empty = frozenset({"string"})

    int_: Int64 | None = None
    bool_: bool | None = None
    string: AttributeText | None = None
    version: SemanticVersion | None = None
    ints: Annotated[tuple[Int64, ...], Field(min_length=1)] | None = None
    bools: Annotated[tuple[bool, ...], Field(min_length=1)] | None = None
    strings: Annotated[tuple[AttributeText, ...], Field(min_length=1)] | None = None
    versions: Annotated[tuple[SemanticVersion, ...], Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if len(self.set_fields()) != 1:
            raise refuse(
                "must have exactly one of int, bool, string, version, ints, bools, strings, versions"
            )
        return self

    def set_fields(self) -> tuple[str, ...]:
        """Return the names of the types that have a value."""
        return tuple(name for name in type(self).model_fields if getattr(self, name) is not None)

    @property
    def values(self) -> int:
        """Number of values that the attribute counts for."""
        return sum(len(items) for items in (self.ints, self.bools, self.strings, self.versions) if items) or 1

    @property
    def is_list(self) -> bool:
        """True if it is one of the list types."""
        return any(items is not None for items in (self.ints, self.bools, self.strings, self.versions))


class Counter(DeviceModel):
    """An amount of a counter."""

    value: QuantityText


Counters = Annotated[dict[DnsLabel, Counter], Field(min_length=1, max_length=MAX_COUNTERS)]


class CounterSet(DeviceModel):
    """Counters that the devices of a pool share."""

    name: DnsLabel
    counters: Counters


class CounterConsumption(DeviceModel):
    """Amounts that an allocated device consumes from a counter set."""

    counter_set: DnsLabel
    counters: Counters
    compatibility_groups: Annotated[tuple[DnsLabel, ...], Field(max_length=MAX_GROUPS)] = ()


class DeviceTaint(DeviceModel):
    """Keeps claims away from a device unless they tolerate it."""

    key: LabelKey
    value: LabelValue = ""
    effect: Literal["None", "NoSchedule", "NoExecute"]
    time_added: str | None = None


class NodeAllocatableMapping(DeviceModel):
    """Multiples of a device or of its capacity that count as a resource of the node."""

    capacity_key: str | None = None
    capacity_multiplier: PositiveQuantity | None = None
    device_multiplier: PositiveQuantity | None = None

    @model_validator(mode="after")
    def _together(self) -> Self:
        if (self.capacity_key is None) != (self.capacity_multiplier is None):
            raise refuse("must have capacityKey and capacityMultiplier together")
        return self


class NodeAllocatableOverhead(DeviceModel):
    """Amounts of a node's resource that the use of a device costs."""

    per_pod: NoNegativeQuantity | None = None
    per_container: NoNegativeQuantity | None = None

    @model_validator(mode="after")
    def _any(self) -> Self:
        if self.per_pod is None and self.per_container is None:
            raise refuse("must have perPod or perContainer")
        return self


class NodeAllocatableResource(DeviceModel):
    """A device's part of a resource of the node, from Kubernetes 1.37."""

    mapping: NodeAllocatableMapping | None = None
    overhead: NodeAllocatableOverhead | None = None

    @model_validator(mode="after")
    def _any(self) -> Self:
        if self.mapping is None and self.overhead is None:
            raise refuse("must have mapping or overhead")
        return self


class NodeAllocatableResourceMapping(DeviceModel):
    """The same in Kubernetes 1.36."""

    capacity_key: str | None = None
    allocation_multiplier: PositiveQuantity | None = None


class SliceDevice(DeviceModel):
    """A device of a node, or a partition of one."""

    name: DnsLabel
    attributes: dict[QualifiedName, DeviceAttribute] = Field(default_factory=dict)
    capacity: dict[QualifiedName, DeviceCapacity] = Field(default_factory=dict)
    consumes_counters: Annotated[tuple[CounterConsumption, ...], Field(max_length=MAX_CONSUMED_SETS)] = ()
    node_name: NodeName | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool | None = None
    taints: Annotated[tuple[DeviceTaint, ...], Field(max_length=MAX_TAINTS)] = ()
    binds_to_node: bool | None = None
    binding_conditions: Annotated[tuple[LabelKey, ...], Field(max_length=MAX_BINDING_CONDITIONS)] = ()
    binding_failure_conditions: Annotated[tuple[LabelKey, ...], Field(max_length=MAX_BINDING_CONDITIONS)] = ()
    allow_multiple_allocations: bool | None = None
    node_allocatable_resource_mappings: dict[str, NodeAllocatableResourceMapping] = Field(
        default_factory=dict
    )
    node_allocatable_resources: dict[str, NodeAllocatableResource] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _sizes(self) -> Self:
        if len(self.attributes) + len(self.capacity) > MAX_ATTRIBUTES_AND_CAPACITIES:
            raise refuse(
                f"must have at most {MAX_ATTRIBUTES_AND_CAPACITIES} attributes and capacities together"
            )
        if sum(attribute.values for attribute in self.attributes.values()) > MAX_ATTRIBUTE_VALUES:
            raise refuse(f"must have at most {MAX_ATTRIBUTE_VALUES} attribute values")
        return self

    @model_validator(mode="after")
    def _keys_and_nodes(self, info: ValidationInfo) -> Self:
        if not since_1_38(info):
            return self
        for field, keys in (("attributes", self.attributes), ("capacity", self.capacity)):
            for key in keys:
                if (problem := slashes(key)) is not None:
                    raise refuse(problem, at=(field, key))
        if self.node_selector is not None and len(self.node_selector.node_selector_terms) != 1:
            raise refuse("must have exactly one term", at="nodeSelector.nodeSelectorTerms")
        return self

    @model_validator(mode="after")
    def _shared_capacity(self, info: ValidationInfo) -> Self:
        for key, capacity in self.capacity.items():
            if capacity.request_policy is not None and not self.allow_multiple_allocations:
                raise refuse(
                    "must have allowMultipleAllocations true for a requestPolicy",
                    at=("capacity", key, "requestPolicy"),
                )
            if capacity.request_policy is not None:
                capacity.check_policy(("capacity", key), as_server=as_server(info))
        names = [item.counter_set for item in self.consumes_counters]
        if len(set(names)) < len(names):
            raise refuse("must name each counter set once", at="consumesCounters")
        return self

    @model_validator(mode="after")
    def _node_allocatable(self) -> Self:
        for name, mapping in self.node_allocatable_resource_mappings.items():
            at = ("nodeAllocatableResourceMappings", name)
            if "/" in name and "kubernetes.io/" not in name:
                raise refuse("must be a resource of the node", at=at)
            self._check_capacity_key(mapping.capacity_key, at)
        for name, resource in self.node_allocatable_resources.items():
            at = ("nodeAllocatableResources", name)
            if name not in ("cpu", "memory") and not name.startswith("hugepages-"):
                raise refuse("must be cpu, memory or hugepages-<size>", at=at)
            if resource.mapping is not None:
                self._check_capacity_key(resource.mapping.capacity_key, (*at, "mapping"))
        return self

    def _check_capacity_key(self, key: str | None, at: Path) -> None:
        if key is not None and key not in self.capacity:
            raise refuse("must be a capacity of the device", at=(*at, "capacityKey"))

    @model_validator(mode="after")
    def _binding(self) -> Self:
        requested, failing = self.binding_conditions, self.binding_failure_conditions
        if bool(requested) != bool(failing):
            missing = "bindingFailureConditions" if requested else "bindingConditions"
            raise refuse("must have bindingConditions and bindingFailureConditions together", at=missing)
        for name, items, taken in (
            ("bindingConditions", requested, ()),
            ("bindingFailureConditions", failing, requested),
        ):
            for index, item in enumerate(items):
                if item in (*items[:index], *taken):
                    raise refuse("must have no duplicate, and not be in both lists", at=(name, index))
        return self

    @property
    def is_advanced(self) -> bool:
        """True if the slice may contain only half as many devices because of this one."""
        return bool(self.taints or self.consumes_counters) or any(
            item.is_list for item in self.attributes.values()
        )

    def check_nodes(self, *, per_device: bool, at: str) -> None:
        """Check a device's own node selection, which depends on its slice."""
        if not per_device:
            if self.node_name is not None or self.node_selector is not None or self.all_nodes is not None:
                raise refuse("must not select nodes unless the slice has perDeviceNodeSelection", at=at)
            return
        if self.all_nodes is False:
            raise refuse("must be unset or true", at=f"{at}.allNodes")
        if sum(item is not None for item in (self.node_name, self.node_selector, self.all_nodes)) != 1:
            raise refuse("must have exactly one of nodeName, nodeSelector, allNodes", at=at)


class ResourcePool(DeviceModel):
    """The pool of a slice, and its number of slices."""

    name: PoolName
    generation: Annotated[int, Field(ge=0, lt=INT64)] = 0
    resource_slice_count: Annotated[int, Field(ge=1, lt=INT64)]


class ResourceSliceSpec(DeviceModel):
    """The devices one driver offers from one pool."""

    driver: DriverName
    pool: ResourcePool
    node_name: NodeName | None = None
    node_selector: NodeSelector | None = None
    all_nodes: OnlyTrue | None = None
    per_device_node_selection: OnlyTrue | None = None
    devices: tuple[SliceDevice, ...] | None = None
    shared_counters: Annotated[tuple[CounterSet, ...], Field(max_length=MAX_COUNTER_SETS)] | None = None
    partition_type_attribute: FullyQualifiedName | None = None
    skip_node_operations: tuple[Literal["NodePrepareResources", "NodeUnprepareResources", "*"], ...] = ()

    @model_validator(mode="after")
    def _skips_both(self) -> Self:
        if self.skip_node_operations == ("NodePrepareResources",):
            raise refuse(
                "must skip NodeUnprepareResources with NodePrepareResources", at="skipNodeOperations"
            )
        return self

    @model_validator(mode="after")
    def _typed_partitions(self) -> Self:
        name = self.partition_type_attribute
        if name is None:
            return self
        partitions = [(i, device) for i, device in enumerate(self.devices or ()) if device.consumes_counters]
        if not partitions:
            raise refuse("must have devices that consume counters", at="partitionTypeAttribute")
        for index, device in partitions:
            bare = device.attributes.get(name.removeprefix(f"{self.driver}/"))
            attribute = device.attributes.get(name, bare)
            if attribute is None or attribute.string is None:
                at = ("devices", index, "attributes", name)
                raise refuse("must be a string because partitionTypeAttribute names it", at=at)
        return self

    @model_validator(mode="after")
    def _one_node_selection(self) -> Self:
        chosen = (self.node_name, self.node_selector, self.all_nodes, self.per_device_node_selection)
        if sum(item is not None for item in chosen) != 1:
            raise refuse("must have exactly one of nodeName, nodeSelector, allNodes, perDeviceNodeSelection")
        if self.node_selector is not None and len(self.node_selector.node_selector_terms) != 1:
            raise refuse("must have exactly one term", at="nodeSelector.nodeSelectorTerms")
        return self

    @model_validator(mode="after")
    def _devices_or_counters(self) -> Self:
        if self.devices is not None and self.shared_counters is not None:
            raise refuse("must have only one of devices and sharedCounters")
        devices = self.devices or ()
        limit = MAX_DEVICES_ADVANCED if any(device.is_advanced for device in devices) else MAX_DEVICES
        if len(devices) > limit:
            raise refuse(f"must have at most {limit} devices, this has {len(devices)}", at="devices")
        sets = self.shared_counters or ()
        for names, at in (
            ([item.name for item in devices], "devices"),
            ([s.name for s in sets], "sharedCounters"),
        ):
            if len(set(names)) < len(names):
                raise refuse("must have unique names", at=at)
        for index, device in enumerate(devices):
            device.check_nodes(per_device=self.per_device_node_selection is True, at=f"devices.{index}")
        return self
