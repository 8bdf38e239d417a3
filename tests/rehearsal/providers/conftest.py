"""Tiny projects on the shared simulated cluster."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.providers import install
from tests.rehearsal.providers.tiny_project import TinyProject

if TYPE_CHECKING:
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine_support import RehearsalWorld, SimulatedCluster

NewProject = Callable[[], TinyProject]


@pytest.fixture(scope="session")
def pulumi_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PULUMI_HOME with the stand-in plugin."""
    home = tmp_path_factory.mktemp("pulumi-home")
    install(home, Path(sys.executable))
    return home


@pytest.fixture
def cluster(rehearsal_world: RehearsalWorld) -> SimulatedCluster:
    """The cluster these tests share with others."""
    return rehearsal_world.cluster()


@pytest.fixture
def unique() -> str:
    """A part of names that no other test uses."""
    return uuid.uuid4().hex[:8]


@pytest.fixture
def project(tmp_path: Path, tools: Toolset, pulumi_home: Path, cluster: SimulatedCluster) -> TinyProject:
    """A project whose provider `lab` gets the administrator's kubeconfig by value, as a secret."""
    kubeconfig = cluster.admin_kubeconfig.read_text()
    settings = {"kubeconfig": {"$secret": kubeconfig}, "clusterIdentifier": cluster.name}
    return TinyProject(tmp_path / "tiny", tools, pulumi_home, {"lab": settings})
