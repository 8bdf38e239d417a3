"""Measured values in a line each, next to their goals; and a parser of such lines."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MET: Final = "met"
MISSED: Final = "MISSED"
_GOAL: Final = re.compile(rf" \(goal: (?P<goal>.+): (?P<checked>{MET}|{MISSED})\)$")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Measured value with its name, and its goal and result if it has one."""

    name: str
    value: str
    goal: str = ""
    checked: str = ""


def print_beside_goal(name: str, value: float, goal: float, unit: str = "") -> None:
    """Print a value, what it may be at most, and whether it is that.

    Args:
        name: what was measured.
        value: what was found.
        goal: at most.
        unit: of both; nothing for a ratio.
    """
    checked = MET if value <= goal else MISSED
    unit = unit and f" {unit}"
    print(f"{name}: {value:.2f}{unit} (goal: at most {goal:g}{unit}: {checked})", flush=True)


def print_measured(name: str, value: str) -> None:
    """Print a value that has no goal.

    Args:
        name: what was measured.
        value: what was found, with its unit.
    """
    print(f"{name}: {value}", flush=True)


def read_measured(line: str) -> Measured | None:
    """Parse a printed line; return None for details, which are indented, and other lines."""
    beside = _GOAL.search(line.rstrip())
    name, _, value = (line[: beside.start()] if beside else line.rstrip()).rpartition(": ")
    if not name or line.startswith(" "):
        return None
    found = beside.groupdict() if beside else {}
    return Measured(name=name, value=value, goal=found.get("goal", ""), checked=found.get("checked", ""))
