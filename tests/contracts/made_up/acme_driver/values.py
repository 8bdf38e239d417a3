"""Values for the chart of a driver that does not exist, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.values import value_at
from dra_fleet.findings.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues


def values(release: Release) -> ChartValues:
    """Lanes at full speed."""
    del release
    return {"speed": "full"}


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """Speeds that lanes do not have."""
    del release
    speed = value_at(final, "speed")
    if speed in ("full", "half"):
        return ()
    return (Refusal(path="speed", what="is no speed of a lane", got=str(speed), allowed="full, half"),)


def conflicts(release: Release) -> Sequence[Refusal]:
    """None."""
    del release
    return ()


def priority_keys(values: ChartValues) -> Sequence[str]:
    """None: its pods are not critical."""
    del values
    return ()
