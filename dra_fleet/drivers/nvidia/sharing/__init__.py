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


def is_divided(machine: Machine, wanted: Sharing) -> bool:
    """Whether a machine's GPUs are cut into MIG partitions, which they can have."""
    model = nvidia_facts.gpus().get(machine.gpu or "")
    return isinstance(wanted, MigSharing) and model is not None and model.mig is not None


def check_sharing(machine: Machine, wanted: Sharing, path: str) -> list[SettingsError]:
    """Return everything that is wrong with a MIG layout on a machine's GPUs.

    Args:
        machine: the machine of the pool.
        wanted: the pool's strategy.
        path: where the strategy stands in the stack file.
    """
    if machine.gpu is None or not isinstance(wanted, MigSharing):
        return []
    return mig.check_layout(nvidia_facts.gpus()[machine.gpu], wanted.layout, f"{path}.layout")
