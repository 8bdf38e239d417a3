"""A simulated region of Alibaba Cloud for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.ack.ack_region import Region


@pytest.fixture
def ack(tmp_path: Path) -> Iterator[Region]:
    with Store(tmp_path / "simulator.db") as store:
        yield Region(store)
