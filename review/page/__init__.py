"""The review as one page that needs nothing else: every part as tables, most important first."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, cast

from pydantic import BaseModel

from review.model import SECTIONS
from review.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from review.model import Review

_FIELDS = {"matrix": "matrices", "map": "pools"}
"""Sections whose field of the review has another name; the map is drawn from the pools."""
_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; margin: 1rem auto; max-width: 75rem; padding: 0 1rem }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { border: 1px solid; padding: .2rem .5rem; text-align: left; vertical-align: top }
summary { cursor: pointer; font-size: 1.2rem; margin: .5rem 0 }
"""


def render_page(review: Review) -> str:
    """The whole document: no script, no request, nothing from outside."""
    title = f"{review.verdict.decision}: stack {review.stack}"
    parts = [_section(review, name) for name in SECTIONS if name != "map"]
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>"
    )
    lead = (
        f"{counted(review.totals.clusters, 'cluster')}, {counted(review.totals.pools, 'pool')}, "
        f"{counted(review.totals.claims, 'claim')}. Previewed {review.previewed:%Y-%m-%d %H:%M} UTC."
    )
    body = f"<h1>{escape(title)}</h1><p>{escape(lead)}</p>{''.join(parts)}"
    return f"{head}<body><main>{body}</main></body></html>\n"


def _section(review: Review, name: str) -> str:
    value: object = getattr(review, _FIELDS.get(name, name))
    is_open = " open" if name in ("verdict", "changes", "blast") else ""
    return (
        f'<details id="section-{name}"{is_open}><summary>{escape(name.capitalize())}</summary>'
        f"{_html(value)}</details>"
    )


def _html(value: object) -> str:
    if isinstance(value, BaseModel):
        fields = {name: cast("object", getattr(value, name)) for name in type(value).model_fields}
        rows = [f"<tr><th scope=row>{escape(_words(name))}<td>{_html(item)}" for name, item in fields.items()]
        return f"<table>{''.join(rows)}</table>"
    if isinstance(value, dict):
        entries = cast("dict[str, object]", value)
        return escape(", ".join(f"{key}: {item}" for key, item in entries.items()))
    if isinstance(value, tuple):
        return _items(cast("Sequence[object]", value))
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return escape(str(value))


def _items(values: Sequence[object]) -> str:
    if not values:
        return "none"
    first = values[0]
    if not isinstance(first, BaseModel):
        return escape(", ".join(str(item) for item in values))
    names = [name for name in type(first).model_fields if name != "nodes"]
    heading = "".join(f"<th scope=col>{escape(_words(name))}" for name in names)
    rows = [
        "<tr>" + "".join(f"<td>{_html(cast('object', getattr(item, name)))}" for name in names)
        for item in values
    ]
    return f"<table><thead><tr>{heading}<tbody>{''.join(rows)}</table>"


def _words(name: str) -> str:
    return name.replace("_", " ")
