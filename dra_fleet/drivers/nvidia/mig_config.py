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
    """The operator's own name where it has one, `all-1g.10gb`; else one made of the layout."""
    if is_built_in(gpu, layout):
        return f"all-{_written(next(iter(layout)))}"
    return "dra-fleet-" + "-".join(f"{count}x{_written(name)}" for name, count in sorted(layout.items()))


def is_built_in(gpu: GpuModel, layout: Mapping[str, int]) -> bool:
    """Whether the operator's own file has the layout: as many instances of one profile as fit."""
    if gpu.mig is None or len(layout) != 1:
        return False
    name, count = next(iter(layout.items()))
    profile = gpu.mig.profile(name)
    return profile is not None and profile.max_instances == count


def config_file(layouts: Sequence[tuple[GpuModel, Mapping[str, int]]]) -> str:
    """A file with these layouts under their names. It replaces the operator's own, so it holds all in use."""
    configs: dict[str, object] = {"all-disabled": [{"devices": "all", "mig-enabled": False}]}
    for gpu, layout in layouts:
        configs[config_name(gpu, layout)] = [
            {"devices": "all", "mig-enabled": True, "mig-devices": dict(sorted(layout.items()))}
        ]
    # JSON is YAML, and its order is ours.
    return json.dumps({"version": "v1", "mig-configs": configs}, sort_keys=True)


def _written(profile: str) -> str:
    return profile.replace("+", ".")
