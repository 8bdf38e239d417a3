"""A device as a selector sees it."""

from __future__ import annotations

import json
from enum import Enum
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.kubernetes.cel import declarations
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Unknown(Enum):
    """The type of UNKNOWN."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
"""Stands for a value that no one has recorded: no clause on it is true or false."""

ONE_OF: Final = "oneOf"
"""The key beside a capacity's value under which all values stand that it may have."""

Domains = dict[str, dict[str, Any]]
Place = tuple[str, str, str]
"""`device.attributes` or `device.capacity`, a domain and an id."""
Between = tuple[str, str, Fraction, Fraction]
"""The domain and id of a capacity, and the least and the most that it may be."""
_LISTS = ("ints", "bools", "strings", "versions")


class CelDevice(Struct, frozen=True, eq=False, dict=True, weakref=True):
    """The input of a selector: a device's attributes and capacity by domain and id.

    Attributes:
        driver: The driver that publishes it; the domain of every bare key.
        allow_multiple_allocations: Whether several claims may share it.
        attributes: domain -> id -> str, int, bool or a Semver message.
        capacity: domain -> id -> a Quantity message.
        unknown: The (domain, id) pairs whose value is UNKNOWN, in ``attributes`` or ``capacity``.
        unsupported: Why no selector can be evaluated on it, from 1.38 none that reads the attribute (one
            without a value), else empty.
        has_list: An attribute that is a list, else empty.
        alternatives: The device with each of the values that one of its capacities may have, where these are
            known; that capacity is then in ``unknown``.
        varying: That capacity, and between what it may be: a value that no one recorded lies between others.
        published: What `device.attributes` and `device.capacity` are made of: entries of a slice by name.
        key: Equal for devices that every selector checks alike.
    """

    driver: str
    allow_multiple_allocations: bool
    attributes: Domains
    capacity: Domains
    unknown: frozenset[Place]
    unsupported: str
    has_list: str
    alternatives: tuple[CelDevice, ...]
    varying: Between | None
    published: Mapping[str, Mapping[str, Any]]
    key: str

    @classmethod
    def of(cls, device: Mapping[str, Any], driver: str) -> CelDevice:
        """Read a device of a resource.k8s.io/v1 ResourceSlice.

        Args:
            device: The entry of ``spec.devices``; a value may be UNKNOWN instead of its object, and a
                capacity may have ``oneOf`` beside its value: all values that it may have.
            driver: ``spec.driver`` of the slice.

        Raises:
            ValueError: A quantity or version in it cannot be read.
        """
        key = _key(device, driver)
        made = _made.get(key)
        if made is None:
            made = _made[key] = cls._read(device, driver, key)
        return made

    @classmethod
    def _read(cls, device: Mapping[str, Any], driver: str, key: str) -> CelDevice:
        unknown: set[Place] = set()
        published: Mapping[str, Any] = device.get("attributes") or {}
        attributes, problem = _attributes(published, driver, unknown)
        capacity: Mapping[str, Any] = device.get("capacity") or {}
        return cls(
            driver=driver,
            allow_multiple_allocations=bool(device.get("allowMultipleAllocations")),
            attributes=attributes,
            capacity=_capacity(capacity, driver, unknown),
            unknown=frozenset(unknown),
            unsupported=problem,
            has_list=next((name for name, value in published.items() if _is_list(value)), ""),
            alternatives=tuple(
                cls.of({**device, "capacity": {**capacity, name: {"value": value}}}, driver)
                for name, value in _alternatives(capacity)
            ),
            varying=_varying(_alternatives(capacity), driver),
            published={"device.attributes": published, "device.capacity": capacity},
            key=key,
        )

    def seen_at(self, places: Iterable[Place]) -> object:
        """Equal for devices that every selector checks alike which reads these places only."""
        if self.varying is not None:
            return self.key
        always = (self.driver, self.allow_multiple_allocations, self.unsupported, self.has_list)
        return (*always, *map(self._reported, places))

    def _reported(self, place: Place) -> str:
        variable, domain, identity = place
        entries = self.published[variable]
        bare = entries.get(identity) if domain == self.driver else None
        return repr((bare, entries.get(f"{domain}/{identity}")))

    def between(self, amounts: Iterable[int]) -> Iterator[CelDevice]:
        """Yield the device with each of those amounts between its least and most."""
        if self.varying is not None:
            domain, identity, least, most = self.varying
            for amount in amounts:
                if least < amount < most:
                    yield _fixed(self.alternatives[0], domain, identity, str(amount))

    @cached_property
    def variables(self) -> dict[str, Any]:
        """The values of an expression's variables."""
        return {
            declarations.PRESENT: True,
            "device.driver": self.driver,
            "device.allowMultipleAllocations": self.allow_multiple_allocations,
            "device.attributes": self.attributes,
            "device.capacity": self.capacity,
        }


