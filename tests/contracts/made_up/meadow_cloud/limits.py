"""Limits of the made-up cloud."""

from __future__ import annotations

from dra_fleet.rehearsal.simulator.node import HardwareModel


class MeadowLimits(HardwareModel):
    """Nothing is scarce there."""
