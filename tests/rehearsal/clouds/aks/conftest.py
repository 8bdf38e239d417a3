"""A simulated subscription for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.aks.aks_subscription import Subscription


@pytest.fixture
def aks(tmp_path: Path) -> Iterator[Subscription]:
    with Store(tmp_path / "simulator.db") as store:
        yield Subscription(store)
