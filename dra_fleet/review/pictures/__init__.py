"""The pictures of a review as shapes with coordinates; the page's templates draw them as SVG. Pure."""

from dra_fleet.review.pictures.cost_bars import Bar, Segment, cost_bars
from dra_fleet.review.pictures.fleet_map import ClusterMap, PoolMap, fleet_map
from dra_fleet.review.pictures.heat_map import Heat, heat_map

__all__ = ["Bar", "ClusterMap", "Heat", "PoolMap", "Segment", "cost_bars", "fleet_map", "heat_map"]