_made: WeakValueDictionary[str, CelDevice] = WeakValueDictionary()
"""Devices by their keys: what nothing distinguishes, such as the first GPU of each node, is read once."""


def split_name(name: str, driver: str) -> tuple[str, str]:
    """Return the domain and id of a published key; a bare key is in the driver's own domain."""
    domain, slash, identity = name.partition("/")
    return (domain, identity) if slash else (driver, domain)


def _named(published: Mapping[str, Any], driver: str) -> Iterable[tuple[str, Any]]:
    """Return the entries without those that stand with the driver's name too, which 1.38 prefers."""
    return ((name, value) for name, value in published.items() if f"{driver}/{name}" not in published)


def _attributes(published: Mapping[str, Any], driver: str, unknown: set[Place]) -> tuple[Domains, str]:
    domains: Domains = {}
    problem = ""
    for name, value in _named(published, driver):
        domain, identity = split_name(name, driver)
        if value is UNKNOWN or (isinstance(value, dict) and UNKNOWN in value.values()):  # pyright: ignore[reportUnknownMemberType]
            unknown.add(("device.attributes", domain, identity))
            domains.setdefault(domain, {})
        elif not value:
            problem = f"attribute {name}: unsupported attribute value"
            unknown.add(("device.attributes", domain, identity))
            domains.setdefault(domain, {})
        else:
            domains.setdefault(domain, {})[identity] = _attribute_value(value)  # pyright: ignore[reportUnknownArgumentType]
    return domains, problem


def _attribute_value(value: Mapping[str, Any]) -> object:
    ((kind, plain),) = value.items()
    if kind == "versions":
        return [declarations.version(item) for item in plain]
    return declarations.version(plain) if kind == "version" else plain


def _is_list(value: object) -> bool:
    return isinstance(value, dict) and any(kind in value for kind in _LISTS)


def _capacity(published: Mapping[str, Any], driver: str, unknown: set[Place]) -> Domains:
    domains: Domains = {}
    for name, entry in _named(published, driver):
        domain, identity = split_name(name, driver)
        value = UNKNOWN if entry is UNKNOWN or ONE_OF in entry else entry["value"]
        if value is UNKNOWN:
            unknown.add(("device.capacity", domain, identity))
            domains.setdefault(domain, {})
        else:
            domains.setdefault(domain, {})[identity] = declarations.quantity(str(value))
    return domains


def _alternatives(published: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the values of the first capacity with several; further ones are left to the alternatives."""
    several = (
        (name, entry[ONE_OF]) for name, entry in published.items() if entry is not UNKNOWN and ONE_OF in entry
    )
    name, values = next(several, ("", ()))
    return [(name, value) for value in values]


def _varying(values: list[tuple[str, str]], driver: str) -> Between | None:
    if not values:
        return None
    amounts = [Quantity.parse(value).amount for _, value in values]
    return (*split_name(values[0][0], driver), min(amounts), max(amounts))


def _fixed(device: CelDevice, domain: str, identity: str, amount: str) -> CelDevice:
    """Return a device, with its alternatives, that has another amount of a capacity."""
    changed = {**device.capacity[domain], identity: declarations.quantity(amount)}
    return replace(
        device,
        capacity={**device.capacity, domain: changed},
        alternatives=tuple(_fixed(each, domain, identity, amount) for each in device.alternatives),
        published={**device.published, "device.capacity": _given(device, domain, identity, amount)},
        key=f"{device.key} {domain}/{identity}={amount}",
    )


def _given(device: CelDevice, domain: str, identity: str, amount: str) -> dict[str, Any]:
    entries = device.published["device.capacity"]
    rest = {
        name: entry
        for name, entry in entries.items()
        if split_name(name, device.driver) != (domain, identity)
    }
    return {**rest, f"{domain}/{identity}": {"value": amount}}


def _key(device: Mapping[str, Any], driver: str) -> str:
    content = {name: device.get(name) for name in ("attributes", "capacity", "allowMultipleAllocations")}
    return driver + json.dumps(content, sort_keys=True, default=str)
