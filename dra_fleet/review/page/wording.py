"""Texts of values on the page: None is `unknown`, never zero."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from dra_fleet.core.findings.errors import KEY
from dra_fleet.review.kinds import counted, ranged
from dra_fleet.review.pictures.cost_bars import money_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dra_fleet.review.model import Pool, Review

MORE_CHANGES: Final = 300
"""Changes that the page reports one by one; the rest as counts."""
UNKNOWN: Final = "unknown"
DECISIONS: Final = {"approve": "Approve", "person": "Approval required", "refuse": "Refuse"}
SIGNS: Final = {
    "approve": "✓",
    "person": "!",
    "refuse": "✕",
    "create": "+",
    "update": "~",
    "replace": "⟳",
    "delete": "\N{MINUS SIGN}",
    "none": "·",
    "guaranteed": "✓",
    "possible": "≈",
    "never": "✕",
    "unknown": "?",
    "error": "!",
    "supported": "✓",
    "ending": "!",
    "ended": "✕",
    "fine": "✓",
    "note": "i",
    "warning": "!",
}
"""A sign beside each coloured word."""
TITLES: Final = {
    "verdict": "Verdict",
    "changes": "Changes",
    "blast": "Affected workloads and teams",
    "matrix": "Claims by pools",
    "workloads": "Workloads",
    "map": "Fleet map",
    "pools": "Devices per pool",
    "findings": "Findings",
    "versions": "Versions and support",
    "cost": "Cost per hour",
    "sharing": "Sharing and isolation",
    "use": "Utilisation",
    "exposure": "Credentials and exposure",
    "unchecked": "Not checked",
    "engine": "The preview",
}


def known(value: object) -> object:
    """Return a value, or `unknown` for None."""
    return UNKNOWN if value is None else value


def price(value: float | None) -> str:
    """Format a price per hour."""
    return UNKNOWN if value is None else f"${value:,.2f}"


def nodes(pool: Pool) -> str:
    """Describe a pool's nodes: the running ones, and its bounds."""
    reported = ranged(pool.nodes_min, pool.nodes_max, "node")
    return reported if pool.nodes_now is None else f"{reported}, {pool.nodes_now} now"


def kinds(pool: Pool) -> str:
    """Describe the devices on a node of a pool."""
    if pool.unpredictable:
        return f"is unknown: {'; '.join(pool.unpredictable)}"
    reported = [
        f"{kind.count} x {kind.kind}"
        + "".join(
            f", {part}"
            for part in (
                kind.memory,
                None if kind.multiprocessors is None else f"{kind.multiprocessors} SMs",
                kind.product,
            )
            if part
        )
        for kind in pool.kinds
    ]
    return "; ".join(reported) or "none"


def headline(message: str) -> str:
    """Return the first line of a message; for a path of the stack file, its distinguishing part."""
    return message.partition("\n")[0].removeprefix(f"{KEY}.")


def rest(message: str) -> str:
    """Return the lines between a message's first and its fix, which is shown separately."""
    return "\n".join(line.strip() for line in message.partition("\n  fix: ")[0].splitlines()[1:])


def is_command(text: str) -> bool:
    """Return whether a text is a command to type."""
    return text.startswith(("dra-fleet ", "kubectl ", "pulumi "))


def _named(words: Iterable[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(words).items())


def notes(review: Review) -> Mapping[str, str]:
    """Return the short note next to each part's title."""
    blast = review.blast
    is_whole = review.engine.result == "succeeded"
    untouched = ("nothing changes", "none") if is_whole else ("not known", "not known")
    stranded = [item for item in review.use if item.stranded.memory not in (None, "0")]
    return {
        "verdict": "",
        "changes": _named(item.weight for item in review.changes) or untouched[0],
        "blast": f"{known(blast.claims)} running claims lose their devices" if blast.items else untouched[1],
        "matrix": _named(row.word for matrix in review.matrices for row in matrix.rows),
        "workloads": _named(item.word for item in review.workloads),
        "map": {
            "running": "who holds what now",
            "example": "one possible order of arrival, at most nodes",
            "none": "no devices to show",
        }[review.map_source],
        "pools": counted(len(review.pools), "pool"),
        "findings": _named(item.severity for item in review.findings) or "none",
        "versions": _named(item.status for item in review.versions),
        "cost": f"{money_text(review.cost.now)} now, {money_text(review.cost.after)} after"
        if review.cost.pools
        else "unknown",
        "sharing": counted(
            sum(not item.isolated for item in review.sharing), "without isolation", "without isolation"
        ),
        "use": f"{len(stranded)} of {len(review.use)} leave memory unused" if review.use else "",
        "exposure": _named(item.level for item in review.exposure),
        "unchecked": counted(len(review.unchecked), "matter"),
        "engine": f"{review.engine.result or 'stopped'} after {review.engine.seconds:.0f} s",
    }


FILTERS: Final[Mapping[str, Callable[..., object]]] = {
    "known": known,
    "price": price,
    "headline": headline,
    "rest": rest,
    "is_command": is_command,
    "nodes": nodes,
    "kinds": kinds,
    "money": money_text,
}
"""The templates' own filters."""
