"""Real clusters for tests with the marker `engine`: one simulator per session, clusters shared by version.

Fixtures: `tools`, `rehearsal_simulator`, and `rehearsal_home` for a test that breaks or stops its own
simulator.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import httpx2
import pytest

from dra_fleet.clusters.client import KubeApi
from dra_fleet.clusters.credentials import read_kubeconfig
from dra_fleet.rehearsal import tools as rehearsal_tools
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.simulator.client import SimulatorClient, ensure_running, stop
from dra_fleet.rehearsal.tools import Toolset

NEWEST = "v1.37.2"
FLOOR = "v1.34.9"
LOCK = Home(Path()).lock.name


@dataclass(frozen=True, kw_only=True)
class SimulatedCluster:
    """One running cluster. Its context in `kubeconfig` has its name."""

    name: str
    version: str
    server: str
    home: Home

    @property
    def kubeconfig(self) -> Path:
        """The merged kubeconfig without secrets; its credential helper is on PATH."""
        return self.home.kubeconfig

    @property
    def admin_kubeconfig(self) -> Path:
        """The administrator's, with a client certificate."""
        return self.home.clusters / self.name / "admin.kubeconfig"

    def admin(self) -> KubeApi:
        """A connection as administrator; use it as an async context manager."""
        return KubeApi.connect(read_kubeconfig(str(self.admin_kubeconfig)))


def delete_cluster(home: Home, name: str) -> httpx2.Response:
    """Ask a home's simulator to stop a cluster and delete its data; programs have their cloud do it."""
    transport = httpx2.HTTPTransport(uds=str(home.socket))
    with httpx2.Client(
        transport=transport, base_url="http://simulator", timeout=300, trust_env=False
    ) as http:
        return http.delete(f"/v1/clusters/{name}")


@dataclass(frozen=True, kw_only=True)
class RehearsalWorld:
    """A running simulator. Clusters end with it."""

    home: Home
    client: SimulatorClient
    _numbers: Iterator[int] = field(default_factory=count)

    def cluster(self, version: str = NEWEST) -> SimulatedCluster:
        """The cluster without nodes that all tests of this version share: make own namespaces and names."""
        name = "shared-" + version.removeprefix("v").replace(".", "-")
        return self._cluster(name, version, {"kubernetes": version, "nodes": []})

    def new_cluster(
        self, hardware: Mapping[str, Any] | None = None, version: str = NEWEST
    ) -> SimulatedCluster:
        """A cluster of the test's own. `hardware` is one cluster of a hardware file, as plain data."""
        content = hardware or {"kubernetes": version, "nodes": []}
        return self._cluster(f"own-{next(self._numbers)}", str(content["kubernetes"]), content)

    def remove(self, cluster: SimulatedCluster) -> None:
        """End a cluster early, to free its memory."""
        delete_cluster(self.home, cluster.name).raise_for_status()

    def _cluster(self, name: str, version: str, hardware: Mapping[str, Any]) -> SimulatedCluster:
        made = self.client.create_cluster(name, version=version, hardware=hardware)
        return SimulatedCluster(name=name, version=version, server=made.server, home=self.home)


@pytest.fixture(scope="session")
def tools() -> Toolset:
    """All tools of the rehearsal, built on first use, and the schedulers of older versions that are built."""
    return rehearsal_tools.ensure()


@pytest.fixture(scope="session")
def rehearsal_simulator(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RehearsalWorld]:
    """One simulator for all tests of the session; its credential helper is on PATH."""
    home = Home.at(tmp_path_factory.mktemp("rehearsal"))
    ensure_running(home, tools)
    with pytest.MonkeyPatch.context() as patch, SimulatorClient(home) as client:
        patch.setenv("PATH", str(home.bin), prepend=":")
        yield RehearsalWorld(home=home, client=client)
    stop(home, remove=True)


@pytest.fixture
def rehearsal_home(tmp_path: Path) -> Iterator[Home]:
    """A home of the test's own; whatever runs in it is stopped after the test."""
    home = Home.at(tmp_path / "home")
    yield home
    stop(home, remove=True)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End the simulators of workers that were ended before their fixtures could do it, as by Ctrl-C."""
    factory: pytest.TempPathFactory | None = getattr(config, "_tmp_path_factory", None)
    if factory is None or hasattr(config, "workerinput"):
        return
    for depth in ("*", "*/home"):
        for lock in factory.getbasetemp().glob(f"popen-*/{depth}/{LOCK}"):
            stop(Home.at(lock.parent), remove=True)
