"""What all clouds say of their resources together: a rule asks every cloud that is registered."""

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
    """What each cloud says."""
    return tuple(cloud.resources for cloud in clouds.known())


def any_of(patterns: Callable[[CloudResources], Iterable[re.Pattern[str]]]) -> re.Pattern[str]:
    """Matches whatever the patterns of one of the clouds match.

    Args:
        patterns: those that are meant of one cloud.
    """
    found = {pattern.pattern for resources in all_resources() for pattern in patterns(resources)}
    return re.compile("|".join(sorted(found)))


def declared_by(type_token: str) -> CloudResources | None:
    """The cloud of a control plane, by the type of its resource."""
    return next((each for each in all_resources() if each.clusters.fullmatch(type_token)), None)


CLUSTERS = any_of(lambda resources: [resources.clusters])
"""The clouds' own control planes."""
