"""MIG layouts: whether the partitions of a pool exist on its GPUs and fit there together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.core.findings.errors import SettingsError, choices, mistyped
from dra_fleet.drivers.nvidia.devices import MigLayoutImpossible, place

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.drivers.nvidia.facts import GpuModel, MigFacts


def check_layout(gpu: GpuModel, layout: Mapping[str, int], path: str) -> list[SettingsError]:
    """Return everything that is wrong with a layout on a GPU model.

    Args:
        gpu: the GPU model.
        layout: instances per profile on each GPU.
        path: the layout's path in the stack file.
    """
    if gpu.mig is None:
        return [
            SettingsError(
                path=path,
                what=f"requests MIG partitions, which {gpu.name} cannot have",
                got=_written(layout),
                allowed="sharing: {strategy: exclusive}",
                fix="remove sharing, or choose a machine whose GPUs have MIG (A30, A100, H100 and later)",
            )
        ]
    errors = [
        error
        for name, count in sorted(layout.items())
        for error in _check_profile(gpu, gpu.mig, name, count, path)
    ]
    return errors or _check_together(gpu, gpu.mig, layout, path)


def _check_profile(gpu: GpuModel, mig: MigFacts, name: str, count: int, path: str) -> list[SettingsError]:
    profile = mig.profile(name)
    names = [known.name for known in mig.profiles]
    if profile is None:
        return [
            SettingsError(
                path=f"{path}.{name}",
                what=f"is not a MIG profile of {gpu.name}",
                got=name,
                allowed=choices(name, names),
                fix=mistyped(name, names),
            )
        ]
    if count > profile.max_instances:
        return [
            SettingsError(
                path=f"{path}.{name}",
                what=f"is more instances than {gpu.name} can hold of this profile",
                got=str(count),
                allowed=f"1 to {profile.max_instances}",
            )
        ]
    return []


def _check_together(
    gpu: GpuModel, mig: MigFacts, layout: Mapping[str, int], path: str
) -> list[SettingsError]:
    profiles = [(mig.profile(name), count) for name, count in layout.items()]
    compute = sum(profile.compute_slices * count for profile, count in profiles if profile is not None)
    memory = sum(profile.memory_slices * count for profile, count in profiles if profile is not None)
    fits = compute <= mig.compute_slices and memory <= mig.memory_slices
    try:
        if fits:
            place(gpu, tuple(sorted(layout.items())))
            return []
    except MigLayoutImpossible:
        pass
    return [
        SettingsError(
            path=path,
            what=f"does not fit on one {gpu.name}: it takes {compute} compute and {memory} memory slices",
            got=_written(layout),
            allowed=f"{mig.compute_slices} compute and {mig.memory_slices} memory slices, "
            "each profile at its own places",
            fix="take away instances, or choose smaller profiles",
        )
    ]


def _written(layout: Mapping[str, int]) -> str:
    return "{" + ", ".join(f"{name}: {count}" for name, count in sorted(layout.items())) + "}"
