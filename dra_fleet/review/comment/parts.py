"""The parts of the comment, most important first. Each renders itself with so many rows, or as nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.review.comment import changes, fitting
from dra_fleet.review.comment.cost import cost
from dra_fleet.review.comment.text import bullets, table

if TYPE_CHECKING:
    from collections.abc import Callable

    from dra_fleet.review.model import Finding, Pool, Review


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of the comment. `is_open`: shown at once, not folded."""

    title: str
    render: Callable[[Review, int], str]
    is_open: bool = False


def _findings(review: Review, rows: int) -> str:
    return table(
        ("Severity", "Level", "Rule", "On", "What", "Fix"),
        (
            (item.severity, _level(item), item.rule, item.subject, item.told, item.fix)
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
    Part(title="What changes", render=changes.changes, is_open=True),
    Part(title="Blast radius", render=changes.blast, is_open=True),
    Part(title="Findings", render=_findings, is_open=True),
    Part(title="Apply exactly what was reviewed", render=_plan, is_open=True),
    Part(title="Claims and pools", render=fitting.matrix),
    Part(title="Workloads", render=fitting.workloads),
    Part(title="Pools and their devices", render=_pools),
    Part(title="Versions and their support", render=_versions),
    Part(title="Cost per hour", render=cost),
    Part(title="Sharing and isolation", render=_sharing),
    Part(title="Asked, got and stranded by one copy", render=fitting.use),
    Part(title="Credentials and exposure", render=_exposure),
    Part(title="What was not checked", render=_unchecked),
)
