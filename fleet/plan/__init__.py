"""From settings and facts to a plan of plain values."""

from fleet.plan.fleet import make_plan
from fleet.plan.model import FleetPlan

__all__ = ["FleetPlan", "make_plan"]
