"""The pictures of a review as shapes with coordinates; the page's templates draw them as SVG. Pure."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from string import ascii_lowercase, ascii_uppercase, digits
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.review.events import counted, short_list

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from dra_fleet.review.model import (
        Cell,
        Column,
        Cost,
        Device,
        Matrix,
        Money,
        Node,
        Pool,
        PoolCost,
        Review,
        Row,
    )


POOLS: Final = 24
"""Pools of a bar that are drawn apart; the rest is one segment."""
FULL: Final = 78.0
"""Per cent of the width for the largest sum; what is unknown is a stub after it."""


class Segment(Struct, frozen=True, kw_only=True):
    """A pool's part of a bar, in per cent of the width."""

    x: float
    width: float
    title: str
    shade: int


class Bar(Struct, frozen=True, kw_only=True):
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


# A user has a separate colour and letter, so that colour is never the only sign. The devices that one pod
# holds are one shape. A node's partitions are laid out with one row per GPU.

CELL = 18
"""Pixels from one device to the next."""
SQUARE = 16
COLOURS = 8
"""Colours of the style sheet for users of devices; letters distinguish users with the same colour."""
DRAWN = 12_000
"""Devices that are drawn at most; what is beyond is counted."""
NODES_OF_A_POOL = 12
"""Nodes that are drawn of one pool at most."""
_ROW = 8
_LETTERS = ascii_uppercase + ascii_lowercase + digits
_PARTITION = re.compile(r"^(gpu-\d+)-mig-")


class DeviceRun(Struct, frozen=True, kw_only=True):
    """Devices of a node that one pod holds, or that are free. `number`: the holder's.

    `xs` and `ys`: where its letter stands on each device. `mark`: a filled corner on each that it loses.
    """

    number: int | None
    label: str
    colour: int | None
    path: str
    xs: str
    ys: str
    title: str
    loses: bool
    mark: str


class NodeMap(Struct, frozen=True, kw_only=True):
    """A node, or `times` nodes alike."""

    name: str
    times: int
    width: int
    height: int
    held: tuple[DeviceRun, ...]
    text: str


class PoolMap(Struct, frozen=True, kw_only=True):
    """A pool's nodes; `more_nodes` are not drawn."""

    pool: Pool
    nodes: tuple[NodeMap, ...]
    more_nodes: int


class Holder(Struct, frozen=True, kw_only=True):
    """A line of the legend: a workload, its sign, how many of the drawn devices it holds."""

    number: int
    name: str
    label: str
    colour: int
    devices: int


class ClusterMap(Struct, frozen=True, kw_only=True):
    """A cluster's pools, who holds their devices, and what is not drawn."""

    name: str
    pools: tuple[PoolMap, ...]
    legend: tuple[Holder, ...]
    free: int
    loses: int
    more_pools: tuple[str, ...]

    @property
    def text(self) -> str:
        """Description of the picture."""
        holders = ", ".join(f"{item.name} holds {counted(item.devices, 'device')}" for item in self.legend)
        drawn = f"{counted(len(self.pools), 'pool')} of cluster {self.name}: "
        return drawn + (f"{holders}; " if holders else "") + f"{counted(self.free, 'device')} free"


def fleet_map(review: Review) -> tuple[ClusterMap, ...]:
    """All clusters, in the order of the pools; large fleets are drawn up to DRAWN devices."""
    lost = {(pod.cluster, pod.name) for pod in review.blast.pods}
    left = DRAWN
    clusters: list[ClusterMap] = []
    for name in dict.fromkeys(pool.cluster for pool in review.pools):
        pools = [pool for pool in review.pools if pool.cluster == name]
        fitting = _fitting(pools, left)
        left -= sum(_devices(pool) for pool in fitting)
        losing = frozenset(pod for cluster, pod in lost if cluster == name)
        clusters.append(_cluster(name, fitting, losing, [pool.name for pool in pools[len(fitting) :]]))
    return tuple(clusters)


def _fitting(pools: Sequence[Pool], left: int) -> list[Pool]:
    fitting: list[Pool] = []
    for pool in pools:
        left -= _devices(pool)
        if left < 0:
            break
        fitting.append(pool)
    return fitting


def _devices(pool: Pool) -> int:
    return sum(len(node.devices) for node in pool.nodes[:NODES_OF_A_POOL])


