"""The whole review, in the order in which it is shown."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from dra_fleet.review.model.base import Cost, Origin, ReviewModel
from dra_fleet.review.model.changes import BlastRadius, Change, Verdict
from dra_fleet.review.model.fitting import Matrix, Workload
from dra_fleet.review.model.fleet import Pool, Shared, Use
from dra_fleet.review.model.judged import Engine, Exposure, Finding, Totals, Unchecked, Version


class Review(ReviewModel):
    """All of a review, most important first.

    `previewed`: when the engine ran. `against`: what it is compared with, as a sentence. `plan`: the command
    that applies exactly what was reviewed, empty where no plan was saved. `origin`: the pipeline.
    `map_source`: whether the fleet map shows who holds devices now (`running`), one possible order of
    arrival (`example`), or nothing (`none`).
    """

    version: Literal[1] = 1
    stack: str
    owner: str
    environment: str
    previewed: dt.datetime
    against: str
    plan: str
    origin: Origin = Origin()
    verdict: Verdict
    totals: Totals
    changes: tuple[Change, ...]
    blast: BlastRadius
    matrices: tuple[Matrix, ...]
    workloads: tuple[Workload, ...]
    map_source: Literal["running", "example", "none"]
    pools: tuple[Pool, ...]
    findings: tuple[Finding, ...]
    versions: tuple[Version, ...]
    cost: Cost
    sharing: tuple[Shared, ...]
    use: tuple[Use, ...]
    exposure: tuple[Exposure, ...]
    unchecked: tuple[Unchecked, ...]
    engine: Engine


SECTIONS = (
    "verdict",
    "changes",
    "blast",
    "matrix",
    "workloads",
    "map",
    "pools",
    "findings",
    "versions",
    "cost",
    "sharing",
    "use",
    "exposure",
    "unchecked",
    "engine",
)
"""The parts of a review in the order in which they are shown; also the anchors of the page."""
