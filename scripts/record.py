"""Records what NVIDIA's own driver publishes for every machine of the catalogue: `make record` runs it.

Each driver is built from its Go module and runs as a plain process over a simulated NVML; no GPU, container
or kubelet takes part. The recordings lie in tests/data/recorded-slices, one file per version of the driver.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.drivers.nvidia.simulation import node_side
from dra_fleet.drivers.nvidia.simulation.node_side import outfit
from dra_fleet.rehearsal.agent.own.programs import with_mounts
from dra_fleet.rehearsal.passed_on import passed_on
from scripts.recorded_cases import Case, cases, host_of, write_recording
from scripts.recorded_slices import FOLDER, GPUS, recorded
from scripts.slices_api import SlicesApi, slices_api

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from dra_fleet.rehearsal.drivers.node_side import Outfit

WITHIN: Final = 120.0
"""Seconds in which a driver has published or ended."""
AT_ONCE: Final = 3

Object = dict[str, Any]


class NothingPublished(Exception):  # noqa: N818 - a state of the driver
    """A driver ended, or did not publish in time; the message is what it said last."""


@dataclass(frozen=True, kw_only=True)
class Recorder:
    """Runs one version of the driver."""

    plugin: Path
    api: SlicesApi
    calls: Path
    """Collects the names of the NVML functions that were called."""

    def record(self, case: Case) -> Object:
        """Record the ResourceSlices that the driver publishes in a case, each list in the order of names."""
        with (
            tempfile.TemporaryDirectory(prefix="recorded-") as folder,
            self.running(case, Path(folder)) as node,
        ):
            process, name = node
            slices = self.published(process, name, Path(folder) / "log")
        return {"devices": _by_name("devices", slices), "counters": _by_name("sharedCounters", slices)}

    @contextmanager
    def running(self, case: Case, folder: Path) -> Generator[tuple[subprocess.Popen[bytes], str]]:
        """Start the driver on a separate node; return the process and the node's name.

        It ends with the context.
        """
        name = folder.name.replace("_", "0").lower()
        self.api.add_node(name)
        outfitted = self._outfit(case, folder)
        environment = {**passed_on(), **self._environment(case, folder, name), **outfitted.variables}
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                with_mounts((str(self.plugin), "-v", "2"), outfitted.mounts),
                env=environment,
                cwd=folder,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process, name
        finally:
            process.send_signal(signal.SIGKILL)
            process.wait()

    def _outfit(self, case: Case, folder: Path) -> Outfit:
        found = outfit(host_of(case.machine, case.layout), folder)
        if not found.variables:
            raise NothingPublished(f"{case.machine} has no GPU driver")
        return found

    def _environment(self, case: Case, folder: Path, name: str) -> dict[str, str]:
        chosen = {
            "NODE_NAME": name,
            "NAMESPACE": "default",
            "IMAGE_NAME": "registry.example/driver:1",
            "KUBECONFIG": str(self.api.kubeconfig),
            "CDI_ROOT": str(folder / "cdi"),
            "NVIDIA_DRIVER_ROOT": "/",
            "KUBELET_REGISTRAR_DIRECTORY_PATH": str(folder / "registry"),
            "KUBELET_PLUGINS_DIRECTORY_PATH": str(folder / "plugins"),
            "NVML_STANDIN_CALLS": str(self.calls),
            "FEATURE_GATES": ",".join(f"{gate}={str(on).lower()}" for gate, on in case.gates.items()),
            "GOMAXPROCS": "1",
        }
        for made in ("registry", "plugins", "cdi"):
            (folder / made).mkdir()
        return chosen | ({"CONSUMABLE_SHARES": case.shares} if case.shares else {})

    def published(self, process: subprocess.Popen[bytes], name: str, log: Path) -> list[Object]:
        """Return the ResourceSlices of a node once all exist.

        Raises:
            NothingPublished: the driver ended, or took too long.
        """
        until = time.monotonic() + WITHIN
        while (slices := self.api.whole(name, GPUS)) is None:
            if process.poll() is not None or time.monotonic() > until:
                said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                raise NothingPublished(said[-1] if said else f"exit code {process.returncode}")
            time.sleep(0.3)
        return slices


def _by_name(field: str, slices: list[Object]) -> list[Object]:
    found = [item for one in slices for item in cast("list[Object]", one.get(field) or [])]
    return sorted(found, key=lambda item: item["name"])


def record(version: str, machines: Sequence[str]) -> None:
    """Record a version: all of it, or some machines alone, beside what is recorded of the others."""
    with tempfile.TemporaryDirectory() as folder, slices_api() as api:
        recorder = Recorder(
            plugin=node_side.gpu_plugin(version),
            api=api,
            calls=Path(folder) / "calls",
        )
        chosen = [case for case in cases(version) if not machines or case.machine in machines]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            found = dict(zip([case.key for case in chosen], pool.map(recorder.record, chosen), strict=True))
        calls = sorted(set(recorder.calls.read_text(encoding="utf-8").split()))
    reported = {
        "module": f"{node_side.DRIVER} {node_side.recipe(version).version}",
        "nvml": calls,
        "slices": found,
    }
    if machines:
        earlier = recorded(version)
        reported |= {
            "nvml": sorted({*earlier["nvml"], *calls}),
            "slices": {**earlier["slices"], **found},
        }
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_recording(FOLDER / f"nvidia-{version}.json.gz", reported)
    sys.stdout.write(f"{version}: {len(found)} starts of the driver recorded\n")


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", action="append", choices=node_side.versions())
    parser.add_argument("machine", nargs="*", help="record these alone; what is recorded of others stays")
    arguments = parser.parse_args()
    for version in arguments.version or node_side.versions():
        record(version, arguments.machine)


if __name__ == "__main__":
    main()
