"""Names and identifiers of Google Cloud's resources."""

from __future__ import annotations

import hashlib
import re
from typing import Final

from dra_fleet.rehearsal.clouds.cloud import WrongInput
from dra_fleet.rehearsal.clouds.values import Properties, is_unknown

PROJECT: Final = "rehearsal"
_NAME: Final = re.compile(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?")
_ALLOWED: Final = "1 to 40 lower-case letters, digits and '-', a letter first, no '-' at the end"
_ZONE: Final = re.compile(r"[a-z]+-[a-z]+[0-9]+-[a-z]")


def name_faults(inputs: Properties) -> list[WrongInput]:
    """A name that GKE does not take."""
    name = inputs.get("name")
    if isinstance(name, str) and not is_unknown(name) and not _NAME.fullmatch(name):
        return [WrongInput(path="name", reason=f"{name!r} is no allowed name; allowed: {_ALLOWED}")]
    return []


def cluster_id(project: str, location: str, cluster: str) -> str:
    """The id of a cluster."""
    return f"projects/{project}/locations/{location}/clusters/{cluster}"


def is_zone(location: str) -> bool:
    """Whether a location is a zone, not a region."""
    return _ZONE.fullmatch(location) is not None


def region_of(location: str) -> str:
    """The region of a location."""
    return location.rpartition("-")[0] if is_zone(location) else location


def zones_of(pool: Properties, cluster: Properties) -> list[str]:
    """The zones in which a pool has nodes."""
    location = str(cluster["location"])
    given = pool.get("nodeLocations") or cluster.get("nodeLocations")
    if given:
        return [str(zone) for zone in given]
    return [location] if is_zone(location) else [f"{location}-{letter}" for letter in "abc"]


def digits_of(identifier: str, count: int = 8) -> str:
    """Hexadecimal digits that are always the same for an id, as in node names."""
    return hashlib.sha256(identifier.encode()).hexdigest()[:count]


def letters_of(identifier: str, count: int = 4) -> str:
    """Lower-case letters and digits that are always the same for an id, as at the end of node names."""
    number = int(hashlib.sha256(f"node {identifier}".encode()).hexdigest(), 16)
    alphabet = "0123456789bcdfghjklmnpqrstvwxz"
    return "".join(alphabet[number // 30**place % 30] for place in range(count))
