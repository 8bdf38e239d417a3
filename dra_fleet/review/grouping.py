"""Changes that read alike on several clusters, as one."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.review.model import Change


def grouped(changes: Sequence[Change]) -> tuple[Change, ...]:
    """Changes of one text on several clusters become one, with all their clusters, losses and steps."""
    alike: dict[tuple[str, ...], list[Change]] = {}
    for item in changes:
        alike.setdefault((item.weight, item.action, item.kind, item.text, *item.details), []).append(item)
    return tuple(found[0] if len(found) == 1 else _one(found) for found in alike.values())


def _one(found: Sequence[Change]) -> Change:
    lost = [item.lost_claims for item in found]
    return found[0].model_copy(
        update={
            "cluster": ", ".join(dict.fromkeys(item.cluster for item in found)),
            "lost_claims": None if None in lost else sum(count or 0 for count in lost),
            "lost_workloads": tuple(dict.fromkeys(name for item in found for name in item.lost_workloads)),
            "resources": tuple(step for item in found for step in item.resources),
        }
    )
