import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.simulator.client import (
    SimulatorAnswerError,
    SimulatorClient,
    SimulatorUnreachableError,
    ensure_running,
    stop,
)
from dra_fleet.rehearsal.simulator.errors import ALREADY_RUNNING, SimulatorError
from dra_fleet.rehearsal.simulator.processes import ProcessId, wait_ended
from dra_fleet.rehearsal.simulator.store import ClusterRecord, Store
from dra_fleet.rehearsal.simulator.toolpaths import ToolPaths
from tests.engine_support import delete_cluster

pytestmark = pytest.mark.slow

NO_TOOLS = ToolPaths(controlplane=Path("/nowhere/controlplane"), kwok=Path("/nowhere/kwok"))
HARDWARE: dict[str, Any] = {"kubernetes": "v1.36.3", "nodes": []}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    shared = Home.at(tmp_path_factory.mktemp("home"))
    ensure_running(shared, NO_TOOLS)
    yield shared
    stop(shared)


@pytest.fixture
def client(home: Home) -> Iterator[SimulatorClient]:
    ensure_running(home, NO_TOOLS)
    with SimulatorClient(home) as opened:
        yield opened


def simulator_process(home: Home) -> ProcessId:
    found = ProcessId.read(home.pid_file)
    assert found
    return found


def test_the_socket_and_all_files_are_for_one_user(client: SimulatorClient, home: Home) -> None:
    assert client.alive()
    assert home.socket.stat().st_mode & 0o777 == 0o600
    files = [path for path in home.root.rglob("*") if path.is_file() and path.parent != home.bin]
    assert {path.stat().st_mode & 0o077 for path in files} == {0}


