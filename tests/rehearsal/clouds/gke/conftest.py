"""A simulated project of Google Cloud for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.gke.gke_project import Project

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def gke(tmp_path: Path) -> Iterator[Project]:
    with Store(tmp_path / "simulator.db") as store:
        yield Project(store)
