"""The base of the review's models, and the words that they share."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

MONTH_HOURS = 730
"""Hours of a month in the clouds' own calculators: https://azure.microsoft.com/pricing/calculator/."""


class ReviewModel(BaseModel):
    """Frozen; unknown fields are errors; JSON has camelCase keys."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


class Money(ReviewModel):
    """US dollars per hour: the sum of what is known, None where nothing is; nodes of unknown price."""

    amount: float | None
    unknown_nodes: int


class PoolCost(ReviewModel):
    """Cost of a pool per hour. A deleted pool has no cost after, at min and at max: 0 nodes.

    `machine` is the one it will have, `machine_before` the one it had; empty where there is none.
    """

    cluster: str
    pool: str
    machine: str
    machine_before: str
    price: float | None
    price_before: float | None
    price_source: str
    price_date: dt.date | None
    price_region: str
    now: Money
    after: Money
    at_min: Money
    at_max: Money
    at_max_before: Money


class Cost(ReviewModel):
    """Cost per hour on demand.

    `at_max_before`: at most nodes as it was, 0 where nothing was. `basis`: how nodes were counted.
    `unknown`: machines without a price, as sentences. `not_counted`: what is paid for and is not in the sums.
    """

    currency: str
    basis: str
    now: Money
    after: Money
    at_min: Money
    at_max: Money
    at_max_before: Money
    pools: tuple[PoolCost, ...]
    unknown: tuple[str, ...]
    not_counted: tuple[str, ...]


class Origin(ReviewModel):
    """Origin of a review, as the pipeline reports it; empty fields are not reported.

    `request`: the pull or merge request. `run`: the address of the run, where its artifacts are. `last`:
    that of the review before this one.
    """

    commit: str = ""
    branch: str = ""
    author: str = ""
    request: str = ""
    request_url: str = ""
    run: str = ""
    last: str = ""


Decision = Literal["approve", "person", "refuse"]
"""Permission of a pipeline: apply the change, ask for approval, or stop."""

Action = Literal["create", "update", "replace", "delete", "none"]

Weight = Literal["destructive", "disruptive", "ordinary"]
"""Destructive: something that runs ends or something is deleted. Disruptive: it changes under what runs."""

Kind = Literal[
    "cluster", "pool", "driver", "class", "template", "claim", "workload", "namespace", "credential", "other"
]

Severity = Literal["critical", "high", "medium", "low"]

Word = Literal["guaranteed", "possible", "never", "unknown", "error"]
"""The proof's verdicts, see docs/proof.md."""
