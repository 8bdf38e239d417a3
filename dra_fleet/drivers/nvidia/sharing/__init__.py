"""Sharing strategies: what each demands of a pool's GPUs, and what isolates their holders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.settings import MigSharing
from dra_fleet.drivers.nvidia.sharing import mig

if TYPE_CHECKING:
    from dra_fleet.core.findings.errors import SettingsError
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.settings import Sharing


def is_divided(machine: Machine, requested: Sharing) -> bool:
    """Return True if a machine's GPUs are divided into MIG partitions that they support."""
    model = nvidia_facts.gpus().get(machine.gpu or "")
    return isinstance(requested, MigSharing) and model is not None and model.mig is not None


def check_sharing(machine: Machine, requested: Sharing, path: str) -> list[SettingsError]:
    """Return everything that is wrong with a MIG layout on a machine's GPUs.

    Args:
        machine: the machine of the pool.
        requested: the pool's strategy.
        path: the strategy's path in the stack file.
    """
    if machine.gpu is None or not isinstance(requested, MigSharing):
        return []
    return mig.check_layout(nvidia_facts.gpus()[machine.gpu], requested.layout, f"{path}.layout")
