"""Plan of plain values from settings and facts."""

from dra_fleet.fleet.plan.fleet import make_plan
from dra_fleet.model.plan import FleetPlan

__all__ = ["FleetPlan", "make_plan"]
