"""A simulated region of Alibaba Cloud for each test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.ack.ack_region import Region

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def ack(tmp_path: Path) -> Iterator[Region]:
    with Store(tmp_path / "simulator.db") as store:
        yield Region(store)
