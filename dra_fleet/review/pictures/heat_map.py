"""Claims x pools of one cluster as a heat map: a cell's colour, sign and words say what a node can take."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dra_fleet.review.kinds import short_list

if TYPE_CHECKING:
    from dra_fleet.review.model import Cell, Column, Matrix, Row

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


@dataclass(frozen=True, kw_only=True)
class HeatCell:
    """A cell: its corner, the class of its colour, its two lines."""

    x: int
    y: int
    style: str
    text: str
    note: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A column's heading in lines, the last one just above the cells."""

    x: int
    lines: tuple[tuple[int, str], ...]
    title: str


@dataclass(frozen=True, kw_only=True)
class HeatRow:
    """A claim's name and, below it, the proof's word."""

    y: int
    label: str
    title: str
    word: str
    sign: str


@dataclass(frozen=True, kw_only=True)
class Heat:
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
