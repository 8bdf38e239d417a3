"""Resource patterns of all registered clouds."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from dra_fleet import clouds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dra_fleet.clouds.resources import CloudResources


@cache
def all_resources() -> tuple[CloudResources, ...]:
    """Return the resource patterns of each cloud."""
    return tuple(cloud.resources for cloud in clouds.known())


def any_of(patterns: Callable[[CloudResources], Iterable[re.Pattern[str]]]) -> re.Pattern[str]:
    """Combine the patterns of all clouds into one.

    Args:
        patterns: those that are meant of one cloud.
    """
    found = {pattern.pattern for resources in all_resources() for pattern in patterns(resources)}
    return re.compile("|".join(sorted(found)))


def declared_by(type_token: str) -> CloudResources | None:
    """Return the cloud of a control plane by its resource type."""
    return next((each for each in all_resources() if each.clusters.fullmatch(type_token)), None)


CLUSTERS = any_of(lambda resources: [resources.clusters])
"""The clouds' own control planes."""
