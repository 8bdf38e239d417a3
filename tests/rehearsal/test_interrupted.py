import json
import os
import socket
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

import psutil
import pytest

from dra_fleet.clusters.unfinished import RELEASE
from dra_fleet.rehearsal import interrupted
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.interrupted import (
    StackBusyError,
    StackState,
    clear_interrupted,
    clear_stale_lock,
    orphans,
    restore_cut_off,
)

PROVIDER = "urn:pulumi:dev::fleet::pulumi:providers:kubernetes::lab-kubernetes::0b1c"


def lock(backend: Path, text: str, stack: str = "dev") -> Path:
    directory = backend / ".pulumi" / "locks" / "organization" / "dra-fleet" / stack
    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "0b1c.json"
    file.write_text(text)
    return file


def holder(pid: int, taken: datetime) -> str:
    """Return a lock as the engine writes it: https://github.com/pulumi/pulumi/blob/master/pkg/backend/diy/lock.go."""
    return json.dumps({"pid": pid, "username": "x", "hostname": "y", "timestamp": taken.isoformat()})


def test_without_a_lock_nothing_was_interrupted(tmp_path: Path) -> None:
    assert clear_stale_lock(tmp_path, "dev") is None


def test_the_lock_of_a_living_run_is_respected(tmp_path: Path) -> None:
    taken = datetime.now(UTC)
    file = lock(tmp_path, holder(os.getpid(), taken))
    with pytest.raises(StackBusyError) as busy:
        clear_stale_lock(tmp_path, "dev")
    assert str(busy.value) == (
        f"stack dev is being updated by process {os.getpid()} since {taken.isoformat()}; "
        "wait for it, or stop that process and try again"
    )
    assert file.exists()


def test_the_lock_of_an_ended_run_is_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    file = lock(tmp_path, holder(ended.pid, datetime.now(UTC)))
    assert clear_stale_lock(tmp_path, "dev") is not None
    assert not file.exists()


def test_a_process_that_got_the_number_later_does_not_hold_the_lock(tmp_path: Path) -> None:
    started = datetime.fromtimestamp(psutil.Process().create_time(), UTC)
    lock(tmp_path, holder(os.getpid(), started - timedelta(minutes=1)))
    assert clear_stale_lock(tmp_path, "dev") is not None


@pytest.mark.parametrize("text", ["", '{"pid": 1', '{"pid": 1}', "[]"])
def test_a_lock_that_was_cut_off_while_it_was_written_is_removed(tmp_path: Path, text: str) -> None:
    lock(tmp_path, text)
    assert clear_stale_lock(tmp_path, "dev") is not None


def test_the_lock_of_another_stack_is_left_alone(tmp_path: Path) -> None:
    file = lock(tmp_path, "", stack="prod")
    assert clear_stale_lock(tmp_path, "dev") is None
    assert file.exists()


def test_the_lock_of_another_host_is_kept_if_hosts_share_the_backend(tmp_path: Path) -> None:
    file = lock(tmp_path, holder(os.getpid(), datetime.now(UTC) - timedelta(days=900)))
    with pytest.raises(
        StackBusyError, match="stack dev is locked by a run on host y; run `dra-fleet recover`"
    ):
        clear_stale_lock(tmp_path, "dev", host="x")
    assert clear_stale_lock(tmp_path, "dev", host="y", remove=False) is not None
    assert file.exists()
    assert clear_stale_lock(tmp_path, "dev", host="y") is not None
    assert not file.exists()


def test_a_state_that_a_full_disk_cut_off_is_replaced_with_its_copy(tmp_path: Path) -> None:
    record, copy = tmp_path / "dev.json", tmp_path / "dev.json.bak"
    assert restore_cut_off(record) is False
    record.write_text('{"checkpoint": {}}')
    assert restore_cut_off(record) is False

    record.write_text('{"checkpo')
    with pytest.raises(
        RehearsalError, match=r"and its copy dev\.json\.bak are cut off; restore the newest file"
    ):
        restore_cut_off(record)
    copy.write_text("{}")
    assert restore_cut_off(record, restore=False) is True
    assert record.read_text() == '{"checkpo'
    assert restore_cut_off(record) is True
    assert record.read_text() == "{}"


