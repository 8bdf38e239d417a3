"""A simulated subscription for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.aks.aks_subscription import Subscription

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def aks(tmp_path: Path) -> Iterator[Subscription]:
    with Store(tmp_path / "simulator.db") as store:
        yield Subscription(store)
