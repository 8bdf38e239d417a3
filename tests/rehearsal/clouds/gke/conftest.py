"""A simulated project of Google Cloud for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.gke.gke_project import Project


@pytest.fixture
def gke(tmp_path: Path) -> Iterator[Project]:
    with Store(tmp_path / "simulator.db") as store:
        yield Project(store)
