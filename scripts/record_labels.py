"""Records what GPU feature discovery says of every machine of the catalogue; `make record` runs it.

NVIDIA's own program, built from its Go module, runs as a plain process over a simulated NVML. What it reads
of PCI devices is made up: they are 3D controllers, as GPUs of data centres are. Machines with a part of a GPU
are omitted, for what their PCI configuration says of the host is not public.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.node_side import outfit
from dra_fleet.drivers.nvidia.simulation.operator.features import gpu_labels
from dra_fleet.rehearsal.agent.own.programs import with_mounts
from dra_fleet.rehearsal.passed_on import passed_on
from dra_fleet.rehearsal.reporting import Silent
from dra_fleet.rehearsal.tools.cache import Cache
from dra_fleet.rehearsal.tools.go import GoToolchain
from dra_fleet.rehearsal.tools.recipes import Recipe
from scripts.recorded_cases import (
    EXCLUSIVE,
    STATIC,
    cases,
    host_of,
    read_recording,
    served_machines,
    write_recording,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.rehearsal.simulator.node import Host
    from scripts.recorded_cases import Layout

MODULE: Final = "github.com/NVIDIA/k8s-device-plugin"
RECIPE: Final = Recipe(
    name="gpu-feature-discovery",
    title="NVIDIA's GPU feature discovery",
    module=Path(__file__).resolve().parent / "feature_discovery",
    package=f"{MODULE}/cmd/gpu-feature-discovery",
    requirement=MODULE,
    stamp="",
    cgo=True,
)
FILE: Final = Path(__file__).resolve().parents[1] / "tests" / "data" / "recorded-labels.json.gz"
NEWEST: Final = "0.5.0"
"""The chart version whose machines and layouts are taken."""
AT_ONCE: Final = 2
FIGURES: Final = re.compile(r"nvidia\.com/(gpu|mig-[\w.]+)\.(memory|multiprocessors|engines\.\w+)")
"""Labels of partitions without public figures, for which the simulated NVML uses invented ones."""
CONTROLLER: Final = {
    "vendor": "0x10de\n",
    "device": "0x0000\n",
    "class": "0x030200\n",
    "resource": "0x0 0x0 0x0",
}


@dataclass(frozen=True, kw_only=True)
class LabelCase:
    """A case of one machine.

    Args:
        machine: its name in the catalogue.
        strategy: of MIG: none, single or mixed.
        layout: the partitions of each GPU.
    """

    machine: str
    strategy: str
    layout: Layout = ()

    @property
    def key(self) -> str:
        """Its name in the recording."""
        return " ".join((self.machine, self.strategy, *(f"{count}x{name}" for name, count in self.layout)))

    def host(self) -> Host:
        """Return the machine."""
        return host_of(self.machine, self.layout)


def label_cases() -> Iterator[LabelCase]:
    """Every machine, and every layout of partitions, with each strategy that says something else of it."""
    machines = served_machines()
    for case in cases(NEWEST):
        if machines[case.machine].gpu_fraction is not None or case.mode not in (EXCLUSIVE, STATIC):
            continue
        for strategy in ("none", "single", "mixed") if case.layout else ("none", "mixed"):
            yield LabelCase(machine=case.machine, strategy=strategy, layout=case.layout)
    for model, machine in {machines[case.machine].gpu: case.machine for case in cases(NEWEST)}.items():
        mig = nvidia_facts.gpus()[model or ""].mig
        if mig is None or machines[machine].gpu_fraction is not None:
            continue
        two = [one for one in mig.profiles if one.placements is not None][:2]
        if sum(one.memory_slices for one in two) > mig.memory_slices:
            continue
        for strategy in ("single", "mixed"):
            yield LabelCase(machine=machine, strategy=strategy, layout=tuple((one.name, 1) for one in two))


def program() -> Path:
    """GPU feature discovery, built when first asked for.

    Raises:
        ToolsError: it cannot be built.
    """
    return GoToolchain.find().build(RECIPE, Cache.default(), Silent())


def labels(case: LabelCase) -> dict[str, str]:
    """Return the labels that GPU feature discovery prints for a machine.

    Raises:
        RuntimeError: with its last words, where it says nothing.
    """
    with tempfile.TemporaryDirectory() as name:
        folder, host = Path(name), case.host()
        found = outfit(host, folder)
        sysfs, out = folder / "sys", folder / "labels"
        for gpu in parts_of(host).gpus:
            _describe(sysfs / "bus/pci/devices" / (gpu.pci_bus_id or f"0000:{gpu.minor + 1:02x}:00.0"))
        options = ["--oneshot", "--no-timestamp", "--use-node-feature-api=false"]
        options += ["--output-file", str(out), "--mig-strategy", case.strategy]
        options += [
            "--machine-type-file",
            str(folder / "none"),
            "--driver-root-ctr-path",
            str(folder / "root"),
        ]
        libraries = {"LD_LIBRARY_PATH": str(folder / "root/usr/lib64")}
        done = subprocess.run(
            with_mounts((str(program()), *options), {Path("/sys"): sysfs}),
            env={**passed_on(), **found.variables, **libraries},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not out.is_file():
            raise RuntimeError(f"{case.key}: {done.stderr.strip().splitlines()[-1:]}")
        return dict(line.split("=", 1) for line in out.read_text(encoding="utf-8").split())


def _describe(device: Path) -> None:
    device.mkdir(parents=True, exist_ok=True)
    for name, text in CONTROLLER.items():
        (device / name).write_text(text)
    (device / "config").write_bytes(bytes(256))


@cache
def recorded_labels() -> Mapping[str, Any]:
    """Return the recording: `module`, and `labels` by case."""
    return read_recording(FILE)


def differences(case: LabelCase) -> list[str]:
    """Labels that are recorded otherwise than predicted; a prediction may lack figures of partitions."""
    real, mine = recorded_labels()["labels"][case.key], gpu_labels(case.host(), case.strategy)
    return [
        f"{name}: {mine.get(name)!r} for {real.get(name)!r}"
        for name in sorted(real.keys() | mine.keys())
        if real.get(name) != mine.get(name)
        and not (case.layout and name not in mine and FIGURES.fullmatch(name))
    ]


def main() -> None:
    """Record all cases."""
    chosen = list(label_cases())
    program()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = dict(zip([case.key for case in chosen], pool.map(labels, chosen), strict=True))
    write_recording(FILE, {"module": f"{MODULE} {RECIPE.version}", "labels": found})
    sys.stdout.write(f"{len(found)} looks of GPU feature discovery recorded\n")


if __name__ == "__main__":
    main()
