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
Step = Literal["update", "destroy", "up"]
"""`up` is a first deployment, `update` a change of the other variant."""
Snapshot = dict[str, str]
"""Each object and each resource of the state as text, by kind and name."""

VARIANTS: Final[tuple[Variant, ...]] = ("a", "b")
STEPS: Final[tuple[Step, ...]] = ("update", "destroy", "up")
"""In this order, each step begins with what the step before it left."""
STACK: Final = "variation"
OPTIONS: Final = f"--yes --skip-preview --non-interactive --color never --stack {STACK}"
WORKLOADS: Final = "gpu-workloads"
RESOURCE_API: Final = "resource.k8s.io/v1"
DRIVER: Final = "dra-driver-nvidia-gpu"
KINDS: Final = (
    ("v1", "Namespace"),
    (RESOURCE_API, "DeviceClass"),
    (RESOURCE_API, "ResourceClaimTemplate"),
    ("batch/v1", "Job"),
    ("apps/v1", "DaemonSet"),
    ("v1", "ServiceAccount"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
)
PARTS: Final = ("labels", "spec", "rules", "roleRef", "subjects")
VOLATILE: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
RELEASE: Final = "helm.sh"
JOB: Final = "batch/v1:Job"
SETTLED_SECONDS: Final = 60.0
OF_KUBERNETES: Final = ("kube-", "system:", "default/", "/system:", "/kubeadm", "/kube-", "/default")
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
    """A rehearsal with one small stack in one of two variants, or without resources.

    Attributes:
        rehearsed: The rehearsal.
        undisturbed: What a run without fault results in, by variant; None: a destroy.
        variant: The variant that is deployed; None after a destroy.
        is_known: False after a fault until the next complete run.
        target: The variant that the current step leads to; None for a destroy.
        printed: What the runs of the current case printed.
    """

    rehearsed: Rehearsed
    undisturbed: dict[Variant | None, Snapshot] = field(default_factory=dict[Variant | None, Snapshot])
    variant: Variant | None = None
    is_known: bool = False
    target: Variant | None = None
    printed: list[str] = field(default_factory=list[str])

    @property
    def home(self) -> Home:
        """The rehearsal's home."""
        return Home.at(self.rehearsed.home)

    @property
    def project(self) -> Path:
        """The copy of the project that the engine runs."""
        return self.rehearsed.home / "projects" / "dra-fleet" / STACK

    def file(self) -> Path:
        """Write the stack file of the target, and hardware whose kubelets remove slices at once."""
        variant = self.target or "a"
        written = self.rehearsed.stack_file(lambda fleet: settings_of(variant, fleet))
        hardware = written.parent / "hardware" / written.name
        text = hardware.read_text(encoding="utf-8")
        hardware.write_text(text.replace("    nodes:", "    sliceWipingSeconds: 1\n    nodes:", 1))
        return written

    def prepare(self) -> None:
        """Record the results of undisturbed runs: a first deployment and an update."""
        for variant in VARIANTS:
            self._record(variant)

    def begin(self, step: Step) -> None:
        """Put the stack into the state that a step starts from, and choose the variant that it leads to."""
        if step == "destroy" and None not in self.undisturbed:
            self._reach("a")
            self._record(None)
        self._reach(None if step == "up" else "a")
        self.printed.clear()
        self.target = None if step == "destroy" else "b" if self.variant == "a" else "a"
        self.is_known = False

    def _record(self, target: Variant | None) -> None:
        self.target = target
        self.complete()
        self.undisturbed[target] = self.snapshot()

    def _reach(self, target: Variant | None) -> None:
        """Run to a variant unless one is deployed, or destroy what is deployed."""
        if not self.is_known or (self.variant is None) is not (target is None):
            self.target = target
            self.complete()

    def complete(self, **variables: str) -> str:
        """Run without fault to the target, after `recover` where a message or a destroy asks for it.

        Returns:
            What recovered the stack.
        """
        if not self._simulator_runs() and self.target is None:
            self._up()  # no other command starts the simulator again
        outcome = "recovered by the next run"
        if self.target is None:
            done = self.shell(f"dra-fleet recover {STACK} --real --yes --json")
            assert done.code == 0, done.err
            if done.json["steps"]:
                outcome = "recovered by recover and the next run"
            if self._latest().get("resources"):
                done = self.by_hand(**variables)
                assert done.code == 0, done.out + done.err
        elif refused := self._up(**variables):
            assert "dra-fleet recover" in refused, refused
            assert self.rehearsed.run("recover", str(self.file()), "--yes").code == 0
            assert self._up(**variables) == ""
            outcome = "recovered by recover and the next run"
        self.variant = self.target
        asyncio.run(self._settle())
        self.is_known = True
        return outcome

    def _simulator_runs(self) -> bool:
        return any("dra_fleet.rehearsal.simulator" in words for words in self.rehearsed.processes())

    def _up(self, **variables: str) -> str:
        """Run `rehearse up`; return its message if it fails."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            done = self.rehearsed.run("rehearse", "up", str(self.file()), "--json")
        self.printed += [done.out, done.err]
        if done.code != 0:
            return done.err + done.out
        assert json.loads(done.out)["all_allocated"] is True
        return ""

    def start(self, moment: str = "") -> subprocess.Popen[bytes]:
        """Start the step, and return once it changes a Kubernetes resource with `moment` in its type."""
        started = self.launch()
        self.rehearsed.until(
            started, "a resource is being changed", lambda: self.rehearsed.is_changing(moment)
        )
        return started

    def launch(self) -> subprocess.Popen[bytes]:
        """Start the step."""
        self.rehearsed.events.unlink(missing_ok=True)
        if self.target is None:
            log = f"--event-log {self.rehearsed.events}"
            command = f"PULUMI_DEBUG_COMMANDS=true exec pulumi {self._command()} {log}"
            return self.rehearsed.start_shell(command, self.project)
        return self.rehearsed.start("rehearse", "up", str(self.file()))

    def _command(self) -> str:
        return f"{'up' if self.target else 'destroy --run-program'} {OPTIONS}"

    def by_hand(self, before: str = "", **variables: str) -> Finished:
        """Run the step with `pulumi` in the rehearsal's environment, `before` in the same shell."""
        (self.project / f"Pulumi.{STACK}.yaml").write_text(self.file().read_text(encoding="utf-8"))
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in variables.items())
        return self.shell(f"{before} {exports} pulumi {self._command()}")

    def shell(self, line: str) -> Finished:
        """Run a line in the rehearsal's environment."""
        done = self.rehearsed.shell(line, self.project if self.project.exists() else None)
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

    def engine(self) -> psutil.Process:
        """Return the engine that runs the step."""
        [found] = [item for item in self.engine_processes() if item.name() == "pulumi"]
        return found

    def snapshot(self) -> Snapshot:
        """Return the objects in the cluster and the resources of the state, without what differs per run."""
        return {**asyncio.run(self._objects()), **self._resources()}

    def _latest(self) -> dict[str, Any]:
        return json.loads(self.rehearsed.state(STACK))["checkpoint"]["latest"]

    def _resources(self) -> Snapshot:
        latest = self._latest()
        assert latest.get("pending_operations") in (None, []), latest["pending_operations"]
        found = [
            (f"state {item['urn']}", json.dumps(item.get("inputs"), sort_keys=True))
            for item in latest.get("resources") or ()
            if not item["type"].startswith("pulumi:")
        ]
        return _numbered(found)

    async def _objects(self) -> Snapshot:
        async with connect(self.home, "lab") as api:
            found = [
                (f"{kind} {_name(item)}", json.dumps(_stable(item), sort_keys=True))
                for version, kind in KINDS
                for item in (await api.list(version, kind))["items"]
                if not _name(item).startswith(OF_KUBERNETES)
            ]
            records = (await api.list("v1", "Secret", params={"labelSelector": "owner=helm"}))["items"]
        latest = {
            f"release {record['metadata']['labels']['name']}": record["metadata"]["labels"]["status"]
            for record in sorted(records, key=lambda item: int(item["metadata"]["labels"]["version"]))
        }
        return {**_numbered(found), **latest}

    async def _settle(self) -> None:
        """Wait until as many pods, claims and devices exist as after an undisturbed run."""
        deadline = time.monotonic() + SETTLED_SECONDS
        expected = {"Pod": 2, "ResourceClaim": 2, "ResourceSlice": 1} if self.variant else {}
        async with connect(self.home, "lab") as api:
            while (found := await _counts(api)) != expected:
                assert time.monotonic() < deadline, f"not {expected}, but {found}"
                await asyncio.sleep(0.5)

    def secrets_in_logs(self) -> list[str]:
        """Return the files and outputs that contain a credential."""
        with SimulatorClient(self.home) as simulator:
            secrets = (CANARY, simulator.token("lab"))
        texts = {f"output {number}": text for number, text in enumerate(self.printed)}
        for file in (*self.rehearsed.home.glob("engine.*"), *self.rehearsed.home.glob("*.log")):
            texts[file.name] = file.read_text(encoding="utf-8", errors="replace")
        texts["state"] = self.rehearsed.state(STACK)
        return [name for name, text in texts.items() if any(secret in text for secret in secrets)]


async def _counts(api: KubeApi) -> dict[str, int]:
    """Return the numbers of pods, claims, and drivers with devices; not those that are 0."""
    pods = (await api.list("v1", "Pod", WORKLOADS))["items"]
    claims = (await api.list(RESOURCE_API, "ResourceClaim"))["items"]
    slices = (await api.list(RESOURCE_API, "ResourceSlice"))["items"]
    drivers = {item["spec"]["driver"] for item in slices if item["spec"].get("devices")}
    counts = {"Pod": len(pods), "ResourceClaim": len(claims), "ResourceSlice": len(drivers)}
    return {kind: count for kind, count in counts.items() if count}


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
