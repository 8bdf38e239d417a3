"""The review as a comment of a pull request: at most 65,536 characters, with less detail until it fits.

A bot finds its comment again by the first line, which is the same for every review of a stack.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.review.events import counted, grouped, ranged, short_list
from dra_fleet.review.model import MONTH_HOURS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dra_fleet.review.model import (
        Amounts,
        Cell,
        Column,
        Cost,
        Decision,
        Finding,
        Matrix,
        Money,
        Pool,
        PoolCost,
        Review,
        Row,
    )


LONGEST = 65_536
"""Characters that a comment of a pull request may have; each counts as many as it has bytes, to be safe."""
ROWS = (200, 60, 25, 10, 4, 1)
"""Rows per table that are tried; what is omitted is counted."""
_TITLES: dict[Decision, str] = {"approve": "APPROVE", "person": "APPROVAL REQUIRED", "refuse": "REFUSE"}
_REASONS: dict[Decision, str] = {"approve": "ok", "person": "person", "refuse": "refuse"}


def marker(stack: str) -> str:
    """Return the first line of every review of a stack."""
    return f"<!-- dra-fleet-review: {stack.replace('--', '- -')} -->"


def render_markdown(review: Review) -> str:
    """Render the comment."""
    text = ""
    for rows in ROWS:
        text = _render(review, rows)
        if len(text.encode()) <= LONGEST:
            return text
    return _cut(text)


def _render(review: Review, rows: int) -> str:
    return "\n\n".join([*_head(review, rows), *_body(review, rows)]) + "\n"


def _head(review: Review, rows: int) -> Iterator[str]:
    yield marker(review.stack)
    yield f"## {_TITLES[review.verdict.decision]}: stack {inline(review.stack)}"
    yield _lead(review)
    reasons = [
        f"- **{_REASONS[item.decision]}** {inline(item.text)}" for item in review.verdict.reasons[:rows]
    ]
    left = len(review.verdict.reasons) - rows
    yield "\n".join([*reasons, *([f"- and {left} more reasons"] if left > 0 else [])])


def _lead(review: Review) -> str:
    total = review.totals
    reported = [
        counted(total.clusters, "cluster"),
        counted(total.pools, "pool"),
        ranged(total.nodes_min, total.nodes_max, "node"),
        ranged(total.devices_min, total.devices_max, "device"),
        f"{counted(total.claims, 'claim')} of {counted(total.workloads, 'workload')}",
        f"{counted(total.changed_resources, 'resource')} to change",
    ]
    against = f" Compared with {inline(review.against)}." if review.against else ""
    return (
        f"{', '.join(reported)}. Previewed {review.previewed:%Y-%m-%d %H:%M} UTC.{against}{_origin(review)}"
    )


def _origin(review: Review) -> str:
    made = review.origin
    reported = [
        f"commit `{made.commit[:12]}`" if made.commit else "",
        f"branch {inline(made.branch)}" if made.branch else "",
        f"by {inline(made.author)}" if made.author else "",
        f"[{inline(made.request)}]({made.request_url})" if made.request else "",
        f"[this run]({made.run})" if made.run else "",
        f"[the last review]({made.last})" if made.last else "",
    ]
    line = ", ".join(part for part in reported if part)
    # By this line the next review finds this one.
    return f"\n\nOf {line}.\n\n<!-- dra-fleet-run: {made.run} -->" if line else ""


def _body(review: Review, rows: int) -> Iterator[str]:
    for part in PARTS:
        text = part.render(review, rows)
        if text and part.is_open:
            yield f"### {part.title}\n\n{text}"
        elif text:
            yield f"<details><summary>{part.title}</summary>\n\n{text}\n\n</details>"


def _cut(text: str) -> str:
    note = "\n\nThe rest is omitted: see review.json or index.html.\n"
    kept = text.encode()[: LONGEST - len(note.encode())].decode(errors="ignore")
    return kept.rpartition("\n")[0] + note


_SPECIAL = re.compile(r"([\\`*_\[\]|~])")

_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "@": "&#64;", "#": "&#35;"}


def changes(review: Review, rows: int) -> str:
    """Every change in words."""
    if not review.changes:
        if review.engine.result != "succeeded":
            return "Not known: the preview stopped before it had looked at every resource."
        return "Nothing changes."
    many = review.totals.clusters > 1
    lines = [
        f"{item.text}{f' on {item.cluster}' if many and item.kind != 'cluster' and item.cluster else ''}"
        f"{_details(item.details)}"
        for item in grouped(review.changes)
    ]
    return bullets(lines, rows, "changes")


def blast(review: Review, rows: int) -> str:
    """Render the deleted and replaced resources, and the pods that lose devices."""
    hit = review.blast
    if not hit.items:
        return ""
    sentence = [
        _count(hit.claims, "running claims", "lose their devices"),
        _count(hit.nodes, "GPU nodes", "go or are replaced, at most"),
    ]
    if hit.source == "declared":
        sentence.append("counted by what was declared: the clusters were not asked")
    parts = ["; ".join(sentence) + "."]
    parts.append(
        table(
            ("What", "Cluster", "Becomes", "Workloads", "Claims", "Protected"),
            (
                (
                    f"{item.kind} {item.name}",
                    item.cluster,
                    item.action,
                    short_list(item.workloads),
                    _known(item.claims),
                    "yes" if item.protected else "",
                )
                for item in hit.items
            ),
            rows,
            "things",
        )
    )
    parts.append(
        table(
            ("Pod that loses its devices", "Cluster", "Workload", "Node", "Devices"),
            (
                (f"{pod.namespace}/{pod.name}", pod.cluster, pod.workload, pod.node, ", ".join(pod.devices))
                for pod in hit.pods
            ),
            rows,
            "pods",
        )
    )
    return "\n\n".join(part for part in parts if part)


def cost(review: Review, rows: int) -> str:
    """Render the sums, the pools, and the costs outside both."""
    sentence = review.cost
    sums = table(
        ("Cost", "Now", "After", "At least nodes", "At most nodes", "At most, as it was"),
        [
            (title, *(_money(item, hours) for item in sums_of(sentence)))
            for title, hours in (
                (f"{sentence.currency} an hour", 1),
                (f"{sentence.currency} a month", MONTH_HOURS),
            )
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
                item.machine or f"{item.machine_before} (deleted)",
                _price(item),
                *(_money(one) for one in (item.now, item.after, item.at_max)),
            )
            for item in sentence.pools
        ),
        rows,
        "pools",
    )
    notes = [
        sentence.basis,
        *(f"unknown: {text}" for text in sentence.unknown),
        *(f"not counted: {text}" for text in sentence.not_counted),
    ]
    return "\n\n".join(part for part in (sums, pools, bullets(notes, rows, "notes")) if part)


def matrix(review: Review, rows: int) -> str:
    """Claims by pools, a table a cluster, and why a claim finds nothing."""
    found = [_one_matrix(item, rows) for item in review.matrices[:rows]]
    left = len(review.matrices) - rows
    if left > 0:
        found.append(f"and {left} more clusters")
    return "\n\n".join(found)


def workloads(review: Review, rows: int) -> str:
    """Render the verdicts on the workloads."""
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
    """Render the resources that a copy requests, gets and leaves unusable, and the worst first fit."""
    rows_of_copies = table(
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
    lines = "\n".join(f"- {inline(text)}" for text in review.waste[:rows])
    return "\n\n".join(part for part in (rows_of_copies, lines) if part)


class Part(Struct, frozen=True, kw_only=True):
    """A part of the comment. `is_open`: shown at once, not folded."""

    title: str
    render: Callable[[Review, int], str]
    is_open: bool = False


def _findings(review: Review, rows: int) -> str:
    return table(
        ("Severity", "Level", "Rule", "On", "What", "Fix"),
        (
            (item.severity, _level(item), item.rule, item.subject, item.sentence, item.fix)
            for item in review.findings
        ),
        rows,
        "findings",
    )


def _level(item: Finding) -> str:
    return f"exempted {item.exempted}" if item.exempted else item.level


def _pools(review: Review, rows: int) -> str:
    return table(
        ("Pool", "Cluster", "Machine", "Nodes", "Devices of a node", "Change"),
        (
            (
                pool.name,
                pool.cluster,
                pool.machine,
                _nodes(pool),
                ", ".join(f"{kind.count} x {kind.kind} {kind.memory}".strip() for kind in pool.kinds)
                or ("unknown" if pool.unpredictable else "none"),
                "" if pool.change == "none" else f"{pool.change}{_was(pool)}",
            )
            for pool in review.pools
        ),
        rows,
        "pools",
    )


def _nodes(pool: Pool) -> str:
    bounds = (
        str(pool.nodes_min) if pool.nodes_min == pool.nodes_max else f"{pool.nodes_min} to {pool.nodes_max}"
    )
    return bounds if pool.nodes_now is None else f"{bounds}, {pool.nodes_now} now"


def _was(pool: Pool) -> str:
    return f": was {pool.before}" if pool.before else ""


def _versions(review: Review, rows: int) -> str:
    return table(
        ("Cluster", "What", "Version", "Supported until", "By", "Status", "Note"),
        (
            (
                item.cluster,
                item.component,
                f"{item.version} (was {item.before})" if item.before else item.version,
                str(item.supported_until or "unknown"),
                item.by,
                item.status,
                item.note,
            )
            for item in review.versions
        ),
        rows,
        "versions",
    )


def _sharing(review: Review, rows: int) -> str:
    return table(
        ("What", "Cluster", "Strategy", "What keeps holders apart"),
        (
            (
                f"{item.kind} {item.name}",
                item.cluster,
                item.strategy,
                item.isolation + (f"; accepted: {item.accepted}" if item.accepted else ""),
            )
            for item in review.sharing
        ),
        rows,
        "rows",
    )


def _exposure(review: Review, rows: int) -> str:
    return table(
        ("Cluster", "What", "How", "Level"),
        ((item.cluster, item.subject, item.text, item.level) for item in review.exposure),
        rows,
        "facts",
    )


def _unchecked(review: Review, rows: int) -> str:
    lines = [f"{item.what}: {item.why}; to check: {item.how}" for item in review.unchecked]
    return bullets(lines, rows, "things")


def _plan(review: Review, rows: int) -> str:
    del rows
    return f"```\n{review.plan.replace('```', '')}\n```" if review.plan else ""


PARTS = (
    Part(title="Changes", render=changes, is_open=True),
    Part(title="Blast radius", render=blast, is_open=True),
    Part(title="Findings", render=_findings, is_open=True),
    Part(title="Apply exactly what was reviewed", render=_plan, is_open=True),
    Part(title="Claims and pools", render=matrix),
    Part(title="Workloads", render=workloads),
    Part(title="Pools and their devices", render=_pools),
    Part(title="Versions and their support", render=_versions),
    Part(title="Cost per hour", render=cost),
    Part(title="Sharing and isolation", render=_sharing),
    Part(title="Asked, got and stranded by one copy", render=use),
    Part(title="Credentials and exposure", render=_exposure),
    Part(title="Not checked", render=_unchecked),
)


def _details(details: tuple[str, ...]) -> str:
    return f" ({'; '.join(details)})" if details else ""


def _count(count: int | None, noun: str, verb: str) -> str:
    return f"{noun} that {verb}: {'not known' if count is None else count}"


def _known(count: int | None) -> str:
    return "?" if count is None else str(count)


def _price(item: PoolCost) -> str:
    return "unknown" if item.price is None else f"{item.price:,.3f}"


def sums_of(sentence: Cost) -> tuple[Money, ...]:
    """Return the reported sums in order."""
    return sentence.now, sentence.after, sentence.at_min, sentence.at_max, sentence.at_max_before


def _money(money: Money, hours: int = 1) -> str:
    if money.amount is None:
        return f"unknown for {counted(money.unknown_nodes, 'node')}"
    more = f" and {counted(money.unknown_nodes, 'node')} of unknown price" if money.unknown_nodes else ""
    return f"{money.amount * hours:,.2f}{more}"


def _one_matrix(matrix: Matrix, rows: int) -> str:
    columns = matrix.columns[:rows]
    grid = table(
        ("Claim", *(inline(column.title) for column in columns), "Verdict"),
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


def _cell(cell: Cell) -> str:
    if cell.word == "unknown":
        return "unknown"
    was = f" (was {cell.before})" if cell.before not in (None, cell.per_node) else ""
    return f"{cell.matched} of {cell.devices}, {cell.per_node} copies{was}"


def _reasons(rows: tuple[Row, ...], columns: tuple[Column, ...]) -> list[str]:
    return [
        f"{row.claim} on {column.title}: {cell.reason}"
        for row in rows
        for column, cell in zip(columns, row.cells, strict=False)
        if cell.reason and (row.word != "guaranteed" or cell.word == "unknown")
    ]


def _amounts(amounts: Amounts) -> str:
    cores = "-" if amounts.multiprocessors is None else str(amounts.multiprocessors)
    return f"{amounts.memory or '-'}, {cores} SM"


def inline(text: str) -> str:
    """Return a text on one line, with Markdown and GitHub marks escaped."""
    flat = " ".join(text.split())
    escaped = _SPECIAL.sub(r"\\\1", "".join(_HTML.get(sign, sign) for sign in flat))
    # A bare address would become a link, and a word with underscores needs no escape inside code.
    return escaped.replace("://", "&#58;//")


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], most: int, noun: str) -> str:
    """Render a table of at most `most` rows, and count the omitted rows below it."""
    found = list(rows)
    if not found:
        return ""
    lines = [f"| {' | '.join(headings)} |", f"|{'|'.join('---' for _ in headings)}|"]
    lines += [f"| {' | '.join(inline(cell) for cell in row)} |" for row in found[:most]]
    left = len(found) - most
    return "\n".join(lines) + (f"\n\nand {left} more {noun}" if left > 0 else "")


def bullets(texts: Iterable[str], most: int, noun: str) -> str:
    """Render a list of at most `most` lines, and count the omitted ones."""
    found = list(texts)
    left = len(found) - most
    lines = [f"- {inline(text)}" for text in found[:most]]
    return "\n".join([*lines, *([f"- and {left} more {noun}"] if left > 0 else [])])
