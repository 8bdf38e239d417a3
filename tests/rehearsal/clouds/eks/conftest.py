"""A simulated region of AWS for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.eks.eks_region import Region

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def eks(tmp_path: Path) -> Iterator[Region]:
    with Store(tmp_path / "simulator.db") as store:
        yield Region(store)
