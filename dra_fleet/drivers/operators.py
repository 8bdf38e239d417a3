"""Operators that prepare nodes for a driver: the cloud's input to them, and how to request one."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.core.facts import Entry, by_name, read
from dra_fleet.drivers.resources import NO_NAME

if TYPE_CHECKING:
    from dra_fleet.model.hardware import Machine


class UnservedDriver(Entry):
    """A driver without support, by its common name.

    Attributes:
        publishes: The name in its ResourceSlices.
        chart: Location of its chart, or its name in `repository`.
        repository: URL of the chart's repository; empty for a registry.
        plugin: Chart value that contains the placement of the plugin's pods, if it is not kubeletPlugin.
        values: Required values, as YAML; may be empty.
        limits: Finds the names of the extended resources that its vendor's device plugin advertises.
        why: The unknown facts, a sentence without its period.
    """

    name: str
    publishes: str
    chart: str
    repository: str = ""
    plugin: str = ""
    values: str = ""
    limits: re.Pattern[str] = NO_NAME
    why: str

    @property
    def description(self) -> str:
        """Its description for a stack file."""
        values = f", values: {self.values}" if self.values else ""
        fields = {
            "publishes": self.publishes,
            "chart": self.chart,
            "repository": self.repository,
            "plugin": self.plugin,
        }
        described = ", ".join(f"{name}: {value}" for name, value in fields.items() if value)
        return f"described: {{{described}}}{values}"


class HostDriver(Struct, frozen=True, kw_only=True):
    """Node images of a cloud that include the devices' driver.

    Attributes:
        runtime: the container runtime's handler there.
        setting: the value of a pool's `gpuDriver` that chooses such an image; empty if all images do.
    """

    runtime: str
    setting: str = ""


NO_HOST_DRIVER = HostDriver(runtime="")
"""Host driver of a cloud without an operator."""


def how_to_ask(machine: Machine) -> str:
    """Return how a stack file requests the operator for a machine's nodes; empty if there is none."""
    for driver in drivers.known():
        operator = driver.resources.operator if driver.operator and driver.serves(machine) else None
        if operator is not None:
            return f"add {driver.operator}: {{version: {operator.versions()[-1].version}}} to the cluster"
    return ""


@cache
def unserved() -> dict[str, UnservedDriver]:
    """All of them by name."""
    entries = read("dra_fleet.drivers", "unserved.yaml")["drivers"]
    return by_name(UnservedDriver.model_validate(entry) for entry in entries)
