"""From settings and facts to a plan of plain values.

A name is imported when it is first asked for: who needs one rule of a platform does not wait for all of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.plan.fleet import make_plan

__all__ = ["FleetPlan", "make_plan"]

_MODULES = {"FleetPlan": "dra_fleet.model.plan", "make_plan": "dra_fleet.plan.fleet"}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)
