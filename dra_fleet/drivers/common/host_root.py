"""Whether a DRA driver looks for its hardware's driver on the host where that is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection

HOST: Final = "/"
"""Where a driver looks unless told otherwise, and where the images of nodes have it."""


def looks_elsewhere(given: str, roots: Collection[str]) -> bool:
    """Whether a driver that looks in one folder misses all of those where the hardware's driver is."""
    return _bare(given) not in {_bare(root) for root in roots}


def _bare(root: str) -> str:
    return root.rstrip("/") or HOST
