"""What the made-up cloud has to give."""

from __future__ import annotations

from dra_fleet.rehearsal.simulator.node import HardwareModel


class MeadowLimits(HardwareModel):
    """Nothing is scarce there."""
