import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.simulator.client import SimulatorAnswerError, SimulatorClient, ensure_running, stop
from dra_fleet.rehearsal.simulator.processes import ProcessId
from dra_fleet.rehearsal.simulator.store import Store
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import delete_cluster

pytestmark = pytest.mark.engine

EMPTY: dict[str, Any] = {"nodes": []}
NEWER, OLDER = "v1.36.2", "v1.35.6"
"""AKS versions of minors."""


@pytest.fixture(scope="module")
def home(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    found = Home.at(tmp_path_factory.mktemp("ahead"))
    ensure_running(found, tools)
    yield found
    stop(found, remove=True)


@pytest.fixture
def simulator(home: Home, tools: Toolset) -> Iterator[SimulatorClient]:
    ensure_running(home, tools)
    with SimulatorClient(home) as client:
        client.start_ahead("aks", "studio", "1.36")
        yield client


def api_server(home: Home) -> ProcessId:
    """The API server of the one cluster, once its process is recorded."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        with Store(home.database) as store:
            if found := store.processes("studio").get(("studio", "kube-apiserver")):
                return found
        time.sleep(0.05)
    raise AssertionError("no API server was started")


def make(simulator: SimulatorClient, version: str) -> dict[str, Any]:
    simulator.create_cluster("studio", version=version, hardware={"kubernetes": version, **EMPTY})
    return simulator.cluster("studio")["components"]["kube-apiserver"]


def test_until_it_is_asked_for_it_is_no_cluster(home: Home, simulator: SimulatorClient) -> None:
    api_server(home)
    assert simulator.status()["clusters"] == []
    for ask in (simulator.cluster, simulator.wait_ready, simulator.token):
        with pytest.raises(SimulatorAnswerError, match="no simulated cluster 'studio'; there are: none"):
            ask("studio")
    assert delete_cluster(home, "studio").status_code == 404
    simulator.drop_ahead()


def test_a_later_request_gets_the_starting_control_plane(home: Home, simulator: SimulatorClient) -> None:
    started = api_server(home)
    assert make(simulator, NEWER)["pid"] == started.pid
    assert "studio" in home.kubeconfig.read_text()
    simulator.drop_ahead()
    simulator.start_ahead("aks", "studio", "1.36")
    assert simulator.cluster("studio")["state"] == "ready"
    delete_cluster(home, "studio").raise_for_status()


def test_a_request_for_another_version_gets_that_version(home: Home, simulator: SimulatorClient) -> None:
    started = api_server(home)
    assert make(simulator, OLDER)["pid"] != started.pid
    assert not started.running()
    assert simulator.cluster("studio")["version"] == OLDER
    delete_cluster(home, "studio").raise_for_status()


def test_unrequested_control_planes_are_removed(home: Home, simulator: SimulatorClient) -> None:
    started = api_server(home)
    simulator.drop_ahead()
    assert not started.running()
    assert not (home.clusters / "studio").exists()


@pytest.mark.parametrize("killed", [False, True])
def test_a_simulator_that_ends_leaves_none(
    home: Home, simulator: SimulatorClient, tools: Toolset, killed: bool
) -> None:
    started = api_server(home)
    if killed:
        with Store(home.database) as store:
            everything = store.processes()
        kill_simulator(simulator)
        ensure_running(home, tools)
        assert not any(process.running() for process in everything.values())
    else:
        stop(home)
    assert not started.running()
    assert not (home.clusters / "studio").exists()


def kill_simulator(simulator: SimulatorClient) -> None:
    process = psutil.Process(simulator.status()["pid"])
    process.kill()
    psutil.wait_procs([process], timeout=60)
