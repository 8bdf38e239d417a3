"""Recorded machines, versions and modes of NVIDIA's own driver."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.clouds import machines
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.drivers.nvidia.shares import GATE as SHARES_GATE
from dra_fleet.drivers.nvidia.simulation.hardware import NvidiaNode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from dra_fleet.model.hardware import Machine
    from dra_fleet.rehearsal.simulator.node import Host

DYNAMIC: Final = "DynamicMIG"
EXCLUSIVE, STATIC, SHARES = "exclusive", "static MIG", "shares"
OPTIONS: Final = ("memory", "4")
"""Values of `consumableShares` that are recorded: sharing by memory, and by a number of claims."""

GPU_DRIVER: Final = "580.126.09"

Layout = tuple[tuple[str, int], ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """A start of the driver on a machine."""

    machine: str
    version: str
    mode: str
    gates: dict[str, bool] = field(default_factory=dict[str, bool])
    shares: str = ""
    layout: Layout = ()

    @property
    def key(self) -> str:
        """Its name among the recordings of its version."""
        detail = "+".join(f"{count}x{name}" for name, count in self.layout) or self.shares
        return " ".join(filter(None, (self.machine, self.mode, detail)))


def host_of(machine: str, layout: Layout) -> Host:
    """Return a machine as a driver sees it, with the partitions of each GPU."""
    nvidia = {"driverVersion": GPU_DRIVER, "mig": dict(layout)}
    return NvidiaNode.model_validate({"name": "node", "machine": machine, "nvidia": nvidia}).hosts()[0]


def read_recording(file: Path) -> Any:  # noqa: ANN401 - JSON
    """Read a file of `write_recording`."""
    return json.loads(gzip.decompress(file.read_bytes()))


def write_recording(file: Path, content: object) -> None:
    """Keep what was recorded, the same bytes for the same content."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    file.write_bytes(gzip.compress(text.encode(), mtime=0))


def served_machines() -> dict[str, Machine]:
    """Return the machines of the catalogue with NVIDIA's GPUs."""
    return {name: one for name, one in machines().items() if one.gpu in nvidia_facts.gpus()}


def same_hardware() -> dict[str, list[str]]:
    """Return the machines whose GPUs a driver cannot distinguish, by the first of them."""
    groups: dict[object, list[str]] = {}
    for name, one in served_machines().items():
        groups.setdefault((one.gpu, one.gpus, one.topology, one.gpu_fraction), []).append(name)
    return {group[0]: group for group in groups.values()}


def cases(version: str) -> Iterator[Case]:
    """Every case of a chart version."""
    chart = DRIVER.facts.version(version)
    gates: Mapping[str, bool] = chart.feature_gates if chart else {}
    laid_out: set[str] = set()
    for name in same_hardware():
        yield Case(machine=name, version=version, mode=EXCLUSIVE)
        if DYNAMIC in gates:
            yield Case(machine=name, version=version, mode=DYNAMIC, gates={DYNAMIC: True})
        if SHARES_GATE in gates:
            for option in OPTIONS:
                yield Case(
                    machine=name, version=version, mode=SHARES, gates={SHARES_GATE: True}, shares=option
                )
        for layout in _layouts(served_machines()[name], laid_out):
            yield Case(machine=name, version=version, mode=STATIC, layout=layout)


def _layouts(machine: Machine, laid_out: set[str]) -> list[Layout]:
    """Return the layouts of a machine: the smallest profile, on a model's first machine all profiles."""
    model = nvidia_facts.gpus()[machine.gpu or ""]
    if model.mig is None or machine.gpu_fraction is not None:
        return []
    reported = [
        one for one in model.mig.profiles if one.gi_profile is not None and one.placements is not None
    ]
    profiles = reported[:1] if model.name in laid_out else reported
    laid_out.add(model.name)
    return [((one.name, one.max_instances),) for one in profiles]
