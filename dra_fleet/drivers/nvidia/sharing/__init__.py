"""Sharing strategies: what each demands of a pool's GPUs."""

from dra_fleet.drivers.nvidia.sharing import exclusive, mig
from dra_fleet.drivers.nvidia.sharing_settings import ExclusiveSharing, MigSharing, SharingSettings
from dra_fleet.findings.errors import SettingsError
from dra_fleet.hardware.models import GpuModel

__all__ = ["check"]


def check(gpu: GpuModel, sharing: SharingSettings, path: str) -> list[SettingsError]:
    """Everything that is wrong with sharing a GPU model that way.

    Args:
        gpu: the model of the pool's GPUs.
        sharing: the pool's strategy.
        path: where the strategy stands in the stack file.
    """
    match sharing:
        case ExclusiveSharing():
            return exclusive.check(gpu, sharing, path)
        case MigSharing():
            return mig.check_layout(gpu, sharing.layout, f"{path}.layout")