@pytest.mark.parametrize(("is_served", "is_elsewhere"), [(False, False), (True, False), (False, True)])
def test_only_processes_of_an_ended_engine_of_the_project_are_orphans(
    tmp_path: Path, is_served: bool, is_elsewhere: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as engine:
        address = f"127.0.0.1:{engine.getsockname()[1]}"
        if not is_served:
            engine.close()
        program, other, copy = tmp_path / "program", tmp_path / "other", tmp_path / "copy"
        for folder in (program, other, copy):
            folder.mkdir()
        (copy / "Pulumi.yaml").write_text("name: fleet\nruntime: python\nmain: ../program\n")
        before = time.time()
        words = [sys.executable, "-c", "input()", "pulumi-resource-kubernetes", address]
        with subprocess.Popen(words, cwd=other if is_elsewhere else program, stdin=subprocess.PIPE) as plugin:
            assert plugin.stdin
            found = [process.pid for process in orphans(copy, before)]
            assert orphans(copy, time.time() + 60) == []
            plugin.kill()
    assert found == ([] if is_served or is_elsewhere else [plugin.pid])


class KnownClusters:
    """A simulator that has some clusters, and records which of them were waited for."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.awaited: list[str] = []
        self.deleted: list[tuple[str, str]] = []
        self.asked_for: list[tuple[str, ...]] = []
        self.holds: dict[str, list[dict[str, Any]]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def status(self) -> dict[str, Any]:
        return {"clusters": [{"name": name} for name in self.names]}

    def wait_ready(self, name: str) -> None:
        self.awaited.append(name)


class Deleting:
    """A connection that remembers what it was asked to delete, and that the cluster was ready."""

    def __init__(self, simulator: KnownClusters, cluster: str) -> None:
        assert cluster in simulator.awaited
        self._simulator = simulator
        self._cluster = cluster

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        pass

    async def list(
        self, api_version: str, kind: str, namespace: str, *, params: object = None
    ) -> dict[str, Any]:
        del api_version, namespace, params
        return {"items": [{"metadata": meta} for meta in self._simulator.holds.get(kind, [])]}

    async def delete(
        self, api_version: str, kind: str, name: str, namespace: str, *, options: object = None
    ) -> None:
        del options
        self._simulator.deleted.append((self._cluster, f"{api_version} {kind} {namespace}/{name}"))

    async def find(self, *asked: str) -> tuple[str, ...] | None:
        """Return the deleted object the first two times."""
        self._simulator.asked_for.append(asked)
        return asked if len(self._simulator.asked_for) < 3 else None


class Stack(StackState, frozen=True):
    """A stack's state with operations that were cut off."""

    def export(self) -> dict[str, Any]:
        return json.loads((self.directory / "state.json").read_text())

    def restore(self, state: dict[str, Any]) -> None:
        (self.directory / "state.json").write_text(json.dumps(state))


def cut_off(
    home: Home, monkeypatch: pytest.MonkeyPatch, *resources: dict[str, Any], kind: str = "creating"
) -> tuple[Stack, KnownClusters]:
    """A stack whose run was killed during operations on these resources; two of its clusters exist."""
    pending = [{"type": kind, "resource": resource} for resource in resources]
    state = {
        "resources": [] if kind == "creating" else [*resources],
        "pending_operations": pending,
    }
    file = home.backend / ".pulumi" / "stacks" / "dra-fleet" / "dev.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps({"checkpoint": {"latest": state}}))
    stack = Stack(pulumi=Path("pulumi"), stack="dev", directory=home.root, environment={})
    stack.restore({"deployment": state})
    simulator = KnownClusters("lab", "elsewhere")

    def known(_: Home) -> KnownClusters:
        return simulator

    def deleting(_: Home, cluster: str) -> Deleting:
        return Deleting(simulator, cluster)

    monkeypatch.setattr(interrupted, "SimulatorClient", known)
    monkeypatch.setattr(interrupted, "connect", deleting)
    return stack, simulator


def test_a_begun_object_is_deleted_once_its_cluster_is_ready(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}}
    home = Home.at(tmp_path)
    begun = {"type": "kubernetes:core/v1:ConfigMap", "inputs": claim, "provider": PROVIDER}
    stack, simulator = cut_off(home, monkeypatch, begun)
    output = clear_interrupted(home, stack, {"lab": "lab", "other": "elsewhere", "new": "not-made-yet"})
    assert output == ["the last run of stack dev was interrupted; 1 operations are made again"]
    assert simulator.deleted == [("lab", "v1 ConfigMap ml/a")]
    assert simulator.asked_for == [("v1", "ConfigMap", "a", "ml")] * 3, "it is waited for"
    assert simulator.awaited == ["lab"]
    assert stack.export()["deployment"]["pending_operations"] == []


def test_a_begun_release_is_deleted_with_its_records_and_workloads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home.at(tmp_path)
    begun = {"type": RELEASE, "inputs": {"name": "driver", "namespace": "gpu"}, "provider": PROVIDER}
    stack, simulator = cut_off(home, monkeypatch, begun)
    simulator.holds = {
        "Secret": [{"name": "sh.helm.release.v1.driver.v1"}],
        "DaemonSet": [
            {"name": "plugin", "annotations": {"meta.helm.sh/release-name": "driver"}},
            {"name": "another", "annotations": {"meta.helm.sh/release-name": "other"}},
            {"name": "without-a-release"},
        ],
    }
    clear_interrupted(home, stack, {"lab": "lab"})
    assert simulator.deleted == [
        ("lab", "v1 Secret gpu/sh.helm.release.v1.driver.v1"),
        ("lab", "apps/v1 DaemonSet gpu/plugin"),
    ]


def test_a_cluster_that_was_only_begun_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home.at(tmp_path)
    begun = {"type": "gcp:container/cluster:Cluster", "inputs": {"name": "lab"}}
    stack, simulator = cut_off(home, monkeypatch, begun)
    clear_interrupted(home, stack, {"lab": "lab"})
    assert simulator.awaited == []
    assert stack.export()["deployment"]["pending_operations"] == []


@pytest.mark.parametrize(
    ("simulated", "holds", "left"),
    [
        ("lab", {}, ["config"]),
        ("lab", {"Secret": [{"name": "sh.helm.release.v1.driver.v1"}]}, ["driver", "config"]),
        ("not-made-yet", {}, ["driver", "config"]),
    ],
    ids=["already-deleted", "there", "unknown"],
)
def test_only_a_release_that_is_already_deleted_leaves_the_state(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    simulated: str,
    holds: dict[str, list[dict[str, Any]]],
    left: list[str],
) -> None:
    named = {"name": "driver", "namespace": "gpu"}
    release = {"urn": "driver", "type": RELEASE, "inputs": named, "provider": PROVIDER}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ml"}}
    other = {"urn": "config", "type": "kubernetes:core/v1:ConfigMap", "inputs": config}
    stack, simulator = cut_off(Home.at(tmp_path), monkeypatch, release, other, kind="deleting")
    simulator.holds = holds
    clear_interrupted(Home.at(tmp_path), stack, {"lab": simulated})
    deployment = stack.export()["deployment"]
    assert [item["urn"] for item in deployment["resources"]] == left
    assert deployment["pending_operations"] == []
    assert simulator.deleted == []
