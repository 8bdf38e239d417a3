"""What operators that ready nodes for a driver are told by a cloud, and how one is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.core.facts import Entry, by_name, read

if TYPE_CHECKING:
    from dra_fleet.model.hardware import Machine


class UnservedDriver(Entry):
    """One of them, by the name that people give it.

    Attributes:
        publishes: The name in its ResourceSlices.
        chart: Where its chart is.
        values: What that needs, as YAML; empty for nothing.
        why: What is not known of it, a sentence without its period.
    """

    name: str
    publishes: str
    chart: str
    values: str = ""
    why: str

    @property
    def description(self) -> str:
        """What to write of it in a stack file."""
        values = f", values: {self.values}" if self.values else ""
        return f"described: {{publishes: {self.publishes}, chart: {self.chart}}}{values}"


@dataclass(frozen=True, kw_only=True)
class HostDriver:
    """Node images of a cloud that bring the devices' driver.

    Attributes:
        runtime: the container runtime's handler there.
        setting: the value of a pool's `gpuDriver` that chooses such an image; empty where all of them are.
    """

    runtime: str
    setting: str = ""


NO_HOST_DRIVER = HostDriver(runtime="")
"""Of a cloud on which no operator is asked for."""


def how_to_ask(machine: Machine) -> str:
    """How a stack file asks for the operator that readies nodes of a machine; empty where there is none."""
    for driver in drivers.known():
        operator = driver.resources.operator if driver.operator and driver.serves(machine) else None
        if operator is not None:
            return f"add {driver.operator}: {{version: {operator.versions()[0].version}}} to the cluster"
    return ""


@cache
def unserved() -> dict[str, UnservedDriver]:
    """All of them by name."""
    entries = read("dra_fleet.drivers", "unserved.yaml")["drivers"]
    return by_name(UnservedDriver.model_validate(entry) for entry in entries)
