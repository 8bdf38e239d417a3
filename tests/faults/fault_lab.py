"""One rehearsal that faults are injected into, and the comparison with an undisturbed run."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import psutil
import pytest

from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.simulator.client import SimulatorClient
from tests.engine.rehearsed import CANARY, LONGEST

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi
    from tests.engine.rehearsed import Finished, Rehearsed, Settings

Variant = Literal["a", "b"]
Snapshot = dict[str, str]
"""Each object and each resource of the state as text, by kind and name."""

VARIANTS: Final[tuple[Variant, ...]] = ("a", "b")
STACK: Final = "variation"
OPTIONS: Final = f"--yes --skip-preview --non-interactive --color never --stack {STACK}"
WORKLOADS: Final = "gpu-workloads"
DRIVER: Final = "dra-driver-nvidia-gpu"
KINDS: Final = (
    ("resource.k8s.io/v1", "DeviceClass"),
    ("resource.k8s.io/v1", "ResourceClaimTemplate"),
    ("batch/v1", "Job"),
    ("apps/v1", "DaemonSet"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
)
PARTS: Final = ("labels", "spec", "rules", "roleRef", "subjects")
VOLATILE: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
BEGUN: Final = ('"op":"update"', '"op":"create-replacement"')
"""Texts of events that show that an update has begun to change resources."""
SETTLED_SECONDS: Final = 60.0
OF_KUBERNETES: Final = ("kube-", "system:", "default/", "/system:", "/kubeadm")
"""Beginnings of the names of objects that every cluster has."""
RANDOM_NAME: Final = re.compile(r"\blab-train-[0-9a-f]{8}\b")
"""The engine names a Job at random."""


def settings_of(variant: Variant, fleet: Settings) -> None:
    """Make the lab's stack small; the variants differ in class, template, Job and driver's version."""
    cluster = fleet["clusters"]["lab"]
    del cluster["pools"]["a100"]
    cluster["drivers"] = {"nvidia": {"version": "0.4.1" if variant == "a" else "0.5.0"}}
    least = "20Gi" if variant == "a" else "30Gi"
    fleet["classes"] = {"large": {"driver": "nvidia", "type": "gpu", "memory": {"min": least}}}
    device_class = "large" if variant == "a" else "gpu.nvidia.com"
    fleet["claims"] = {"single-gpu": {"requests": {"gpu": {"class": device_class}}}}
    fleet["workloads"] = {"train": {"cluster": "lab", "claim": "single-gpu", "copies": 2}}


@dataclass
class FaultLab:
    """A rehearsal with one small stack in one of two variants.

    Attributes:
        rehearsed: The rehearsal.
        undisturbed: What a run without fault results in, by variant.
        variant: The variant that is deployed; None without any.
        printed: What the runs of the current case printed.
    """

    rehearsed: Rehearsed
    undisturbed: dict[Variant, Snapshot] = field(default_factory=dict[Variant, Snapshot])
    variant: Variant | None = None
    printed: list[str] = field(default_factory=list[str])

    @property
    def home(self) -> Home:
        """The rehearsal's home."""
        return Home.at(self.rehearsed.home)

    @property
    def project(self) -> Path:
        """The copy of the project that the engine runs."""
        return self.rehearsed.home / "projects" / "dra-fleet" / STACK

    @property
    def events(self) -> Path:
        """The log of the running engine."""
        return self.rehearsed.home / "engine.jsonl"

    def file(self, variant: Variant) -> Path:
        """Write the stack file of a variant."""
        return self.rehearsed.stack_file(lambda fleet: settings_of(variant, fleet))

    def prepare(self) -> None:
        """Record the results of undisturbed runs: a first deployment and an update."""
        for variant in VARIANTS:
            self.deploy(variant)
            self.undisturbed[variant] = self.snapshot()

    def deploy(self, variant: Variant, **variables: str) -> None:
        """Run `rehearse up`, which must succeed."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            done = self.rehearsed.run("rehearse", "up", str(self.file(variant)), "--json")
        self.printed += [done.out, done.err]
        assert done.code == 0, done.err
        assert json.loads(done.out)["all_allocated"] is True
        self.variant = variant

    def start(self, variant: Variant) -> subprocess.Popen[bytes]:
        """Start an update to a variant, and return once it changes resources."""
        self.events.unlink(missing_ok=True)
        started = self.rehearsed.start("rehearse", "up", str(self.file(variant)))
        self.rehearsed.until(started, "a resource is being changed", self._has_begun)
        return started

    def _has_begun(self) -> bool:
        text = self.events.read_text(encoding="utf-8") if self.events.exists() else ""
        return any(mark in text for mark in BEGUN)

    def pulumi(self, command: str, **variables: str) -> Finished:
        """Run one command of the engine on the stack as it is in the copy of the project."""
        return self.shell(f"pulumi {command} {OPTIONS}", **variables)

    def up_by_hand(self, variant: Variant, **variables: str) -> Finished:
        """Run `pulumi up` of a variant with other variables, in the rehearsal's environment."""
        (self.project / f"Pulumi.{STACK}.yaml").write_text(self.file(variant).read_text(encoding="utf-8"))
        return self.pulumi("up", **variables)

    def shell_up_with_path(self, variant: Variant, first: Path) -> Finished:
        """Run `pulumi up` of a variant with a folder before all others on PATH."""
        (self.project / f"Pulumi.{STACK}.yaml").write_text(self.file(variant).read_text(encoding="utf-8"))
        return self.shell(f'PATH={shlex.quote(str(first))}:"$PATH" pulumi up {OPTIONS}')

    def shell(self, line: str, **variables: str) -> Finished:
        """Run a line in the rehearsal's environment."""
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
        before = f"export {exports} && " if exports else ""
        done = self.rehearsed.shell(f"{before}{line}", self.project if self.project.exists() else None)
        self.printed += [done.out, done.err]
        return done

    def engine_processes(self, *, name: str = "") -> list[psutil.Process]:
        """Return the living processes of engines of this home whose command line contains a text."""
        found: list[psutil.Process] = []
        for process in psutil.process_iter(["cmdline"]):
            try:
                mine = process.environ().get("PULUMI_HOME") == str(self.home.pulumi_home)
            except (psutil.NoSuchProcess, psutil.AccessDenied):
                continue
            words = " ".join(process.info["cmdline"] or ())
            if mine and name in words and "dra-fleet rehearse" not in words:
                found.append(process)
        return found

    def kill(self, name: str) -> None:
        """Kill every process of this home's engine whose command line contains a text."""
        found = self.engine_processes(name=name)
        assert found, f"no process has {name} in its command line"
        for process in found:
            process.kill()

    def component(self, name: str) -> psutil.Process:
        """Return a process of the simulator or of the control plane, by words of its command line."""
        found = [item for item in self.rehearsed.started() if name in " ".join(item.cmdline())]
        assert found, f"no process has {name} in its command line"
        return found[0]

    def kill_engine(self) -> None:
        """Kill the engine that `rehearse up` runs, also if it is writing the state."""
        record = self.rehearsed.home / "engine.session"
        psutil.Process(json.loads(record.read_text(encoding="utf-8"))["pid"]).kill()

    def snapshot(self) -> Snapshot:
        """Return the objects in the cluster and the resources of the state, without what differs per run."""
        return {**asyncio.run(self._objects()), **self._resources()}

    def _resources(self) -> Snapshot:
        latest = json.loads(self.rehearsed.state(STACK))["checkpoint"]["latest"]
        assert latest.get("pending_operations") in (None, []), latest["pending_operations"]
        found = [
            (f"state {item['urn']}", json.dumps(item.get("inputs"), sort_keys=True))
            for item in latest.get("resources") or ()
            if not item["type"].startswith("pulumi:")
        ]
        return _numbered(found)

    async def _objects(self) -> Snapshot:
        deadline = time.monotonic() + SETTLED_SECONDS
        async with connect(self.home, "lab") as api:
            while not await self._has_settled(api):
                assert time.monotonic() < deadline, "pods or claims are left over"
                await asyncio.sleep(0.5)
            found = [
                (f"{kind} {_name(item)}", json.dumps(_stable(item), sort_keys=True))
                for version, kind in KINDS
                for item in (await api.list(version, kind))["items"]
                if not _name(item).startswith(OF_KUBERNETES)
            ]
        return _numbered(found)

    async def _has_settled(self, api: KubeApi) -> bool:
        """Return True if as many pods and claims exist as the stack has copies."""
        copies = 2 if self.variant else 0
        pods = (await api.list("v1", "Pod", WORKLOADS))["items"]
        claims = (await api.list("resource.k8s.io/v1", "ResourceClaim"))["items"]
        return len(pods) == copies and len(claims) == copies

    def secrets_in_logs(self) -> list[str]:
        """Return the files and outputs that contain a credential."""
        with SimulatorClient(self.home) as simulator:
            secrets = (CANARY, simulator.token("lab"))
        texts = {f"output {number}": text for number, text in enumerate(self.printed)}
        for file in (*self.rehearsed.home.glob("engine.*"), *self.rehearsed.home.glob("*.log")):
            texts[file.name] = file.read_text(encoding="utf-8", errors="replace")
        texts["state"] = self.rehearsed.state(STACK)
        return [name for name, text in texts.items() if any(secret in text for secret in secrets)]


def ended(started: subprocess.Popen[bytes]) -> int:
    """Wait for a command that a fault hit, and return its exit code."""
    return started.wait(timeout=LONGEST)


def _numbered(found: list[tuple[str, str]]) -> Snapshot:
    """Return the texts without random names; a second object of one name gets another number."""
    numbered: Snapshot = {}
    counts: Counter[str] = Counter()
    for key, text in found:
        name = RANDOM_NAME.sub("lab-train", key)
        counts[name] += 1
        numbered[f"{name} {counts[name]}"] = RANDOM_NAME.sub("lab-train", text)
    return numbered


def _name(item: dict[str, Any]) -> str:
    return f"{item['metadata'].get('namespace', '')}/{item['metadata']['name']}"


def _stable(item: dict[str, Any]) -> object:
    return _without({part: item.get(part, item["metadata"].get(part)) for part in PARTS})


def _without(value: object) -> object:
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return {key: _without(part) for key, part in fields.items() if key not in VOLATILE}
    if isinstance(value, list):
        return [_without(part) for part in cast("list[object]", value)]
    return value