def _cluster(name: str, pools: Sequence[Pool], losing: frozenset[str], more: Sequence[str]) -> ClusterMap:
    amounts: Counter[str] = Counter()
    for device, times in _each(pools):
        amounts[device.holder] += times
    free = amounts.pop("", 0)
    signs = {holder: number for number, holder in enumerate(sorted(amounts))}
    legend = tuple(
        Holder(number=sign, name=holder, label=letter(sign), colour=sign % COLOURS, devices=amounts[holder])
        for holder, sign in signs.items()
    )
    return ClusterMap(
        name=name,
        pools=tuple(_pool(pool, signs, losing) for pool in pools),
        legend=legend,
        free=free,
        loses=sum(times for device, times in _each(pools) if device.pod in losing),
        more_pools=tuple(more),
    )


def _each(pools: Sequence[Pool]) -> Iterator[tuple[Device, int]]:
    for pool in pools:
        for node in pool.nodes[:NODES_OF_A_POOL]:
            for device in node.devices:
                yield device, node.times


def letter(number: int) -> str:
    """Return one character for a numbered user; with its colour unique for the first 248 of a cluster."""
    return _LETTERS[number % len(_LETTERS)]


def _pool(pool: Pool, signs: dict[str, int], losing: frozenset[str]) -> PoolMap:
    shown = pool.nodes[:NODES_OF_A_POOL]
    nodes = tuple(_node(node, signs, losing) for node in shown)
    return PoolMap(pool=pool, nodes=nodes, more_nodes=sum(node.times for node in pool.nodes[len(shown) :]))


def _node(node: Node, signs: dict[str, int], losing: frozenset[str]) -> NodeMap:
    places = _places(node.devices)
    groups: dict[tuple[str, str], list[tuple[Device, tuple[int, int]]]] = {}
    for device, place in zip(node.devices, places, strict=True):
        groups.setdefault((device.holder, device.pod), []).append((device, place))
    amounts = Counter(device.holder or "free" for device in node.devices)
    reported = ", ".join(f"{name} {count}" for name, count in sorted(amounts.items()))
    return NodeMap(
        name=node.name,
        times=node.times,
        width=max((column for column, _ in places), default=0) * CELL + SQUARE + 2,
        height=max((row for _, row in places), default=0) * CELL + SQUARE + 2,
        held=tuple(_user_entry(holder, pod, found, signs, losing) for (holder, pod), found in groups.items()),
        text=f"{node.name}, {counted(len(node.devices), 'device')}: {reported or 'none'}",
    )


def _places(devices: Sequence[Device]) -> list[tuple[int, int]]:
    """Return the column and row of each device: partitions in one row per GPU, others in rows of eight."""
    rows: dict[str, int] = {}
    columns: Counter[str] = Counter()
    places: list[tuple[int, int]] = []
    for number, device in enumerate(devices):
        found = _PARTITION.match(device.name)
        key = found[1] if found else f"row {number // _ROW}"
        row = rows.setdefault(key, len(rows))
        places.append((columns[key], row))
        columns[key] += 1
    return places


