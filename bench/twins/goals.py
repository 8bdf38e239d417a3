"""A measured value beside its goal, in a line that says whether it is met."""

from __future__ import annotations

MET = "met"
MISSED = "MISSED"


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


def is_beside_goal(line: str) -> bool:
    """Whether a printed line is a value beside its goal."""
    return "(goal: " in line and line.rstrip().endswith((f": {MET})", f": {MISSED})"))


def is_missed(line: str) -> bool:
    """Whether a line beside a goal says that it is missed."""
    return line.rstrip().endswith(f": {MISSED})")
