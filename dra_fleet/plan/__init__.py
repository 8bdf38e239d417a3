"""From settings and facts to a plan of plain values."""

from dra_fleet.model.plan import FleetPlan
from dra_fleet.plan.fleet import make_plan

__all__ = ["FleetPlan", "make_plan"]
