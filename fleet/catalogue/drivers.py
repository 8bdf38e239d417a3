"""DRA drivers: their charts, what the charts install, and what the drivers publish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fleet.catalogue.entry import Entry, Fact

ValueType = Literal["string", "integer", "boolean", "list", "map", "booleans"]
"""The type of a chart value; `booleans` is a map of names to booleans. `map` and `list` are free inside."""
AttributeType = Literal["string", "int", "bool", "version"]


class ChartVersion(Entry):
    """One version of a chart: its values' keys, dotted, with their types."""

    version: str
    chart: str
    repository: str
    verified: bool
    values: Mapping[str, ValueType]
    feature_gates: Mapping[str, bool]
    classes: tuple[str, ...]


class GateConflict(Fact):
    """Two feature gates of a driver that cannot be on together, or one that needs another."""

    gate: str
    other: str
    rule: Literal["excludes", "requires"]


class PublishedAttribute(Fact):
    """An attribute and the device types that always or sometimes carry it."""

    name: str
    type: AttributeType
    always: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()


class PublishedCapacity(Fact):
    """A capacity and the device types that always or sometimes carry it."""

    name: str
    always: tuple[str, ...] = ()
    sometimes: tuple[str, ...] = ()


class DriverFacts(Entry):
    """A DRA driver."""

    name: str
    driver: str
    namespace: str
    device_types: tuple[str, ...]
    gate_conflicts: tuple[GateConflict, ...] = ()
    attributes: tuple[PublishedAttribute, ...]
    capacities: tuple[PublishedCapacity, ...]
    versions: tuple[ChartVersion, ...]

    def version(self, version: str) -> ChartVersion | None:
        """The entry of a chart version, if it is known."""
        return next((entry for entry in self.versions if entry.version == version), None)

    def owned_classes(self) -> frozenset[str]:
        """Every DeviceClass name that some version of the chart installs."""
        return frozenset(name for version in self.versions for name in version.classes)
