import asyncio
import shutil
import socket
import threading
from collections.abc import Iterator
from typing import Any

import psutil
import pytest
from msgspec.structs import replace

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.simulator.client import (
    SimulatorAnswerError,
    SimulatorClient,
    SimulatorUnreachableError,
    ensure_running,
    stop,
)
from dra_fleet.rehearsal.simulator.controlplane.version import FullVersion
from dra_fleet.rehearsal.tools import Toolset
from tests.engine_support import FLOOR, delete_cluster

pytestmark = pytest.mark.engine

VERSION = "v1.36.3"
MINOR = FullVersion.parse(FLOOR).minor
HARDWARE: dict[str, Any] = {"kubernetes": VERSION, "nodes": []}
COMPONENTS = ("etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kwok")


class Lab:
    """One home with one cluster, and an object that must survive."""

    def __init__(self, home: Home, tools: Toolset) -> None:
        self.home = home
        self._tools = tools

    def up(self) -> None:
        ensure_running(self.home, self._tools)
        with SimulatorClient(self.home) as client:
            made = client.create_cluster("lab", version=VERSION, hardware=HARDWARE)
        assert made.state == "ready"

    def status(self) -> dict[str, Any]:
        with SimulatorClient(self.home) as client:
            return client.status()

    def cluster(self) -> dict[str, Any]:
        with SimulatorClient(self.home) as client:
            return client.cluster("lab")

    def pids(self) -> dict[str, int]:
        cluster = self.cluster()
        return {name: component["pid"] for name, component in cluster["components"].items()}

    def admin(self) -> KubeApi:
        return KubeApi.connect(read_kubeconfig(str(self.home.clusters / "lab" / "admin.kubeconfig")))

    def remember(self) -> None:
        async def create() -> None:
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "memory"}}
            async with self.admin() as api:
                await api.apply(
                    {**body, "metadata": {"name": "memory", "namespace": "default"}}, manager="test"
                )

        asyncio.run(create())

    def remembers(self) -> bool:
        async def find() -> bool:
            async with self.admin() as api:
                return await api.find("v1", "ConfigMap", "memory", "default") is not None

        return asyncio.run(find())

    def controllers_work(self) -> None:
        """Return once they serve a new namespace; while they start they would end with the API server."""

        async def wait() -> None:
            body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "made-"}}
            async with self.admin() as api, asyncio.timeout(120):
                name = (await api.create(body))["metadata"]["name"]
                while not await api.find("v1", "ServiceAccount", "default", name):  # noqa: ASYNC110 - polled
                    await asyncio.sleep(0.1)

        asyncio.run(wait())

    def kill_simulator(self) -> None:
        kill(self.status()["pid"])


def kill(pid: int) -> None:
    """Kill -9 and wait for the end."""
    process = psutil.Process(pid)
    process.kill()
    psutil.wait_procs([process], timeout=120)


