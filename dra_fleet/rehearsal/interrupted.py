"""Clears what an interrupted run left behind, so that the next `rehearse up` simply works.

Only for rehearsals: what a cut-off operation may have made is simulated, so it is deleted and made again.
Real stacks are never touched from here.
"""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import socket
import subprocess
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.clusters.client import UnknownKindError
from dra_fleet.clusters.releases import interrupted_releases
from dra_fleet.clusters.unfinished import RELEASE, created_id, settled, unfinished
from dra_fleet.core.places import PROJECT_FILE
from dra_fleet.rehearsal.access import connect, simulated_name
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.project import recorded, recorded_state
from dra_fleet.rehearsal.simulator.client import SimulatorClient
from dra_fleet.rehearsal.simulator.processes import ProcessId
from dra_fleet.rehearsal.stack_copy import read_project_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.clusters.client import KubeApi
    from dra_fleet.clusters.unfinished import Unfinished
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.rehearsal.home import Home

CLOCK_SLACK = 1.0
"""Seconds by which a process may seem to start after it took its lock; the system counts in ticks."""
LOCK_SECONDS = 30.0
"""An engine starts its language host before it takes its lock."""
ADDRESS = re.compile(r"127\.0\.0\.1:(\d+)")
"""Address of an engine in the command lines of its language hosts, programs and plugins."""
ANSWER_SECONDS = 1.0
GONE_WITHIN = 60.0
"""Seconds for an object that is deleted to be gone, such as a namespace with all that is in it."""
HAVE_PODS = (
    ("apps/v1", "DaemonSet"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch/v1", "Job"),
)
"""A new installation would take one as it is, and its pods with the tokens of accounts that are gone."""


class StackBusyError(RehearsalError):
    """Another run holds the stack's lock and is alive."""


class StackState(Struct, frozen=True, kw_only=True):
    """Access to one stack's state through the engine."""

    pulumi: Path
    stack: str
    directory: Path
    environment: Mapping[str, str]

    def export(self) -> dict[str, Any]:
        """Return the state as the engine exports it; secrets stay encrypted."""
        return json.loads(self._pulumi("stack", "export").stdout)

    def restore(self, state: dict[str, Any]) -> None:
        """Replace the state."""
        self._pulumi("stack", "import", "--force", given=json.dumps(state))

    def refresh(self, urns: Iterable[str]) -> None:
        """Read resources again."""
        targets = [word for urn in urns for word in ("--target", urn)]
        self._pulumi("refresh", "--yes", "--skip-preview", "--non-interactive", *targets)

    def _pulumi(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [str(self.pulumi), *arguments, "--stack", self.stack],
            cwd=self.directory,
            env=dict(self.environment),
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode != 0:
            raise RehearsalError(f"pulumi {' '.join(arguments[:2])} failed: {done.stderr.strip()}")
        return done


def clear_interrupted(home: Home, state: StackState, clusters: Mapping[str, str]) -> list[str]:
    """Make a stack whose last run was killed usable again; returns what was done, as sentences.

    Args:
        home: the rehearsal.
        state: the stack.
        clusters: names in the simulator by name in the stack; some may not be there yet.

    Raises:
        StackBusyError: another run is still at work on this stack.
        SimulatorError: a cluster does not come back.
    """
    clear_stale_lock(home.backend, state.stack)
    restore_cut_off(recorded(home.backend, state.stack))
    if not _has_pending(home.backend, state.stack):
        return []
    exported = state.export()
    pending = unfinished(exported)
    asked = {item.cluster for item in pending if item.asks_cluster}
    known = {name: simulated for name, simulated in clusters.items() if name in asked}
    usable = _usable(home, known.values()) if known else []
    there = {name: simulated for name, simulated in known.items() if simulated in usable}
    state.restore(settled(exported, asyncio.run(_outcomes(home, there, pending))))
    return [f"the last run of stack {state.stack} was interrupted; {len(pending)} operations are made again"]


def refuse_pending_releases(home: Home, stack: str, clusters: Iterable[ClusterPlan]) -> None:
    """Check that no killed run left a release of the stack pending: helm would not work on it.

    Raises:
        RehearsalError: naming each, and the way out.
    """
    by_name = {simulated_name(cluster, home): cluster for cluster in clusters if cluster.releases}
    found = asyncio.run(_pending_releases(home, {name: by_name[name] for name in _usable(home, by_name)}))
    if found:
        raise RehearsalError(
            "an earlier run was killed while helm worked, and helm refuses to go on: "
            + "; ".join(found)
            + f"; `dra-fleet recover {stack}` shows the way out and takes it with --yes; then run this again"
        )


async def _pending_releases(home: Home, clusters: Mapping[str, ClusterPlan]) -> list[str]:
    found: list[str] = []
    for name, cluster in clusters.items():
        async with connect(home, name) as api:
            pending = await interrupted_releases(api, cluster.releases)
        found += [f"cluster {cluster.name}: release {item}" for item in pending]
    return found


def _has_pending(backend: Path, stack: str) -> bool:
    file = recorded(backend, stack)
    if not file.exists():
        return False
    return bool(recorded_state(file).get("pending_operations"))


def clear_stale_lock(backend: Path, stack: str, *, host: str = "", remove: bool = True) -> float | None:
    """Remove the locks of a stack that ended runs left; return the time of the first one, None without any.

    Args:
        backend: the folder of the backend.
        stack: its name.
        host: this host's name, if other hosts use the backend too.
        remove: False to only look.

    Raises:
        StackBusyError: the run that holds one is alive, or it is another host's.
    """
    since: list[float] = []
    locks: Sequence[Path] = sorted((backend / ".pulumi" / "locks").glob(f"**/{stack}/*.json"))
    for lock in locks:
        other = _other_host(lock, host) if host else ""
        if other:
            raise StackBusyError(
                f"stack {stack} is locked by a run on host {other}; run `dra-fleet recover` there, "
                f"or `pulumi cancel --stack {stack}` after that run has ended"
            )
        if holder := _living_holder(lock):
            raise StackBusyError(
                f"stack {stack} is being updated by process {holder['pid']} since {holder['timestamp']}; "
                "wait for it, or stop that process and try again"
            )
        since.append(lock.stat().st_mtime)
        if remove:
            lock.unlink(missing_ok=True)
    return min(since, default=None)


def restore_cut_off(record: Path, *, restore: bool = True) -> bool:
    """Replace a state file that a full disk cut off with the engine's copy; return whether it was cut off.

    The engine copies the file before it writes each change:
    https://github.com/pulumi/pulumi/blob/v3.274.1/pkg/backend/diy/state.go#L301

    Args:
        record: The file.
        restore: False to only look.

    Raises:
        RehearsalError: The copy is cut off, too.
    """
    copy = record.with_name(f"{record.name}.bak")
    if not record.exists() or _is_complete(record):
        return False
    if not (copy.exists() and _is_complete(copy)):
        raise RehearsalError(
            f"the state {record} and its copy {copy.name} are cut off; restore the newest file of "
            f"{record.parents[2] / 'backups' / record.parent.name / record.stem}, then refresh the stack"
        )
    if restore:
        shutil.copyfile(copy, record)
    return True


def _is_complete(record: Path) -> bool:
    try:
        json.loads(record.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def orphans(directory: Path, since: float) -> list[ProcessId]:
    """Return the language hosts, programs and plugins that an ended engine left in a project's folder.

    Each was started with the engine that took the lock, or later. The address of its engine is in its command
    line, and no process serves it any more.

    Args:
        directory: The project; an engine runs them in the folder of the project's `main`.
        since: The time of the engine's lock.
    """
    main = (directory / read_project_file(directory / PROJECT_FILE).get("main", "")).resolve()
    folder = main if main.is_dir() else main.parent
    found: list[ProcessId] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has ended, or belongs to another user
            created, words = process.create_time(), process.cmdline()
            if created < since - LOCK_SECONDS or not any("pulumi" in word for word in words):
                continue
            address = next((match for word in words if (match := ADDRESS.fullmatch(word))), None)
            if address and Path(process.cwd()).is_relative_to(folder) and not _is_served(int(address[1])):
                found.append(ProcessId(pid=process.pid, created=created))
    return found


def _is_served(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), ANSWER_SECONDS).close()
    except ConnectionRefusedError:
        return False
    except TimeoutError:
        pass  # a stopped engine can continue
    return True


def _other_host(lock: Path, host: str) -> str:
    """Return the host in a lock if it is another one; "" for a lock that was cut off."""
    try:
        found = str(json.loads(lock.read_text(encoding="utf-8"))["hostname"])
    except (ValueError, KeyError, TypeError):
        return ""
    return found if found != host else ""


def _living_holder(lock: Path) -> dict[str, Any] | None:
    """Return the content of a lock if the process that took it still runs."""
    try:
        holder: dict[str, Any] = json.loads(lock.read_text(encoding="utf-8"))
        taken = datetime.fromisoformat(holder["timestamp"]).timestamp()
        started = psutil.Process(holder["pid"]).create_time()
    except (ValueError, KeyError, TypeError, psutil.NoSuchProcess):
        return None  # cut off while it was written, or its process has ended
    return holder if started <= taken + CLOCK_SLACK else None


def _usable(home: Home, clusters: Iterable[str]) -> list[str]:
    """Those of the clusters that are there, once they can be asked: a reboot may have cut the run off."""
    with SimulatorClient(home) as simulator:
        there = {cluster["name"] for cluster in simulator.status()["clusters"]}
        found = [name for name in clusters if name in there]
        for name in found:
            simulator.wait_ready(name)
    return found


async def _outcomes(
    home: Home, clusters: Mapping[str, str], operations: Sequence[Unfinished]
) -> list[Unfinished]:
    """Delete what was begun in its cluster, and find out which releases are already deleted."""
    found: list[Unfinished] = []
    for item in operations:
        outcome = "" if item.kind == "creating" else None
        if item.asks_cluster and item.cluster in clusters:
            async with connect(home, clusters[item.cluster]) as api:
                if item.kind == "creating":
                    await _delete_one(api, item.resource["type"], item.resource.get("inputs") or {})
                else:
                    outcome = await created_id(api, item.resource)
        found.append(replace(item, id=outcome))
    return found


async def _delete_one(api: KubeApi, token: str, inputs: Mapping[str, Any]) -> None:
    if token == RELEASE:
        await _delete_release(api, str(inputs.get("name")), inputs.get("namespace", "default"))
        return
    metadata: Mapping[str, Any] = inputs.get("metadata") or {}
    if "name" not in metadata:
        return
    item = (inputs["apiVersion"], inputs["kind"], metadata["name"], metadata.get("namespace", "default"))
    try:
        await api.delete(*item)
    except UnknownKindError:
        return  # its CRD never came to be, so neither did the object
    # The next run would create objects in a namespace that is being terminated.
    deadline = time.monotonic() + GONE_WITHIN
    while await api.find(*item) is not None:
        if time.monotonic() > deadline:
            return
        await asyncio.sleep(0.2)


async def _delete_release(api: KubeApi, name: str, namespace: str) -> None:
    """Delete helm's records of a release, and what runs of it: a killed helm may leave some."""
    selector = {"labelSelector": f"owner=helm,name={name}"}
    for secret in (await api.list("v1", "Secret", namespace, params=selector))["items"]:
        await api.delete("v1", "Secret", secret["metadata"]["name"], namespace)
    for api_version, kind in HAVE_PODS:
        for item in (await api.list(api_version, kind, namespace))["items"]:
            meta = item["metadata"]
            if meta.get("annotations", {}).get("meta.helm.sh/release-name") == name:
                await api.delete(api_version, kind, meta["name"], namespace)
