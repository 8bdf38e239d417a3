"""Kubernetes objects as somebody wrote them: whatever stands where a mapping, a list or a text belongs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is a mapping, else an empty one."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}


def sequence(value: object) -> Sequence[object]:
    """The value if it is a list, else an empty one."""
    return cast("Sequence[object]", value) if isinstance(value, list | tuple) else ()


def text(value: object) -> str:
    """The value as text, as a chart's template prints it; nothing for null."""
    if value is None:
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)
