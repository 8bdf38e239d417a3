"""Whole GPUs, one claim each: nothing to lay out and nothing to check."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dra_fleet.drivers.nvidia.sharing_settings import ExclusiveSharing
    from dra_fleet.findings.errors import SettingsError
    from dra_fleet.hardware.models import GpuModel


def check(gpu: GpuModel, sharing: ExclusiveSharing, path: str) -> list[SettingsError]:
    """Every GPU can be held whole."""
    del gpu, sharing, path
    return []
