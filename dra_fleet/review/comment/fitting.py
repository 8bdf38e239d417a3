"""Which claims find devices on which pools, and what their copies strand, in the comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.review.comment.text import bullets, inline, table

if TYPE_CHECKING:
    from dra_fleet.review.model import Amounts, Cell, Column, Matrix, Review, Row


def matrix(review: Review, rows: int) -> str:
    """Claims by pools, a table a cluster, and why a claim finds nothing."""
    found = [_one_matrix(item, rows) for item in review.matrices[:rows]]
    left = len(review.matrices) - rows
    if left > 0:
        found.append(f"and {left} more clusters")
    return "\n\n".join(found)


def _one_matrix(matrix: Matrix, rows: int) -> str:
    columns = matrix.columns[:rows]
    grid = table(
        ("Claim", *(_column(column) for column in columns), "Verdict"),
        ((row.claim, *(_cell(cell) for cell in row.cells[: len(columns)]), row.word) for row in matrix.rows),
        rows,
        "claims",
    )
    left = len(matrix.columns) - len(columns)
    more = f"\n\nand {left} more sorts of pool" if left > 0 else ""
    reasons = bullets(_reasons(matrix.rows, columns), rows, "reasons")
    return (
        f"Cluster {inline(matrix.cluster)}: devices that match on a node, copies per node\n\n{grid}{more}"
        + (f"\n\n{reasons}" if reasons else "")
    )


def _column(column: Column) -> str:
    return inline(column.title)


def _cell(cell: Cell) -> str:
    if cell.word == "unknown":
        return "unknown"
    was = f" (was {cell.before})" if cell.before not in (None, cell.per_node) else ""
    return f"{cell.matched} of {cell.devices}, {cell.per_node} copies{was}"


def _reasons(rows: tuple[Row, ...], columns: tuple[Column, ...]) -> list[str]:
    """Why a claim finds nothing, for claims that find nothing anywhere or where nothing can be told."""
    return [
        f"{row.claim} on {column.title}: {cell.reason}"
        for row in rows
        for column, cell in zip(columns, row.cells, strict=False)
        if cell.reason and (row.word != "guaranteed" or cell.word == "unknown")
    ]


def workloads(review: Review, rows: int) -> str:
    """Whether every copy of a workload finds devices."""
    return table(
        ("Workload", "Cluster", "Claim", "Copies", "Verdict", "At least nodes", "Why"),
        (
            (
                item.name,
                item.cluster,
                item.claim,
                str(item.copies),
                item.word if item.before in (None, item.word) else f"{item.word} (was {item.before})",
                item.at_min,
                item.reason + (f"; accepted: {item.accepted}" if item.accepted else ""),
            )
            for item in review.workloads
        ),
        rows,
        "workloads",
    )


def use(review: Review, rows: int) -> str:
    """What a copy asks for, gets and leaves unusable."""
    return table(
        ("Workload", "Pool", "Cluster", "Copies", "Asked", "Got", "Stranded", "Left on a full node"),
        (
            (
                item.workload,
                item.pool,
                item.cluster,
                str(item.copies),
                *(_amounts(part) for part in (item.asked, item.got, item.stranded, item.left_on_node)),
            )
            for item in review.use
        ),
        rows,
        "rows",
    )


def _amounts(amounts: Amounts) -> str:
    processors = "-" if amounts.multiprocessors is None else str(amounts.multiprocessors)
    return f"{amounts.memory or '-'}, {processors} SM"
