"""A measured value in a line of its own, beside its goal where it has one; and such lines read again."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

MET: Final = "met"
MISSED: Final = "MISSED"
_GOAL: Final = re.compile(rf" \(goal: (?P<goal>.+): (?P<judged>{MET}|{MISSED})\)$")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What a line says: of what, which value, and where it has a goal, that and whether it is met."""

    name: str
    value: str
    goal: str = ""
    judged: str = ""


def print_beside_goal(name: str, value: float, goal: float, unit: str = "") -> None:
    """Print a value, what it may be at most, and whether it is that.

    Args:
        name: what was measured.
        value: what was found.
        goal: at most.
        unit: of both; nothing for a ratio.
    """
    judged = MET if value <= goal else MISSED
    unit = unit and f" {unit}"
    print(f"{name}: {value:.2f}{unit} (goal: at most {goal:g}{unit}: {judged})", flush=True)


def print_measured(name: str, value: str) -> None:
    """Print a value that has no goal.

    Args:
        name: what was measured.
        value: what was found, with its unit.
    """
    print(f"{name}: {value}", flush=True)


def read_measured(line: str) -> Measured | None:
    """What a printed line says; None for details, which are indented, and for what is no measurement."""
    beside = _GOAL.search(line.rstrip())
    name, _, value = (line[: beside.start()] if beside else line.rstrip()).rpartition(": ")
    if not name or line.startswith(" "):
        return None
    found = beside.groupdict() if beside else {}
    return Measured(name=name, value=value, goal=found.get("goal", ""), judged=found.get("judged", ""))
