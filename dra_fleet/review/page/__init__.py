"""The review as one page that needs nothing else: style, script and pictures are within it."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from dra_fleet.review.kinds import counted, grouped, short_list
from dra_fleet.review.model import SECTIONS
from dra_fleet.review.model.base import MONTH_HOURS
from dra_fleet.review.page.wording import DECISIONS, FILTERS, MORE_CHANGES, SIGNS, TITLES, notes
from dra_fleet.review.pictures import cost_bars, fleet_map, heat_map

if TYPE_CHECKING:
    from dra_fleet.review.model import Review

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
        loader=LOADER,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(FILTERS)
    return found


def _own(environment: Environment, name: str) -> str:
    """Return a style sheet or script of this package unchanged; it contains nothing of a review."""
    return LOADER.get_source(environment, name)[0]
