"""What changes and whom it hits, in the comment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.review.comment.text import bullets, table
from dra_fleet.review.grouping import grouped
from dra_fleet.review.words import short_list

if TYPE_CHECKING:
    from dra_fleet.review.model import Review


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


def _details(details: tuple[str, ...]) -> str:
    return f" ({'; '.join(details)})" if details else ""


def blast(review: Review, rows: int) -> str:
    """What goes or is replaced, and which pods lose devices."""
    hit = review.blast
    if not hit.items:
        return ""
    told = [
        _count(hit.claims, "running claims", "lose their devices"),
        _count(hit.nodes, "GPU nodes", "go or are replaced, at most"),
    ]
    if hit.source == "declared":
        told.append("counted by what was declared: the clusters were not asked")
    parts = ["; ".join(told) + "."]
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


def _count(count: int | None, noun: str, verb: str) -> str:
    return f"{noun} that {verb}: {'not known' if count is None else count}"


def _known(count: int | None) -> str:
    return "?" if count is None else str(count)
