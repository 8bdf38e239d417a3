"""What a review says, as frozen plain values: the one contract between what fills it and what renders it.

`review.json` is `Review` by its aliases; `schema/review.schema.json` is generated from it. Texts are
plain, already masked, and never HTML or Markdown. None means not known, never zero.
"""

from dra_fleet.review.model.base import (
    Action,
    Cost,
    Decision,
    Kind,
    Money,
    Origin,
    PoolCost,
    ReviewModel,
    Severity,
    Weight,
    Word,
)
from dra_fleet.review.model.changes import (
    Blast,
    BlastRadius,
    Change,
    LostPod,
    PropertyChange,
    Reason,
    ResourceChange,
    Verdict,
)
from dra_fleet.review.model.fitting import Cell, Column, Matrix, Row, Workload
from dra_fleet.review.model.fleet import Amounts, Device, DeviceKind, Node, Pool, Shared, Use
from dra_fleet.review.model.judged import Engine, Exposure, Finding, Totals, Unchecked, Version
from dra_fleet.review.model.review import SECTIONS, Review

__all__ = [
    "SECTIONS",
    "Action",
    "Amounts",
    "Blast",
    "BlastRadius",
    "Cell",
    "Change",
    "Column",
    "Cost",
    "Decision",
    "Device",
    "DeviceKind",
    "Engine",
    "Exposure",
    "Finding",
    "Kind",
    "LostPod",
    "Matrix",
    "Money",
    "Node",
    "Origin",
    "Pool",
    "PoolCost",
    "PropertyChange",
    "Reason",
    "ResourceChange",
    "Review",
    "ReviewModel",
    "Row",
    "Severity",
    "Shared",
    "Totals",
    "Unchecked",
    "Use",
    "Verdict",
    "Version",
    "Weight",
    "Word",
    "Workload",
]
