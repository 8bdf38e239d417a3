"""What the fleet costs per hour. An unknown price is named, never counted as zero."""

from __future__ import annotations

import datetime as dt

from dra_fleet.review.model.base import ReviewModel

MONTH_HOURS = 730
"""Hours of a month in the clouds' own calculators: https://azure.microsoft.com/pricing/calculator/."""


class Money(ReviewModel):
    """US dollars per hour: the sum of what is known, None where nothing is; nodes of unknown price."""

    amount: float | None
    unknown_nodes: int


class PoolCost(ReviewModel):
    """What a pool costs per hour. A pool that goes has no cost after, at min and at max: 0 nodes.

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
