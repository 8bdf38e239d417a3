"""Holds what NVIDIA's own driver published to what is predicted, attribute by attribute."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet import drivers
from dra_fleet.drivers.installed import Installed
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.settings import MigSharing
from dra_fleet.drivers.nvidia.slices import MEDIA_EXTENSIONS
from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.plan import PoolPlan
from dra_fleet.model.settings import ExclusiveSharing
from dra_fleet.model.specs import PCIE_ROOT
from scripts.recorded_cases import STATIC, Case, cases, read_recording, same_hardware, served_machines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice

FOLDER: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "recorded-slices"
GPUS: Final = "gpu.nvidia.com"
MINOR: Final = "1.36"
"""Version of the predicted cluster; the gates of all modes are on there."""

Object = dict[str, Any]


@cache
def recorded(version: str) -> Mapping[str, Any]:
    """Return the recording of a chart version.

    `module`, the called `nvml` functions, and `slices` by case.
    """
    return read_recording(FOLDER / f"nvidia-{version}.json.gz")


def recorded_versions() -> tuple[str, ...]:
    """Return the recorded chart versions, oldest first."""
    return tuple(
        sorted(file.name.removeprefix("nvidia-").removesuffix(".json.gz") for file in FOLDER.glob("nvidia-*"))
    )


@dataclass(frozen=True, kw_only=True)
class Comparison:
    """Comparison of a driver's ResourceSlices on a machine with the prediction.

    Attributes:
        machine: the machine; one with the same hardware may be recorded.
        case: what was recorded.
        differences: each a device's attribute and both values; empty where they are equal.
        unpredictable: why nothing is predicted; empty where something is.
    """

    machine: str
    case: Case
    differences: tuple[str, ...] = ()
    unpredictable: str = ""


@cache
def comparisons(version: str) -> tuple[Comparison, ...]:
    """Each machine of the catalogue and each case of a chart version."""
    slices = recorded(version)["slices"]
    return tuple(
        compare(name, case, slices[case.key])
        for case in cases(version)
        for name in same_hardware()[case.machine]
    )


def compare(machine: str, case: Case, real: Object) -> Comparison:
    """Hold what a driver published to the prediction.

    Raises:
        LookupError: the catalogue does not know the version.
    """
    driver = drivers.named("nvidia")
    version = driver.facts.version(case.version) if driver else None
    if driver is None or version is None:
        raise LookupError(case.version)
    values: Object = {"featureGates": case.gates}
    if case.shares:
        values["consumableShares"] = case.shares
    predicted = driver.publishes(
        _pool(machine, case), Installed(driver=driver, version=version, values=values), MINOR
    )
    reason = predicted.unpredictable.get(GPUS, "")
    if reason:
        return Comparison(machine=machine, case=case, unpredictable=reason)
    devices = [one for one in predicted.devices if one.driver == GPUS]
    untold = _untold(devices)
    # Before 0.5.0 the driver reads PCIe roots below the recording machine's own /sys.
    if not any(PCIE_ROOT in one["attributes"] for one in real["devices"]):
        untold |= {PCIE_ROOT}
    reported = _devices(devices, real["devices"], untold, keep_ids=_ids_are_public(machine))
    counters = {one["name"]: one["counters"] for one in real["counters"]}
    own = {one["name"]: one["counters"] for one in predicted.counters.get(GPUS, ())}
    of_counters = _fields("counters", own, counters, untold)
    return Comparison(machine=machine, case=case, differences=(*reported, *of_counters))


def _untold(devices: Sequence[NodeDevice]) -> frozenset[str]:
    """Return the counters of unpublished figures, which a prediction omits, and its replacement."""
    return frozenset([MEDIA_EXTENSIONS]) | frozenset(
        re.sub(r"([A-Z])", r"-\1", name).lower()
        for device in devices
        for name, value in cast("Object", device.seen.get("capacity", {})).items()
        if _is_unknown(value) or device.origins.get(name) == "unknown"
    )


def _ids_are_public(machine: str) -> bool:
    mig = nvidia_facts.gpus()[served_machines()[machine].gpu or ""].mig
    return mig is None or all(profile.gi_profile is not None for profile in mig.profiles)


def _name(name: str, *, keep_ids: bool) -> str:
    return name if keep_ids else re.sub(r"-(?:\d+|unknown)-(\d+)$", r"-?-\1", name)


def _pool(machine: str, case: Case) -> PoolPlan:
    return PoolPlan(
        name="pool",
        machine=served_machines()[machine],
        min_nodes=1,
        max_nodes=1,
        labels={},
        taints=(),
        gpu_driver="host",
        sharing=MigSharing(layout=dict(case.layout)) if case.mode == STATIC else ExclusiveSharing(),
    )


def _devices(
    predicted: Sequence[NodeDevice], real: Sequence[Object], untold: frozenset[str], *, keep_ids: bool
) -> Iterator[str]:
    own = {_name(one.name, keep_ids=keep_ids): {**one.seen, "name": ""} for one in predicted}
    theirs = {_name(one["name"], keep_ids=keep_ids): {**one, "name": ""} for one in real}
    yield from (f"{name}: predicted, not published" for name in sorted(own.keys() - theirs.keys()))
    yield from (f"{name}: published, not predicted" for name in sorted(theirs.keys() - own.keys()))
    for name in sorted(own.keys() & theirs.keys()):
        yield from _fields(name, own[name], theirs[name], untold)


def _fields(path: str, own: object, theirs: object, untold: frozenset[str]) -> Iterator[str]:
    """Yield the differences in a part of a device; an unknown value equals every other."""
    if own is UNKNOWN or own == theirs:
        return
    if isinstance(own, dict) and isinstance(theirs, dict):
        there = cast("Object", theirs)
        yield from _keys(path, _of_several(cast("Object", own), there), there, untold)
    elif isinstance(own, list) and isinstance(theirs, list):
        pairs = zip_longest(cast("list[object]", own), cast("list[object]", theirs))
        for index, (mine_one, other_one) in enumerate(pairs):
            yield from _fields(f"{path}[{index}]", mine_one, other_one, untold)
    else:
        yield f"{path}: predicted {own!r}, published {theirs!r}"


def _of_several(own: Object, theirs: Object) -> Object:
    """Return a capacity with the published value, if it lies between the capacity's possible values."""
    amounts = [Quantity.parse(value).amount for value in own.get(ONE_OF, ())]
    if not amounts or not min(amounts) <= Quantity.parse(theirs["value"]).amount <= max(amounts):
        return own
    return {**{key: value for key, value in own.items() if key != ONE_OF}, "value": theirs["value"]}


def _keys(path: str, own: Object, theirs: Object, untold: frozenset[str]) -> Iterator[str]:
    for key in sorted(own.keys() | theirs.keys()):
        where = f"{path}.{key}"
        if key in own and key in theirs:
            yield from _fields(where, own[key], theirs[key], untold)
        elif key in theirs and key not in untold:
            yield f"{where}: published {json.dumps(theirs[key])}, not predicted"
        elif key in own and key not in untold and not _is_unknown(own[key]):
            yield f"{where}: predicted {json.dumps(own[key])}, not published"


def _is_unknown(value: object) -> bool:
    if isinstance(value, dict):
        parts = cast("Object", value).values()
        return bool(parts) and all(map(_is_unknown, parts))
    return value is UNKNOWN
