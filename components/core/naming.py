"""Names of resources: logical names for the engine, and names that follow from an object's content."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HASH_DIGITS = 8
NAME_LIMIT = 253


def logical(cluster: str, part: str) -> str:
    """The logical name of a part of a cluster. It is the resource's identity: renaming it replaces it."""
    return f"{cluster}-{part}"


def by_content(name: str, content: Mapping[str, Any]) -> str:
    """A name that changes with the content and never otherwise, whatever the order of keys.

    Objects whose spec is immutable carry it, so that a changed spec is a new object. A name so long that the
    hash would not fit is cut.
    """
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()[:HASH_DIGITS]
    return f"{name[: NAME_LIMIT - HASH_DIGITS - 1].rstrip('.-')}-{digest}"
