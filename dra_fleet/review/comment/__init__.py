"""The review as a comment of a pull request: at most 65,536 characters, less and less detail until it fits.

A bot finds its comment again by the first line, which is the same for every review of a stack.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.review.comment.parts import PARTS, inline
from dra_fleet.review.kinds import counted, ranged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.review.model import Decision, Review

LONGEST = 65_536
"""Characters that a comment of a pull request may have; each counts as many as it has bytes, to be safe."""
ROWS = (200, 60, 25, 10, 4, 1)
"""Rows per table that are tried; what is omitted is counted."""
_TITLES: dict[Decision, str] = {
    "approve": "APPROVE",
    "person": "APPROVAL REQUIRED",
    "refuse": "REFUSE",
}
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