def _user_entry(
    holder: str,
    pod: str,
    found: Sequence[tuple[Device, tuple[int, int]]],
    signs: dict[str, int],
    losing: frozenset[str],
) -> DeviceRun:
    corners = [(column * CELL + 1, row * CELL + 1) for _, (column, row) in found]
    loses = bool(pod) and pod in losing
    devices = short_list([device.name for device, _ in found])
    kinds = short_list(sorted({device.kind for device, _ in found}))
    who = f"{holder}{f', pod {pod}' if pod else ''}" if holder else "free"
    sign = signs.get(holder)
    return DeviceRun(
        number=sign,
        label="" if sign is None else letter(sign),
        colour=None if sign is None else sign % COLOURS,
        path="".join(f"M{x} {y}h{SQUARE}v{SQUARE}h-{SQUARE}z" for x, y in corners),
        xs=" ".join(str(x + SQUARE // 2) for x, _ in corners),
        ys=" ".join(str(y + SQUARE // 2 + 4) for _, y in corners),
        title=f"{who}: {devices} ({kinds}){'; loses its device' if loses else ''}",
        loses=loses,
        mark="".join(f"M{x + SQUARE} {y + 7}v9h-9z" for x, y in corners) if loses else "",
    )


WIDTH: Final = 80
GAP: Final = 4
HEIGHT: Final = 44
CHARACTER: Final = 7.3
"""Pixels of a character of the picture's monospaced letters."""
LABEL: Final = 26
"""Characters of a claim's name that are shown; its title has all."""
HEADING: Final = 10
HEADING_LINES: Final = 3
COLUMNS: Final = 40
ROWS: Final = 80
"""Columns and rows that are drawn at most; the table has all."""
SIGNS: Final = {"guaranteed": "✓", "possible": "≈", "never": "✕", "unknown": "?", "error": "!"}
_LEVELS = (1, 2, 4, 8, 16)


class HeatCell(Struct, frozen=True, kw_only=True):
    """A cell: its corner, the class of its colour, its two lines."""

    x: int
    y: int
    style: str
    text: str
    note: str
    title: str


class Heading(Struct, frozen=True, kw_only=True):
    """A column's heading in lines, the last one just above the cells."""

    x: int
    lines: tuple[tuple[int, str], ...]
    title: str


class HeatRow(Struct, frozen=True, kw_only=True):
    """A claim's name and, below it, the proof's word."""

    y: int
    label: str
    title: str
    word: str
    sign: str


class Heat(Struct, frozen=True, kw_only=True):
    """A whole heat map."""

    cluster: str
    width: int
    height: int
    left: int
    cell_width: int
    headings: tuple[Heading, ...]
    rows: tuple[HeatRow, ...]
    cells: tuple[HeatCell, ...]
    more_rows: int
    more_columns: int
    text: str


def heat_map(matrix: Matrix) -> Heat:
    """Return the picture of one cluster's matrix."""
    rows, columns = matrix.rows[:ROWS], matrix.columns[:COLUMNS]
    longest = max((max(len(row.claim), len(row.word) + 2) for row in rows), default=0)
    left = int(min(longest, LABEL) * CHARACTER) + 8
    lines = [_lines(column) for column in columns]
    top = max((len(one) for one in lines), default=0) * 15 + 8
    right = left + len(columns) * WIDTH
    return Heat(
        cluster=matrix.cluster,
        width=right,
        height=top + len(rows) * HEIGHT + 2,
        left=left,
        cell_width=WIDTH - GAP,
        headings=tuple(_heading(column, left + i * WIDTH, top) for i, column in enumerate(columns)),
        rows=tuple(_row(row, top + j * HEIGHT) for j, row in enumerate(rows)),
        cells=tuple(
            _cell(cell, row, column, (left + i * WIDTH, top + j * HEIGHT))
            for j, row in enumerate(rows)
            for i, (cell, column) in enumerate(zip(row.cells, columns, strict=False))
        ),
        more_rows=len(matrix.rows) - len(rows),
        more_columns=len(matrix.columns) - len(columns),
        text=_text(matrix),
    )


def _text(matrix: Matrix) -> str:
    reported: list[str] = []
    for row in matrix.rows[:ROWS]:
        answers = zip(matrix.columns, row.cells, strict=False)
        fits = [column.title for column, cell in answers if cell.word == "fits"]
        reported.append(f"{row.claim}: {row.word}, fits {short_list(fits) if fits else 'no pool'}")
    return f"Claims by pools of cluster {matrix.cluster}. {'; '.join(reported)}"


def _heading(column: Column, x: int, top: int) -> Heading:
    lines = _lines(column)
    first = top - 8 - 15 * (len(lines) - 1)
    placed = tuple((first + 15 * number, line) for number, line in enumerate(lines))
    return Heading(
        x=x + (WIDTH - GAP) // 2, lines=placed, title=f"{column.title}: {short_list(column.pools)}"
    )


def _lines(column: Column) -> list[str]:
    return textwrap.wrap(column.title, HEADING, max_lines=HEADING_LINES, placeholder="…")


def _row(row: Row, y: int) -> HeatRow:
    label = row.claim if len(row.claim) <= LABEL else f"{row.claim[: LABEL - 1]}…"
    title = f"{row.claim}: {row.word}" + (f"; {row.reason}" if row.reason else "")
    return HeatRow(y=y, label=label, title=title, word=row.word, sign=SIGNS[row.word])


def _cell(cell: Cell, row: Row, column: Column, corner: tuple[int, int]) -> HeatCell:
    text, note = _words(cell)
    title = f"{row.claim} on {column.title}: {cell.word}; {cell.matched} of {cell.devices} devices match"
    return HeatCell(
        x=corner[0],
        y=corner[1],
        style=_style(cell),
        text=text,
        note=note,
        title=f"{title}. {cell.reason}" if cell.reason else title,
    )


def _style(cell: Cell) -> str:
    if cell.word != "fits":
        return cell.word
    copies = cell.per_node or 0
    return f"fits{max((number for number, least in enumerate(_LEVELS, 1) if copies >= least), default=1)}"


def _words(cell: Cell) -> tuple[str, str]:
    if cell.word == "unknown":
        return "?", "unknown"
    was = cell.before
    changed = was is not None and was != cell.per_node
    match cell.word:
        case "none":
            return "-", f"was {was}" if changed else "no match"
        case "short":
            return "short", f"was {was}" if changed else f"{cell.matched} of {cell.devices}"
        case "fits":
            note = f"was {was}" if changed else "copy" if cell.per_node == 1 else "copies"
            return str(cell.per_node), note
