"""Files of MIG configurations: what a name means for the GPUs of a node.

Source: https://github.com/NVIDIA/mig-parted, `api/spec/v1`, and the operator's own file,
https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/assets/state-mig-manager/0400_configmap.yaml.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.facts import read_mapping
from dra_fleet.drivers.nvidia.devices import MigLayoutImpossible, place
from dra_fleet.drivers.nvidia.mig_config import device_filter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.drivers.nvidia.devices import GpuOnHost
    from dra_fleet.drivers.nvidia.facts import GpuModel, MigFacts

Layout = tuple[tuple[str, int], ...]
Layouts = tuple[Layout | None, ...]
"""The partitions of each GPU of a node; None with MIG mode off."""


class MigConfigInvalid(Exception):  # noqa: N818 - a state to show, not a bug
    """The selected configuration cannot be had on this node; the message says why."""


def built_in(models: Iterable[GpuModel]) -> str:
    """Return the operator's built-in configurations for these GPUs."""
    disabled = {"devices": "all", "mig-enabled": False}
    enabled: dict[str, Any] = {"devices": "all", "mig-enabled": True, "mig-devices": {}}
    configs: dict[str, list[dict[str, Any]]] = {"all-disabled": [disabled], "all-enabled": [enabled]}
    for model in models:
        if model.mig is None:
            continue
        layouts = {
            f"all-{item.name.replace('+', '.')}": {item.name: item.max_instances}
            for item in model.mig.profiles
        }
        layouts["all-balanced"] = _balanced(model.mig)
        for name, layout in layouts.items():
            entry = {"device-filter": device_filter(model), **enabled, "mig-devices": layout}
            configs.setdefault(name, []).append(entry)
    return json.dumps({"version": "v1", "mig-configs": configs})


def choose(text: str, name: str, gpus: Sequence[GpuOnHost]) -> Layouts:
    """Return the layouts of a configuration for a node's GPUs; a GPU that it does not name is unchanged.

    Raises:
        MigConfigInvalid: no such configuration, or one that a GPU cannot have.
    """
    configs = _configs(text)
    if name not in configs:
        raise MigConfigInvalid(
            f"selected mig-config not present: {name}; the file has: {', '.join(sorted(configs))}"
        )
    layouts = [gpu.mig for gpu in gpus]
    matched = False
    for entry in configs[name]:
        for index, gpu in enumerate(gpus):
            if not _applies(entry, gpu):
                continue
            matched = True
            layouts[index] = _layout(entry, gpu)
    if not matched:
        raise MigConfigInvalid(f"mig-config {name} is for none of this node's GPUs ({_models(gpus)})")
    return tuple(layouts)


def _balanced(mig: MigFacts) -> dict[str, int]:
    """Two of the smallest, one of the double and, where there is one, one of the triple."""
    names = [item.name for item in mig.profiles if "+" not in item.name and not item.name.endswith("-me")]
    smallest = [next((name for name in names if name.startswith(f"{size}g.")), None) for size in (1, 2, 3)]
    return {name: 2 if index == 0 else 1 for index, name in enumerate(smallest) if name}


@lru_cache(maxsize=4)
def _configs(text: str) -> dict[str, list[dict[str, Any]]]:
    try:
        return cast("dict[str, list[dict[str, Any]]]", read_mapping(text)["mig-configs"])
    except (ValueError, KeyError, TypeError) as error:
        raise MigConfigInvalid(f"error parsing config file: {error}") from error


def _applies(entry: dict[str, Any], gpu: GpuOnHost) -> bool:
    found: str | list[str] = entry.get("device-filter") or []
    filters = [found] if isinstance(found, str) else found
    own = {item.lower() for item in device_filter(gpu.model)}
    devices = entry.get("devices", "all")
    matches = not filters or any(item.lower() in own for item in filters)
    return matches and (devices == "all" or gpu.minor in devices)


def _layout(entry: dict[str, Any], gpu: GpuOnHost) -> Layout | None:
    if not entry.get("mig-enabled"):
        return None
    layout = tuple(sorted(cast("dict[str, int]", entry.get("mig-devices") or {}).items()))
    if gpu.model.mig is None:
        raise MigConfigInvalid(f"{gpu.model.name} cannot be partitioned: it has no MIG")
    try:
        place(gpu.model, layout)
    except MigLayoutImpossible as error:
        raise MigConfigInvalid(str(error)) from error
    return layout


def _models(gpus: Sequence[GpuOnHost]) -> str:
    return ", ".join(sorted({gpu.model.name for gpu in gpus})) or "none"
