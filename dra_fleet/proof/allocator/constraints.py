"""Constraints on the devices of a claim together: an equal or a distinct attribute.

Source:
https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/structured/internal/incubating/constraint.go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dra_fleet.kubernetes.cel import UNKNOWN
from dra_fleet.proof.allocator.inventory import Failure, Stop, Undecided

if TYPE_CHECKING:
    from dra_fleet.proof.allocator.counters import Features
    from dra_fleet.proof.allocator.inventory import AllocatableDevice

Object = Mapping[str, Any]
_SCALARS = ("string", "int", "bool", "version")
Values = frozenset[tuple[str, object]]
"""The values of an attribute with their type: several of a list, one of a scalar."""


class RequestName(Protocol):
    """Names of the request a device is tried for."""

    @property
    def main(self) -> str:
        """The name of the entry in ``requests``."""
        ...

    @property
    def full(self) -> str:
        """The same, with the alternative's name where there is one."""
        ...


class Constraint(ABC):
    """An entry of ``constraints``; a search that turns back removes devices in reverse order."""

    _needs_a_value = False
    """An attribute without a readable value ends the whole attempt."""

    def __init__(self, requests: list[str], attribute: str) -> None:
        self._requests = frozenset(requests)
        self._attribute = attribute

    def add(self, request: RequestName, device: AllocatableDevice) -> bool:
        """Take a device in if the constraint allows."""
        if not self._applies(request):
            return True
        value = self._value(device)
        return value is not None and self._accept(request, value)

    def remove(self, request: RequestName) -> None:
        """Take back the device added last for this request."""
        if self._applies(request):
            self._forget(request)

    def _applies(self, request: RequestName) -> bool:
        return not self._requests or request.main in self._requests or request.full in self._requests

    def _value(self, device: AllocatableDevice) -> Object | None:
        attributes: Object = device.published.get("attributes") or {}
        found = attributes.get(self._attribute)
        if found is None:
            domain, _, identity = self._attribute.partition("/")
            found = attributes.get(identity) if domain == device.id.driver else None
        if found is UNKNOWN or (found is not None and UNKNOWN in found.values()):
            message = f"{self._attribute} of {'/'.join(device.id)} is not known before the device exists"
            raise Stop(Undecided(message))
        if found is not None and self._needs_a_value and not _values(found):
            where = f"device {'/'.join(device.id)}"
            raise Stop(Failure(f"{where}: unsupported attribute value for {self._attribute}"))
        return found

    @abstractmethod
    def _accept(self, request: RequestName, value: Object) -> bool:
        """Take the value into account if it agrees with those before it."""

    @abstractmethod
    def _forget(self, request: RequestName) -> None:
        """Take the last accepted value back."""


class MatchAttribute(Constraint):
    """All devices have the same value."""

    def __init__(self, requests: list[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._common: Object = {}
        self._devices = 0

    def _accept(self, request: RequestName, value: Object) -> bool:
        del request
        if self._devices == 0:
            self._common = value
        elif not _same(self._common, value):
            return False
        self._devices += 1
        return True

    def _forget(self, request: RequestName) -> None:
        del request
        self._devices -= 1


class DistinctAttribute(Constraint):
    """Constraint that all devices have different values."""

    def __init__(self, requests: list[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._values: list[Object] = []

    def _accept(self, request: RequestName, value: Object) -> bool:
        del request
        if any(not _differ(known, value) for known in self._values):
            return False
        self._values.append(value)
        return True

    def _forget(self, request: RequestName) -> None:
        del request
        self._values.pop()


class MatchValues(Constraint):
    """All devices have a value in common."""

    _needs_a_value = True

    def __init__(self, requests: list[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._common: list[Values] = []

    def _accept(self, request: RequestName, value: Object) -> bool:
        del request
        values = _values(value)
        common = values & self._common[-1] if self._common else values
        if common:
            self._common.append(common)
        return bool(common)

    def _forget(self, request: RequestName) -> None:
        del request
        self._common.pop()


class DistinctValues(Constraint):
    """No two devices have a value in common."""

    _needs_a_value = True

    def __init__(self, requests: list[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._seen: list[Values] = []

    def _accept(self, request: RequestName, value: Object) -> bool:
        del request
        values = _values(value)
        if any(values & seen for seen in self._seen):
            return False
        self._seen.append(values)
        return True

    def _forget(self, request: RequestName) -> None:
        del request
        self._seen.pop()


class DistinctPerRequest(Constraint):
    """Constraint that devices differ in the last value that is remembered for each request."""

    def __init__(self, requests: list[str], attribute: str) -> None:
        super().__init__(requests, attribute)
        self._last: dict[str, Object] = {}
        self._devices = 0

    def _accept(self, request: RequestName, value: Object) -> bool:
        if self._devices and any(not _differ(known, value) for known in self._last.values()):
            return False
        self._last[request.main] = value
        self._devices += 1
        return True

    def _forget(self, request: RequestName) -> None:
        self._last.pop(request.main, None)
        self._devices -= 1


def _values(value: Object) -> Values:
    return frozenset(
        (
            kind,
            item.partition("+")[0] if kind == "version" else item,
        )  # versions compare without build metadata
        for kind in _SCALARS
        for item in (value.get(f"{kind}s") or [value.get(kind)])
        if item is not None
    )


def _same(left: Object, right: Object) -> bool:
    return any(kind in right and kind in left and left[kind] == right[kind] for kind in _SCALARS)


def _differ(known: Object, value: Object) -> bool:
    kind = next((kind for kind in _SCALARS if kind in value), None)
    return kind is not None and not (kind in known and known[kind] == value[kind])


def of_claim(claim_name: str, devices: Object, features: Features) -> list[Constraint]:
    """Build the constraints of a claim's ``spec.devices``.

    Raises:
        Stop: An entry demands nothing that is known.
    """
    constraints: list[Constraint] = []
    entries: Sequence[Object] = devices.get("constraints") or ()
    for index, entry in enumerate(entries):
        requests: list[str] = [*(entry.get("requests") or ())]
        if entry.get("matchAttribute") is not None:
            match = MatchValues if features.list_attributes else MatchAttribute
            constraints.append(match(requests, entry["matchAttribute"]))
        elif entry.get("distinctAttribute") is not None:
            distinct = DistinctPerRequest if features.distinct_per_request else DistinctAttribute
            distinct = DistinctValues if features.list_attributes else distinct
            constraints.append(distinct(requests, entry["distinctAttribute"]))
        else:
            message = (
                f"claim {claim_name}, constraint #{index}: empty constraint (unsupported constraint type?)"
            )
            raise Stop(Failure(message))
    return constraints