@pytest.fixture(scope="module")
def shared(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    lab = Lab(Home.at(tmp_path_factory.mktemp("recovery")), tools)
    lab.up()
    lab.remember()
    yield lab
    stop(lab.home, remove=True)


@pytest.fixture
def lab(shared: Lab) -> Lab:
    shared.up()
    return shared


def test_after_a_kill_of_the_simulator_everything_is_adopted(lab: Lab) -> None:
    before = lab.pids()
    lab.kill_simulator()
    assert lab.remembers()
    lab.up()
    assert lab.pids() == before


@pytest.mark.parametrize("component", COMPONENTS)
def test_a_killed_component_is_restarted_with_its_state(lab: Lab, component: str) -> None:
    before = lab.pids()
    kill(before[component])
    lab.up()
    after = lab.pids()
    assert after[component] != before[component]
    assert lab.remembers()


def test_components_that_ended_without_a_simulator_are_started_again(lab: Lab, tools: Toolset) -> None:
    lab.controllers_work()
    before = lab.pids()
    lab.kill_simulator()
    for component in ("kube-apiserver", "kwok"):
        kill(before[component])
    ensure_running(lab.home, tools)
    with SimulatorClient(lab.home) as client:
        client.wait_ready("lab")
    after = lab.pids()
    assert {name for name in COMPONENTS if after[name] == before[name]} == {
        "etcd",
        "kube-scheduler",
        "kube-controller-manager",
    }
    assert lab.remembers()


@pytest.mark.full
def test_a_scheduler_that_was_built_in_the_meantime_takes_the_place_of_the_one_that_emulates(
    lab: Lab, tools: Toolset
) -> None:
    ensure_running(lab.home, replace(tools, schedulers={}))

    def scheduler() -> psutil.Process:
        with SimulatorClient(lab.home) as client:
            client.wait_ready("older")
            return psutil.Process(client.cluster("older")["components"]["kube-scheduler"]["pid"])

    with SimulatorClient(lab.home) as client:
        client.create_cluster("older", version=FLOOR, hardware={"kubernetes": FLOOR, "nodes": []})
    emulating = scheduler()
    assert emulating.cmdline()[0] == str(tools.controlplane)
    lab.up()
    assert scheduler().cmdline()[0] == str(tools.schedulers[MINOR])
    assert not emulating.is_running()
    own = scheduler()
    lab.up()
    assert scheduler() == own
    delete_cluster(lab.home, "older").raise_for_status()


def test_a_port_that_someone_took_in_the_meantime_is_given_up(lab: Lab) -> None:
    server = lab.cluster()["server"]
    stop(lab.home)
    taken = int(server.rpartition(":")[2])
    with socket.create_server(("127.0.0.1", taken)):
        lab.up()
        moved = lab.cluster()["server"]
    assert moved != server
    assert read_kubeconfig(str(lab.home.kubeconfig), "lab").cluster.server == moved
    assert lab.remembers()


def listening(pids: set[int]) -> int:
    """Return the number of TCP ports on which these processes listen."""
    connections = psutil.net_connections("tcp")
    return sum(found.pid in pids and found.status == psutil.CONN_LISTEN for found in connections)


@pytest.mark.parametrize("simulator_is_killed", [False, True])
def test_stopping_leaves_neither_process_nor_port(lab: Lab, simulator_is_killed: bool) -> None:
    pids = {*lab.pids().values(), lab.status()["pid"]}
    assert listening(pids)
    if simulator_is_killed:
        lab.kill_simulator()
    stop(lab.home)
    assert not any(map(_alive, pids))
    assert not listening(pids)
    assert not lab.home.socket.exists()
    lab.up()
    assert lab.remembers()


def _alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_half_started_control_plane_is_finished_and_a_second_home_disturbs_no_one(
    lab: Lab, tools: Toolset, rehearsal_home: Home
) -> None:
    other = Lab(rehearsal_home, tools)
    ensure_running(other.home, tools)
    creating = threading.Thread(target=_create_until_stopped, args=(other.home,))
    creating.start()
    while not (other.home.clusters / "lab" / "logs" / "kube-apiserver.log").exists():
        creating.join(0.02)
        assert creating.is_alive()
    other.kill_simulator()
    creating.join()
    other.up()
    assert not other.remembers()
    assert lab.remembers()
    assert not set(other.pids().values()) & set(lab.pids().values())
    stop(other.home, remove=True)
    assert list(other.home.clusters.iterdir()) == []
    assert lab.cluster()["state"] == "ready"


@pytest.mark.parametrize("made_again", [False, True])
def test_a_home_that_is_deleted_ends_with_all_that_runs_for_it(
    made_again: bool, lab: Lab, tools: Toolset, rehearsal_home: Home
) -> None:
    other = Lab(rehearsal_home, tools)
    other.up()
    running = [psutil.Process(pid) for pid in (other.status()["pid"], *other.pids().values())]
    shutil.rmtree(other.home.root, ignore_errors=True)  # what runs may write into it in the meantime
    while other.home.lock.exists():
        shutil.rmtree(other.home.root, ignore_errors=True)
    if made_again:
        other.up()
    assert psutil.wait_procs(running, timeout=60)[1] == []
    assert other.home.root.exists() == made_again
    if made_again:
        assert other.cluster()["state"] == "ready"
        assert not other.remembers()
    assert lab.cluster()["state"] == "ready"


def _create_until_stopped(home: Home) -> None:
    with SimulatorClient(home) as client, pytest.raises(SimulatorUnreachableError):
        client.create_cluster("lab", version=VERSION, hardware=HARDWARE)


@pytest.mark.full
def test_a_component_that_cannot_start_is_named_with_its_last_words(lab: Lab) -> None:
    with SimulatorClient(lab.home) as client:
        directory = lab.home.clusters / "broken"
        (directory / "etcd" / "member").mkdir(parents=True)
        (directory / "etcd" / "member" / "snap").write_text("not a directory")
        with pytest.raises(
            SimulatorAnswerError, match=r"etcd does not stay up: it ended with exit code 1; its log "
        ):
            client.create_cluster("broken", version=VERSION, hardware=HARDWARE)
        shutil.rmtree(directory / "etcd")
        assert client.create_cluster("broken", version=VERSION, hardware=HARDWARE).state == "ready"
        delete_cluster(lab.home, "broken").raise_for_status()
        assert not directory.exists()
        assert [cluster["name"] for cluster in client.status()["clusters"]] == ["lab"]
