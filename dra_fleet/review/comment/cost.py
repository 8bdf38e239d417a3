"""What the fleet costs per hour, in the comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.review.comment.text import bullets, table
from dra_fleet.review.model.money import MONTH_HOURS
from dra_fleet.review.words import counted

if TYPE_CHECKING:
    from dra_fleet.review.model import Cost, Money, PoolCost, Review


def cost(review: Review, rows: int) -> str:
    """The sums, the pools, and what is in neither."""
    told = review.cost
    sums = table(
        ("Cost", "Now", "After", "At least nodes", "At most nodes", "At most, as it was"),
        [
            (title, *(_money(item, hours) for item in sums_of(told)))
            for title, hours in ((f"{told.currency} an hour", 1), (f"{told.currency} a month", MONTH_HOURS))
        ],
        2,
        "",
    )
    pools = table(
        ("Pool", "Cluster", "Machine", "Per node", "Now", "After", "At most"),
        (
            (
                item.pool,
                item.cluster,
                item.machine or f"{item.machine_before} (goes)",
                _price(item),
                *(_money(one) for one in (item.now, item.after, item.at_max)),
            )
            for item in told.pools
        ),
        rows,
        "pools",
    )
    notes = [
        told.basis,
        *(f"unknown: {text}" for text in told.unknown),
        *(f"not counted: {text}" for text in told.not_counted),
    ]
    return "\n\n".join(part for part in (sums, pools, bullets(notes, rows, "notes")) if part)


def _price(item: PoolCost) -> str:
    return "unknown" if item.price is None else f"{item.price:,.3f}"


def sums_of(told: Cost) -> tuple[Money, ...]:
    """The sums that are told, in their order."""
    return told.now, told.after, told.at_min, told.at_max, told.at_max_before


def _money(money: Money, hours: int = 1) -> str:
    if money.amount is None:
        return f"unknown for {counted(money.unknown_nodes, 'node')}"
    more = f" and {counted(money.unknown_nodes, 'node')} of unknown price" if money.unknown_nodes else ""
    return f"{money.amount * hours:,.2f}{more}"
