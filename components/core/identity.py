"""Owner of an object, as labels."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dra_fleet.model.specs import WORKLOAD

if TYPE_CHECKING:
    from collections.abc import Mapping


HASH_DIGITS = 8

NAME_LIMIT = 253

MANAGED_BY = "app.kubernetes.io/managed-by"

OWNER = "dra-fleet/owner"


@dataclass(frozen=True, kw_only=True)
class Identity:
    """The stack's owner; the same labels go on every object the program creates."""

    owner: str

    def labels(self, workload: str | None = None) -> dict[str, str]:
        """Labels of an object, or of a workload's Job and its pods."""
        labels = {MANAGED_BY: "dra-fleet", OWNER: self.owner}
        return labels if workload is None else {**labels, WORKLOAD: workload}


def logical(cluster: str, part: str) -> str:
    """Return the logical name of a part of a cluster.

    It is the resource's identity: renaming it replaces it.
    """
    return f"{cluster}-{part}"


def by_content(name: str, content: Mapping[str, Any]) -> str:
    """Return a name that changes only with the content, whatever the order of keys.

    Objects with an immutable spec have it, so that a changed spec is a new object. A long name is cut to fit
    the hash.
    """
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    digest = hashlib.sha256(canonical.encode()).hexdigest()[:HASH_DIGITS]
    return f"{name[: NAME_LIMIT - HASH_DIGITS - 1].rstrip('.-')}-{digest}"
