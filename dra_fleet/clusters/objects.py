"""Reading plain Kubernetes objects where parts may be absent."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

    from dra_fleet.clusters.client import Object


@contextmanager
def without_collections() -> Generator[None]:
    """Read without Python's cycle collector.

    Thousands of pods are a million objects without a cycle; looking for one takes longer than all else.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def section(item: Object, *path: str) -> Object:
    """Return the mapping at a path; empty if some step of it is absent or null."""
    return cast("Object", _at(item, path) or {})


def entries(item: Object, *path: str) -> list[Object]:
    """Return the list at a path; empty if some step of it is absent or null."""
    return cast("list[Object]", _at(item, path) or [])


def carries(item: Object, selector: Mapping[str, str]) -> bool:
    """Return whether the object has all these labels."""
    return selector.items() <= section(item, "metadata", "labels").items()


def _at(item: Object, path: tuple[str, ...]) -> Any:  # noqa: ANN401 - whatever the object has there
    found: Any = item
    for key in path:
        found = cast("Object", found or {}).get(key)
    return found
