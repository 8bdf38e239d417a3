"""Devices of a fleet that selectors match, evaluated like the scheduler: class first, then request."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.cel import TRUE, CelDevice, clauses
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from dra_fleet.check.inventory import ClusterInventory, FleetDevice
    from dra_fleet.kubernetes.cel import CelVerdict
    from dra_fleet.kubernetes.cel.program import DeviceCel, Program

FOREIGN = CelDevice.of({"name": "foreign"}, "other.example.com")
"""A device of a driver that no one thought of, such as a NIC: no selector may fail on it."""


Programs = dict[str, list["Program"]]
"""Per cluster, compiled selectors in the order of evaluation."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Checked:
    """A device and what the selectors say about it; `program` is the one of them that decided."""

    device: FleetDevice
    verdict: CelVerdict
    program: Program | None
    programs: Sequence[Program]


def verdict(programs: Sequence[Program], device: CelDevice) -> tuple[CelVerdict, Program | None]:
    """Evaluate selectors in order; the first that is not true decides.

    After an unknown one the next are still asked, because a false one decides whatever the unknown is.
    """
    undecided: tuple[CelVerdict, Program | None] = (TRUE, None)
    for program in programs:
        found = program.evaluate(device)
        if found.outcome in ("false", "error"):
            return (found, program) if undecided[0] or found.outcome == "false" else undecided
        if not found and undecided[0]:
            undecided = (found, program)
    return undecided


def check(programs: Sequence[Program], devices: Iterable[FleetDevice]) -> list[Checked]:
    """Evaluate selectors on each device."""
    found: list[Checked] = []
    for device in devices:
        outcome, program = verdict(programs, device.cel)
        found.append(Checked(device=device, verdict=outcome, program=program, programs=programs))
    return found


def devices(clusters: Iterable[ClusterInventory]) -> list[FleetDevice]:
    """Return the devices of one node of every pool."""
    return [device for cluster in clusters for pool in cluster.pools for device in pool.devices]


@dataclass(frozen=True, kw_only=True)
class NoMatch:
    """Reason why no device matches.

    Attributes:
        expression: The selector that stops the nearest devices; empty where there are no devices.
        what: In words the clause of it that is not true, and on which device.
        found: The values that the devices have there.
    """

    expression: str = ""
    what: str = ""
    found: str = ""


def why_none(checked: Sequence[Checked], environment: DeviceCel) -> NoMatch:
    """Explain why no device matches, by the devices that meet the most clauses of all selectors."""
    stops = [(_first_false(item, environment), item) for item in checked if item.program is not None]
    if not stops:
        return NoMatch()
    first = max(stops, key=lambda stop: stop[0][0])[0]
    alike = [item for stop, item in stops if stop == first]
    clause, stopped = first[1], [item.device for item in alike]
    likeness = [
        (_likeness(clause, item, environment), _amounts(clause, item.device, environment)) for item in alike
    ]
    nearest = alike[likeness.index(max(likeness))]
    found = _values(clause, environment, [nearest.device, *stopped])
    what = f"`{clause}` is not true on {nearest.device.name} of pool {nearest.device.pool}"
    reported = f"{what} ({found})" if found else what
    return NoMatch(
        expression=nearest.program.expression if nearest.program else "", what=reported, found=found
    )


def counted(found: Iterable[FleetDevice]) -> str:
    """Devices by pool and type: "8 of type gpu in pool h100"."""
    groups = Counter((device.pool, device.type) for device in found)
    return ", ".join(
        f"{count}{f' of type {kind}' if kind else ''} in pool {pool}"
        for (pool, kind), count in groups.items()
    )


def _first_false(item: Checked, environment: DeviceCel) -> tuple[int, str]:
    """Return the number of clauses that are or may be true, and the first false one."""
    parts = [clause for program in item.programs for clause in clauses(program.expression)]
    outcomes = {clause: environment.operand(clause).evaluate(item.device.cel).outcome for clause in parts}
    missed = [clause for clause in parts if outcomes[clause] in ("false", "error")]
    return len(parts) - len(missed), (missed or parts)[0]


_TEXTS = re.compile(r"'([^']*)'|\"([^\"]*)\"")


def _likeness(clause: str, item: Checked, environment: DeviceCel) -> float:
    """Return how alike a text of the clause that stops a device is to the device's value, from 0 to 1."""
    value = _values(clause, environment, [item.device]).lower()
    texts = [(first or second).lower() for first, second in _TEXTS.findall(clause)]
    return max((SequenceMatcher(None, text, value).ratio() for text in texts if value), default=0.0)


def _amounts(clause: str, device: FleetDevice, environment: DeviceCel) -> list[Fraction]:
    reads = sorted(environment.operand(clause).lookups, key=str)
    texts = [
        device.value(read.variable, read.domain, read.identity)
        for read in reads
        if read.variable == "device.capacity" and read.domain and read.identity
    ]
    return [Quantity.parse(text).amount for text in texts if text]


def _values(clause: str, environment: DeviceCel, stopped: Sequence[FleetDevice]) -> str:
    reads = sorted(environment.operand(clause).lookups, key=str)
    reported = [
        text
        for read in reads
        if read.domain and read.identity
        for text in [_value(read.variable, read.domain, read.identity, stopped)]
        if text
    ]
    return ", ".join(reported)


def _value(variable: str, domain: str, identity: str, stopped: Sequence[FleetDevice]) -> str:
    """Return the value found; for capacities the largest among the devices that the clause excludes."""
    found = [text for device in stopped if (text := device.value(variable, domain, identity))]
    if not found:
        return ""
    if variable == "device.capacity":
        return f"{identity} {max(found, key=lambda text: Quantity.parse(text).amount)}"
    return f"{identity} {found[0]}"
