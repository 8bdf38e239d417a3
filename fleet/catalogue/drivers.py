"""DRA drivers: their charts, what the charts install, and what the drivers publish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from fleet.catalogue.entry import Entry, Fact

ValueType = Literal["string", "integer", "boolean", "list", "map", "booleans"]
"""The type of a chart value; `booleans` is a map of names to booleans. `map` and `list` are free inside."""
AttributeType = Literal["string", "int", "bool", "version"]


class ChartVersion(Entry):
    """One version of a chart: its values' keys, dotted, with their types.

    `plugin_tolerations`: the chart's own default of `kubeletPlugin.tolerations`.
    `controller_needs_control_plane`: its default affinity keeps the controller to control-plane nodes.
    `extended_resources`: extended resource names, each with the class of the chart that answers it.
    """

    version: str
    chart: str
    repository: str
    verified: bool
    values: Mapping[str, ValueType]
    feature_gates: Mapping[str, bool]
    classes: tuple[str, ...]
    plugin_tolerations: tuple[Mapping[str, str], ...] = ()
    controller_needs_control_plane: bool = False
    extended_resources: Mapping[str, str] = Field(default_factory=dict)


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
    """A DRA driver.

    `plugin_labels`: node labels of which the chart's default affinity needs one.
    """

    name: str
    driver: str
    namespace: str
    device_types: tuple[str, ...]
    gate_conflicts: tuple[GateConflict, ...] = ()
    attributes: tuple[PublishedAttribute, ...]
    capacities: tuple[PublishedCapacity, ...]
    class_selectors: Mapping[str, str] = Field(default_factory=dict)
    """CEL of the DeviceClasses that the charts install, by name."""
    plugin_labels: Mapping[str, str] = Field(default_factory=dict)
    versions: tuple[ChartVersion, ...]

    def version(self, version: str) -> ChartVersion | None:
        """The entry of a chart version, if it is known."""
        return next((entry for entry in self.versions if entry.version == version), None)

    def owned_classes(self) -> frozenset[str]:
        """Every DeviceClass name that some version of the chart installs."""
        return frozenset(name for version in self.versions for name in version.classes)
