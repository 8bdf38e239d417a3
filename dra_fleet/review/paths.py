"""Reads the engine's property paths, such as `spec.template.containers[0].image` or `values["a.b"]`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.review.events import EngineStep

NAMED_BY_ITSELF = ("metadata.name", "__defaults")
"""Properties that follow from others."""
_PART = re.compile(r'\[(\d+)\]|\["((?:[^"\\]|\\.)*)"\]|([^.\[\]]+)')


def value_at(value: object, path: str) -> object | None:
    """The value at a path; None where there is none."""
    for index, quoted, name in _PART.findall(path):
        if isinstance(value, list) and index:
            items = cast("list[object]", value)
            value = items[int(index)] if int(index) < len(items) else None
        elif isinstance(value, dict):
            value = cast("dict[str, object]", value).get(quoted.replace('\\"', '"') or name or index)
        else:
            return None
    return value


def fields_of(steps: Sequence[EngineStep]) -> list[str]:
    """The properties that change, by their last names, in order; without what the engine names by itself."""
    paths = dict.fromkeys(path for step in steps for path in step.diff)
    return [last_name(path) for path in paths if path not in NAMED_BY_ITSELF]


def last_name(path: str) -> str:
    """The last name in a path."""
    names = [quoted or name for _, quoted, name in _PART.findall(path) if quoted or name]
    return names[-1] if names else path
