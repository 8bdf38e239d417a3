"""A review whose every free text is hostile to HTML, CSS and scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet.review.model import Review

if TYPE_CHECKING:
    from collections.abc import Mapping

HOSTILE = "</script></title></style><img src=x onerror=alert(1)>\"'`{{7*7}}{%x%}&lt;]]>"
_WORDS = frozenset(
    {"decision", "section", "weight", "action", "kind", "severity", "level", "word", "atMin", "before"}
    | {"status", "source", "change", "mapSource", "currency", "supportedUntil", "priceDate", "previewed"}
)
"""Fields that hold one of some words, a date, or nothing."""


def hostile(review: Review) -> Review:
    """The review with every free text made hostile, and all else as it was."""
    return Review.model_validate(_changed(review.model_dump(mode="json", by_alias=True)))


def _changed(value: object, name: str = "") -> object:
    if isinstance(value, dict):
        pairs = cast("Mapping[str, object]", value)
        return {key: _changed(item, key) for key, item in pairs.items()}
    if isinstance(value, list):
        return [_changed(item, name) for item in cast("list[object]", value)]
    if isinstance(value, str) and name not in _WORDS:
        return f"{value}{HOSTILE}"
    return value
