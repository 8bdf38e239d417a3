"""Changes in place of a pool for which its cloud replaces the pool's nodes one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.clouds import all_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dra_fleet.review.events import EngineStep


def rolls_nodes(steps: Iterable[EngineStep]) -> bool:
    """Whether an update of a pool replaces its nodes."""
    return any(
        path == prefix or path.startswith((f"{prefix}.", f"{prefix}["))
        for step in steps
        if step.operation == "update"
        for prefix in _rolled_by(step.type)
        for path in step.diff
    )


def _rolled_by(pool_type: str) -> Iterator[str]:
    """The inputs of a type of pool that its cloud changes by new nodes."""
    for resources in all_resources():
        for form in resources.pools:
            if form.types.fullmatch(pool_type):
                yield from form.rolled_by
