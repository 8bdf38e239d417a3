"""Control planes that start before a cloud is asked for them: nobody's until then, and never left behind."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.world.client import WorldAnswerError, WorldClient, ensure_running, stop
from dra_fleet.rehearsal.world.store import Store
from tests.engine_support import delete_cluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.rehearsal.tools import Toolset
    from dra_fleet.rehearsal.world.processes import ProcessId

pytestmark = pytest.mark.engine

EMPTY: dict[str, Any] = {"nodes": []}
NEWER, OLDER = "v1.36.2", "v1.35.6"
"""What AKS makes of minors."""


@pytest.fixture(scope="module")
def home(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    found = Home.at(tmp_path_factory.mktemp("ahead"))
    ensure_running(found, tools)
    yield found
    stop(found, remove=True)


@pytest.fixture
def world(home: Home, tools: Toolset) -> Iterator[WorldClient]:
    ensure_running(home, tools)
    with WorldClient(home) as client:
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


def make(world: WorldClient, version: str) -> dict[str, Any]:
    world.create_cluster("studio", version=version, hardware={"kubernetes": version, **EMPTY})
    return world.cluster("studio")["components"]["kube-apiserver"]


def test_until_it_is_asked_for_it_is_no_cluster(home: Home, world: WorldClient) -> None:
    api_server(home)
    assert world.status()["clusters"] == []
    for ask in (world.cluster, world.wait_ready, world.token):
        with pytest.raises(WorldAnswerError, match="no simulated cluster 'studio'; there are: none"):
            ask("studio")
    assert delete_cluster(home, "studio").status_code == 404
    world.drop_ahead()


def test_who_asks_for_it_gets_the_one_that_starts(home: Home, world: WorldClient) -> None:
    started = api_server(home)
    assert make(world, NEWER)["pid"] == started.pid
    assert "studio" in home.kubeconfig.read_text()
    world.drop_ahead()
    world.start_ahead("aks", "studio", "1.36")
    assert world.cluster("studio")["state"] == "ready"
    delete_cluster(home, "studio").raise_for_status()


def test_who_asks_for_another_version_gets_that(home: Home, world: WorldClient) -> None:
    started = api_server(home)
    assert make(world, OLDER)["pid"] != started.pid
    assert not started.running()
    assert world.cluster("studio")["version"] == OLDER
    delete_cluster(home, "studio").raise_for_status()


def test_what_nobody_asked_for_is_removed(home: Home, world: WorldClient) -> None:
    started = api_server(home)
    world.drop_ahead()
    assert not started.running()
    assert not (home.clusters / "studio").exists()


@pytest.mark.parametrize("killed", [False, True])
def test_a_world_that_ends_leaves_none(home: Home, world: WorldClient, tools: Toolset, killed: bool) -> None:
    started = api_server(home)
    if killed:
        with Store(home.database) as store:
            everything = store.processes()
        kill_world(world)
        ensure_running(home, tools)
        assert not any(process.running() for process in everything.values())
    else:
        stop(home)
    assert not started.running()
    assert not (home.clusters / "studio").exists()


def kill_world(world: WorldClient) -> None:
    process = psutil.Process(world.status()["pid"])
    process.kill()
    psutil.wait_procs([process], timeout=60)
