"""Names that Google Cloud gives rules for: what our names become there.

Source: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters.nodePools
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clouds.common.names import short_hash

if TYPE_CHECKING:
    from collections.abc import Sequence

LIMIT = 40
"""The longest name of a node pool or a cluster. Lower-case letters, digits and hyphens, a letter first."""

_REGIONAL_ZONES = 3
"""In how many zones GKE puts nodes of a regional cluster that names none."""


def node_pool_name(name: str, *identity: str) -> str:
    """The name in GKE of a pool: what fits of ours, then a hash of it and of what cannot change in place.

    With another identity the name is another, so that the new pool is there before the old one goes.
    """
    suffix = short_hash("\n".join((name, *identity)))
    stem = name if name[:1].isalpha() else f"p{name}"
    return f"{stem[: LIMIT - len(suffix) - 1].rstrip('-')}-{suffix}"


def region_of(location: str) -> str:
    """The region of a location: us-central1 of us-central1 and of us-central1-a."""
    parts = location.split("-")
    return "-".join(parts[:2])


def is_zone(location: str) -> bool:
    """Whether a location is a zone."""
    return location.count("-") == 2  # noqa: PLR2004 - continent, region, zone


def zones_of(zones: Sequence[str], location: str) -> int:
    """In how many zones a pool has nodes.

    Args:
        zones: those that it names.
        location: of its cluster.
    """
    return len(zones) or (1 if is_zone(location) else _REGIONAL_ZONES)
