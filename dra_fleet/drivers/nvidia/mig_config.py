"""The MIG manager's configurations: the name of a layout, and the file that says what the name means.

Source: https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/assets/state-mig-manager/0400_configmap.yaml
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.nvidia.facts import GpuModel

Layout = dict[str, int]


def config_name(gpu: GpuModel, layout: Mapping[str, int]) -> str:
    """Return the operator's name of a layout, such as `all-1g.10gb`; otherwise a name made of the layout."""
    if is_built_in(gpu, layout):
        return f"all-{_written(next(iter(layout)))}"
    return "dra-fleet-" + "-".join(f"{count}x{_written(name)}" for name, count in sorted(layout.items()))


def is_built_in(gpu: GpuModel, layout: Mapping[str, int]) -> bool:
    """Return True if the operator's own file has the layout: as many instances of one profile as fit.

    The file has layouts only for models whose PCI ids it names.
    """
    if gpu.mig is None or not gpu.mig.pci_ids or len(layout) != 1:
        return False
    name, count = next(iter(layout.items()))
    profile = gpu.mig.profile(name)
    return profile is not None and profile.max_instances == count


def config_file(layouts: Sequence[tuple[GpuModel, Mapping[str, int]]]) -> str:
    """Return a file with these layouts under their names.

    It replaces the operator's own, so it has all layouts in use. A name of the operator's file means another
    layout on another model, so each layout is restricted to its model.
    """
    configs: dict[str, list[object]] = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    for gpu, layout in layouts:
        entry: dict[str, object] = {
            "devices": "all",
            "mig-enabled": True,
            "mig-devices": dict(sorted(layout.items())),
        }
        if is_built_in(gpu, layout):
            entry["device-filter"] = device_filter(gpu)
        entries = configs.setdefault(config_name(gpu, layout), [])
        if entry not in entries:
            entries.append(entry)
    # JSON is YAML, in a stable order.
    return json.dumps({"version": "v1", "mig-configs": configs}, sort_keys=True)


def device_filter(gpu: GpuModel) -> list[str]:
    """Return the PCI ids of models that are partitioned alike, and the vendor's, as mig-parted reads them."""
    return [f"0x{device}10DE" for device in gpu.mig.pci_ids] if gpu.mig is not None else []


def _written(profile: str) -> str:
    return profile.replace("+", ".")
