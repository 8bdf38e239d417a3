"""Paths of the values of plain data."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

Place = tuple[str | int, ...]


def places(value: Any, at: Place = ()) -> Iterator[Place]:
    """The paths of all values below a value."""
    below: Mapping[str | int, Any] = {}
    if isinstance(value, Mapping):
        below = cast("Mapping[str | int, Any]", value)
    elif isinstance(value, list):
        below = dict(enumerate(cast("list[Any]", value)))
    for part, item in below.items():
        yield (*at, part)
        yield from places(item, (*at, part))
