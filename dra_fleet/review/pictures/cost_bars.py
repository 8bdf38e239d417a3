"""Cost of the fleet per hour as bars to one scale. Unknown prices have no length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet.review.kinds import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dra_fleet.review.model import Cost, Money, PoolCost

POOLS: Final = 24
"""Pools of a bar that are drawn apart; the rest is one segment."""
FULL: Final = 78.0
"""Per cent of the width for the largest sum; what is unknown is a stub after it."""


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A pool's part of a bar, in per cent of the width."""

    x: float
    width: float
    title: str
    shade: int


@dataclass(frozen=True, kw_only=True)
class Bar:
    """Bar of one sum: its title, its text, its segments, and the start of the stub for unknown prices."""

    title: str
    reported: str
    segments: tuple[Segment, ...]
    unknown_at: float | None
    unknown: str


def money_text(money: Money) -> str:
    """Format a sum: `$12.34`, `$12.34 + 2 nodes of unknown price`, `unknown (2 nodes)`."""
    nodes = counted(money.unknown_nodes, "node")
    if money.amount is None:
        return f"unknown ({nodes})" if money.unknown_nodes else "unknown"
    amount = f"${money.amount:,.2f}"
    return f"{amount} + {nodes} of unknown price" if money.unknown_nodes else amount


def cost_bars(cost: Cost) -> tuple[Bar, ...]:
    """Return the bars to the same scale. Without a known price none has a length."""
    chosen: list[tuple[str, Money, Callable[[PoolCost], Money]]] = [
        ("Now", cost.now, lambda pool: pool.now),
        ("After", cost.after, lambda pool: pool.after),
        ("At least nodes", cost.at_min, lambda pool: pool.at_min),
        ("At most nodes", cost.at_max, lambda pool: pool.at_max),
        ("At most nodes, as it was", cost.at_max_before, lambda pool: pool.at_max_before),
    ]
    most = max((money.amount or 0.0 for _, money, _ in chosen), default=0.0)
    return tuple(
        _bar(title, money, [(pool, part(pool)) for pool in cost.pools], most) for title, money, part in chosen
    )


def _bar(title: str, money: Money, parts: Sequence[tuple[PoolCost, Money]], most: float) -> Bar:
    known = sorted(
        ((pool, part.amount) for pool, part in parts if part.amount), key=lambda item: item[1], reverse=True
    )
    scale = FULL / most if most else 0.0
    segments: list[Segment] = []
    x = 0.0
    for number, (pool, amount) in enumerate(known[:POOLS]):
        width = amount * scale
        name = f"pool {pool.pool} of cluster {pool.cluster}: ${amount:,.2f}"
        segments.append(Segment(x=round(x, 3), width=round(width, 3), title=name, shade=number % 2))
        x += width
    rest = sum(amount for _, amount in known[POOLS:])
    if rest:
        more = f"{counted(len(known) - POOLS, 'more pool')}: ${rest:,.2f}"
        segments.append(Segment(x=round(x, 3), width=round(rest * scale, 3), title=more, shade=2))
        x += rest * scale
    nodes = f"{counted(money.unknown_nodes, 'node')} of unknown price"
    return Bar(
        title=title,
        reported=money_text(money),
        segments=tuple(segments),
        unknown_at=round(x, 3) if money.unknown_nodes else None,
        unknown=nodes,
    )
