"""The review as one page that needs nothing else: style, script and pictures are within it."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from dra_fleet.core.findings.errors import KEY
from dra_fleet.review.events import counted, grouped, ranged, short_list
from dra_fleet.review.model import MONTH_HOURS, SECTIONS
from dra_fleet.review.pictures import cost_bars, fleet_map, heat_map, money_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dra_fleet.review.model import Pool, Review


LOADER = PackageLoader("dra_fleet.review.page")


def render_page(review: Review) -> str:
    """Render the document. The same review gives the same page."""
    environment = _environment()
    script = _own(environment, "script.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    changes = grouped(review.changes)
    return environment.get_template("page.html").render(
        review=review,
        changes=changes,
        sections=SECTIONS,
        titles=TITLES,
        decisions=DECISIONS,
        notes=notes(review),
        clusters=fleet_map(review),
        heats=[heat_map(matrix) for matrix in review.matrices],
        bars=cost_bars(review.cost),
        more=Counter((item.weight, item.action, item.kind) for item in changes[MORE_CHANGES:]),
        style=_own(environment, "style.css"),
        script=script,
        script_hash=digest,
        counted=counted,
        short_list=short_list,
        signs=SIGNS,
        most_changes=MORE_CHANGES,
        month_hours=MONTH_HOURS,
    )


def compile_templates() -> None:
    """Do now, while someone else works, what the first page would have to wait for."""
    environment = _environment()
    for name in environment.list_templates(extensions=["html"]):
        environment.get_template(name)


@cache
def _environment() -> Environment:
    found = Environment(
        loader=LOADER, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    found.filters.update(FILTERS)
    return found


def _own(environment: Environment, name: str) -> str:
    """Return a style sheet or script of this package unchanged; it contains nothing of a review."""
    return LOADER.get_source(environment, name)[0]


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