def test_it_sees_no_variable_of_the_caller_that_it_does_not_need(
    rehearsal_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULT_TOKEN", "a-real-credential")
    monkeypatch.setenv("LC_TIME", "C.UTF-8")
    ensure_running(rehearsal_home, NO_TOOLS)
    seen = psutil.Process(simulator_process(rehearsal_home).pid).environ()
    assert "VAULT_TOKEN" not in seen
    assert seen["LC_TIME"] == "C.UTF-8"


def test_starting_it_again_changes_nothing(client: SimulatorClient, home: Home) -> None:
    before = client.status()["pid"]
    ensure_running(home, NO_TOOLS)
    assert client.status()["pid"] == before


def test_a_simulator_that_runs_older_code_is_replaced(
    client: SimulatorClient, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    older = client.status()
    monkeypatch.setattr("dra_fleet.rehearsal.simulator.client.code_digest", lambda: "of after the update")
    ensure_running(home, NO_TOOLS)
    newer = client.status()
    assert newer["pid"] != older["pid"]
    assert newer["code"] == older["code"]


def test_a_second_simulator_on_the_same_home_is_refused(client: SimulatorClient, home: Home) -> None:
    command = (sys.executable, "-m", "dra_fleet.rehearsal.simulator", "--home", str(home.root))
    second = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert second.returncode == ALREADY_RUNNING
    assert second.stderr == f"another simulator already runs on {home.root}\n"
    assert client.alive()


def test_after_a_kill_it_starts_over_the_stale_socket(home: Home, client: SimulatorClient) -> None:
    process = simulator_process(home)
    os.kill(process.pid, signal.SIGKILL)
    wait_ended([process], timeout=60)
    with pytest.raises(SimulatorUnreachableError, match="start it with `dra-fleet rehearse up`"):
        client.status()
    assert home.socket.exists()
    ensure_running(home, NO_TOOLS)
    assert client.alive()


def test_callers_that_race_get_one_simulator(rehearsal_home: Home) -> None:
    def start(_: int) -> int:
        ensure_running(rehearsal_home, NO_TOOLS)
        with SimulatorClient(rehearsal_home) as client:
            return int(client.status()["pid"])

    with ThreadPoolExecutor(3) as pool:
        assert len(set(pool.map(start, range(3)))) == 1


def test_stopping_leaves_neither_process_nor_socket(rehearsal_home: Home) -> None:
    ensure_running(rehearsal_home, NO_TOOLS)
    process = simulator_process(rehearsal_home)
    stop(rehearsal_home)
    assert not process.running()
    assert not rehearsal_home.socket.exists()
    assert not rehearsal_home.pid_file.exists()
    stop(rehearsal_home)


def test_stopping_a_home_that_never_was_makes_nothing(tmp_path: Path) -> None:
    stop(Home.at(tmp_path / "never"))
    assert not (tmp_path / "never").exists()


def test_a_simulator_that_hangs_is_ended(rehearsal_home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    ensure_running(rehearsal_home, NO_TOOLS)
    monkeypatch.setattr("dra_fleet.rehearsal.simulator.client.ANSWER_WITHIN", 0.2)
    monkeypatch.setattr("dra_fleet.rehearsal.simulator.client.STOP_GRACE", 0.2)
    process = simulator_process(rehearsal_home)
    os.kill(process.pid, signal.SIGSTOP)
    stop(rehearsal_home)
    assert not process.running()


def test_a_simulator_that_cannot_start_shows_its_last_words(rehearsal_home: Home) -> None:
    rehearsal_home.create()
    rehearsal_home.database.write_text("no database at all " * 100)
    message = "ended with exit code 1; its last words:\n(?s:.*)file is not a database"
    with pytest.raises(SimulatorError, match=message):
        ensure_running(rehearsal_home, NO_TOOLS)
    with pytest.raises(SimulatorError) as unknown:
        stop(rehearsal_home)
    assert str(unknown.value) == (
        f"{rehearsal_home.database} cannot be used (file is not a database), so what still runs of this "
        f"rehearsal is not known; end the processes that work in {rehearsal_home.clusters} yourself and "
        f"delete {rehearsal_home.root}"
    )
    rehearsal_home.database.unlink()


def test_a_home_of_another_version_is_named_with_the_fix(rehearsal_home: Home) -> None:
    rehearsal_home.create()
    with Store(rehearsal_home.database) as store:
        store.add(ClusterRecord(name="lab", version="v1.19.3", hardware=HARDWARE, port=None, phase="ready"))
    with pytest.raises(SimulatorError) as refused:
        ensure_running(rehearsal_home, NO_TOOLS)
    output = str(refused.value)
    assert "cluster 'lab' of this home was made by another version of dra-fleet and cannot be" in output
    assert "Remove the home with `dra-fleet rehearse down --remove`, then rehearse again" in output
    assert "Traceback" not in output


def test_a_simulator_that_cannot_write_any_more_is_ended(
    rehearsal_home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: SimulatorClient, *, remove: bool) -> None:
        del remove
        raise SimulatorAnswerError(
            500, "the simulator cannot read or write its files: database or disk is full"
        )

    ensure_running(rehearsal_home, NO_TOOLS)
    process = simulator_process(rehearsal_home)
    monkeypatch.setattr(SimulatorClient, "shutdown", full)
    stop(rehearsal_home)
    assert not process.running()
    assert not rehearsal_home.socket.exists()


@pytest.mark.parametrize(
    ("name", "version", "hardware", "message"),
    [
        ("Lab", "v1.36.3", HARDWARE, "cluster name 'Lab' is not allowed"),
        ("lab", "1.36", HARDWARE, "Kubernetes version '1.36' is not of the form v1.36.3"),
        ("lab", "v1.36.3", {**HARDWARE, "nods": []}, "hardware of cluster 'lab' is not valid: nods: "),
    ],
)
def test_a_wrong_request_is_refused_with_the_reason(
    client: SimulatorClient, name: str, version: str, hardware: dict[str, Any], message: str
) -> None:
    with pytest.raises(SimulatorAnswerError, match=re.escape(message)) as refused:
        client.create_cluster(name, version=version, hardware=hardware)
    assert refused.value.status == 400
    assert client.status()["clusters"] == []


def test_an_unknown_cluster_is_named_with_those_there_are(client: SimulatorClient, home: Home) -> None:
    for ask in (client.cluster, client.wait_ready, client.token):
        with pytest.raises(
            SimulatorAnswerError, match="no simulated cluster 'x'; there are: none"
        ) as refused:
            ask("x")
        assert refused.value.status == 404
    deleted = delete_cluster(home, "x")
    assert (deleted.status_code, deleted.json()["error"]) == (
        404,
        "there is no simulated cluster 'x'; there are: none",
    )


def test_missing_tools_are_named(client: SimulatorClient, home: Home) -> None:
    message = "etcd does not stay up: it cannot be started: /nowhere/controlplane is not there"
    with pytest.raises(SimulatorAnswerError, match=message):
        client.create_cluster("lab", version="v1.36.3", hardware=HARDWARE)
    assert client.cluster("lab")["state"] == "failed"
    with pytest.raises(SimulatorAnswerError, match=message):
        client.wait_ready("lab")
    delete_cluster(home, "lab").raise_for_status()


def test_the_helper_says_in_one_line_why_there_is_no_token(client: SimulatorClient, home: Home) -> None:
    assert client.alive()
    helper = str(home.bin / "dra-fleet-token")
    answer = subprocess.run([helper, "x"], capture_output=True, text=True, timeout=120, check=False)
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr == "dra-fleet-token: there is no simulated cluster 'x'; there are: none\n"
