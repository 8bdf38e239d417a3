"""How the page words values: None is `unknown`, never zero."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from dra_fleet.core.findings.errors import KEY
from dra_fleet.review.kinds import counted, ranged
from dra_fleet.review.pictures.cost_bars import told_money

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dra_fleet.review.model import Pool, Review

MORE_CHANGES: Final = 300
"""Changes that the page tells one by one; the rest as counts."""
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
    """A value, or `unknown` for None."""
    return UNKNOWN if value is None else value


def price(value: float | None) -> str:
    """A price per hour."""
    return UNKNOWN if value is None else f"${value:,.2f}"


def nodes(pool: Pool) -> str:
    """A pool's nodes: those that run, and its bounds."""
    told = ranged(pool.nodes_min, pool.nodes_max, "node")
    return told if pool.nodes_now is None else f"{told}, {pool.nodes_now} now"


def kinds(pool: Pool) -> str:
    """What a node of a pool publishes."""
    if pool.unpredictable:
        return f"cannot be told: {'; '.join(pool.unpredictable)}"
    told = [
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
    return "; ".join(told) or "none"


def headline(message: str) -> str:
    """The first line of a message; of a path of the stack file what tells it from others."""
    return message.partition("\n")[0].removeprefix(f"{KEY}.")


def rest(message: str) -> str:
    """The lines between a message's first and its fix, which is told apart."""
    return "\n".join(line.strip() for line in message.partition("\n  fix: ")[0].splitlines()[1:])


def is_command(text: str) -> bool:
    """Whether a text is to be typed, and not to be read."""
    return text.startswith(("dra-fleet ", "kubectl ", "pulumi "))


def _named(words: Iterable[str]) -> str:
    return ", ".join(f"{count} {word}" for word, count in Counter(words).items())


def notes(review: Review) -> Mapping[str, str]:
    """What stands beside each part's title: its gist in some words."""
    blast = review.blast
    is_whole = review.engine.result == "succeeded"
    untouched = ("nothing changes", "nobody") if is_whole else ("not known", "not known")
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
        "cost": f"{told_money(review.cost.now)} now, {told_money(review.cost.after)} after"
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
    "money": told_money,
}
"""The templates' own filters."""
