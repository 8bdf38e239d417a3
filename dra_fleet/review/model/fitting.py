"""Which claim finds devices on which pool, and whether all copies of a workload do."""

from __future__ import annotations

from typing import Literal

from dra_fleet.review.model.base import ReviewModel, Word


class Cell(ReviewModel):
    """One claim on one column of pools.

    `word`: `fits`; `short` (devices match, too few or not together); `none` (no device matches, or its pods
    may not go there); `unknown`. `matched` of `devices` on a node match the request that matches fewest;
    copies per empty node and on the least and most nodes of each pool. `before`: copies per node as it was,
    None where that is not known or the pool or claim is new.
    """

    word: Literal["fits", "short", "none", "unknown"]
    matched: int
    devices: int
    per_node: int | None
    at_min: int | None
    at_max: int | None
    reason: str
    fix: str
    before: int | None


class Column(ReviewModel):
    """Pools that answer every claim alike; `title` is the only one's name, or `first and N more`."""

    title: str
    pools: tuple[str, ...]


class Row(ReviewModel):
    """A claim: the proof's word on it, and one cell per column."""

    claim: str
    word: Word
    reason: str
    fix: str
    cells: tuple[Cell, ...]


class Matrix(ReviewModel):
    """Claims x pools of one cluster."""

    cluster: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


class Workload(ReviewModel):
    """Whether all copies of a workload find devices. `before`: the verdict as it was, None if not known."""

    cluster: str
    namespace: str
    name: str
    claim: str
    copies: int
    running: int | None
    word: Word
    at_min: Word
    before: Word | None
    reason: str
    fix: str
    order: tuple[str, ...]
    accepted: str
