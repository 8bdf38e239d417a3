"""A measured value beside its goal, in a line that says whether it is met."""

from __future__ import annotations

MISSED = "MISSED"


def print_beside_goal(name: str, value: float, goal: float, unit: str = "") -> None:
    """Print a value, what it may be at most, and whether it is that.

    Args:
        name: what was measured.
        value: what was found.
        goal: at most.
        unit: of both; nothing for a ratio.
    """
    judged = "met" if value <= goal else MISSED
    unit = unit and f" {unit}"
    print(f"{name}: {value:.2f}{unit} (goal: at most {goal:g}{unit}: {judged})", flush=True)
