"""Records what NVIDIA's own driver answers when it is asked to prepare claims; `make record` runs it.

Its process, over a simulated NVML, is asked as a kubelet asks, for claims that a real API server holds. What
it answers is recorded, the empty text where it prepares the claim. MPS that is accepted is omitted: it takes
a daemon of NVIDIA's, which is not there.
"""

from __future__ import annotations

import asyncio
import copy
import json
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.drivers.nvidia.simulation import node_side
from dra_fleet.drivers.nvidia.simulation.plugin import NvidiaGpuPlugin
from dra_fleet.rehearsal.agent.own import sockets
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed
from scripts.record import WITHIN, Recorder
from scripts.recorded_cases import STATIC, Case, read_recording, write_recording
from scripts.recorded_slices import FOLDER, GPUS
from scripts.slices_api import RESOURCE, slices_api

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE: Final = FOLDER.with_name("recorded-answers.json.gz")
PARAMETERS: Final = FOLDER.with_name("opaque-parameters.yaml")
MACHINE: Final = "hgx-h100-8"
WHOLE, PARTITION, GONE = "gpu-0", "gpu-0-mig-1g10gb-19-0", "gpu-99"
GATES: Final = ("TimeSlicingSettings", "MPSSupport")
REQUEST: Final = "gpu"
NAMESPACE, NAME = "claims", "claim"
MPS: Final = '"strategy": "MPS"'
Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A claim on a node.

    Args:
        version: of the chart.
        gates: whether both of `GATES` are on.
        device: what is allocated.
        configs: the claim's configurations: the requests that each names, and its opaque parameters.
        admin: whether it is for admin access.
    """

    version: str
    gates: bool
    device: str
    configs: tuple[tuple[tuple[str, ...], Any], ...]
    admin: bool = False

    @property
    def key(self) -> str:
        """Its name in the recording."""
        reported = [self.version, self.gates, self.device, self.configs, self.admin]
        return json.dumps(reported, sort_keys=True)

    def claim(self, node: str) -> Object:
        """Return the allocated claim."""
        exactly = {"deviceClassName": GPUS, "allocationMode": "ExactCount", "count": 1}
        admin: Object = {"adminAccess": True} if self.admin else {}
        result = {"request": REQUEST, "driver": GPUS, "pool": node, "device": self.device, **admin}
        configs = [
            {
                "source": "FromClaim",
                "requests": list(requests),
                "opaque": {"driver": GPUS, "parameters": parameters},
            }
            for requests, parameters in self.configs
        ]
        return {
            "apiVersion": RESOURCE,
            "kind": "ResourceClaim",
            "metadata": {"name": NAME, "namespace": NAMESPACE},
            "spec": {"devices": {"requests": [{"name": REQUEST, "exactly": exactly | admin}]}},
            "status": {"allocation": {"devices": {"results": [result], "config": configs}}},
        }


def parameters() -> list[Any]:
    """All opaque parameters that are tried."""
    return yaml.safe_load(PARAMETERS.read_text(encoding="utf-8"))


def asked(version: str) -> list[Asked]:
    """Every claim that a version is asked for."""
    return [one for one in _all(version) if not (MPS in one.key and simulated(one) == "")]


def _all(version: str) -> Iterator[Asked]:
    for one in parameters():
        for gates in (True, False):
            for device in (WHOLE, PARTITION):
                yield Asked(version=version, gates=gates, device=device, configs=(((REQUEST,), one),))
        yield Asked(version=version, gates=True, device=WHOLE, configs=(((), one),))
    good, other = (config_of(kind) for kind in ("GpuConfig", "MigDeviceConfig"))
    named, all_requests = (REQUEST,), ()
    for device in (WHOLE, PARTITION, GONE):
        for configs in (
            (),
            ((named, good), (named, other)),
            ((named, other), (named, good)),
            ((all_requests, other), (all_requests, good)),
        ):
            yield Asked(version=version, gates=True, device=device, configs=configs)
    for device in (WHOLE, PARTITION):
        for configs in ((), ((named, good),), ((all_requests, good),), ((all_requests, other),)):
            yield Asked(version=version, gates=True, device=device, configs=configs, admin=True)


def config_of(kind: str) -> Object:
    """Return a configuration without any field."""
    return {"apiVersion": "resource.nvidia.com/v1beta1", "kind": kind}


def simulated(one: Asked) -> str:
    """Return the simulated plugin's answer."""
    gates = ",".join(f"{gate}={str(one.gates).lower()}" for gate in GATES)
    container = {
        "name": "gpus",
        "image": f"driver:v{one.version}",
        "env": [{"name": "FEATURE_GATES", "value": gates}],
    }
    published = {
        name: {"attributes": {"type": {"string": kind}, "uuid": {"string": kind}}}
        for name, kind in ((WHOLE, "gpu"), (PARTITION, "mig"))
    }
    claim = copy.deepcopy(one.claim("node"))
    claim["metadata"]["uid"] = "UID"
    try:
        NvidiaGpuPlugin(container).prepare(claim, published)
    except PrepareFailed as error:
        return str(error)
    return ""


@cache
def recorded_answers() -> Mapping[str, Any]:
    """Return the recording: the `modules` by version, and `answers` by claim."""
    return read_recording(FILE)


class Asking:
    """Asks one version of the driver, started once for each state of its gates and layout of its GPUs."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def answers(self, claims: list[Asked]) -> dict[str, str]:
        """Return the driver's answers."""
        found: dict[str, str] = {}
        for gates in (True, False):
            for layout in ((), (("1g.10gb", 7),)):
                mine = [
                    one for one in claims if one.gates is gates and (one.device == PARTITION) is bool(layout)
                ]
                if mine:
                    found |= self._started(
                        mine,
                        Case(
                            machine=MACHINE,
                            version=mine[0].version,
                            mode=STATIC,
                            gates=dict.fromkeys(GATES, gates),
                            layout=layout,
                        ),
                    )
        return found

    def _started(self, claims: list[Asked], case: Case) -> dict[str, str]:
        with tempfile.TemporaryDirectory(prefix="asked-") as name:
            folder = Path(name)
            with self._recorder.running(case, folder) as (process, node):
                self._recorder.published(process, node, folder / "log")
                return asyncio.run(self._ask_all(claims, folder, node))

    async def _ask_all(self, claims: list[Asked], folder: Path, node: str) -> dict[str, str]:
        driver = await self._registered(folder)
        async with KubeApi.connect(read_kubeconfig(str(self._recorder.api.kubeconfig))) as api:
            if await api.find("v1", "Namespace", NAMESPACE) is None:
                labels = {"resource.kubernetes.io/admin-access": "true"}
                meta = {"name": NAMESPACE, "labels": labels}
                await api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
            return {one.key: await _answer(api, driver, one, node) for one in claims}

    async def _registered(self, folder: Path) -> sockets.Registered:
        until = time.monotonic() + WITHIN
        while time.monotonic() < until:
            for socket in (folder / "registry").glob("*.sock"):
                return await sockets.register(socket, folder)
            await asyncio.sleep(0.2)
        raise TimeoutError("the driver made no socket to register with")


async def _answer(api: KubeApi, driver: sockets.Registered, one: Asked, node: str) -> str:
    requested = one.claim(node)
    made = await api.create(requested)
    claim = await api.replace({**made, "status": requested["status"]}, subresource="status")
    try:
        await sockets.prepare(driver, claim)
    except PrepareFailed as error:
        reported = str(error).replace(claim["metadata"]["uid"], "UID")
        for _, given in one.configs:  # as Go's clients write JSON
            reported = reported.replace(json.dumps(given), json.dumps(given, separators=(",", ":")))
        return reported
    else:
        await sockets.unprepare(driver, claim)
        return ""
    finally:
        await api.delete(RESOURCE, "ResourceClaim", NAME, NAMESPACE)


def main() -> None:
    """Record all answers of all versions."""
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder, slices_api() as api:
        for version in node_side.versions():
            recorder = Recorder(plugin=node_side.gpu_plugin(version), api=api, calls=Path(folder) / "calls")
            found |= Asking(recorder).answers(asked(version))
    modules = {
        version: f"{node_side.DRIVER} {node_side.recipe(version).version}" for version in node_side.versions()
    }
    write_recording(FILE, {"modules": modules, "answers": found})
    sys.stdout.write(f"{len(found)} answers of the driver recorded\n")


if __name__ == "__main__":
    main()
