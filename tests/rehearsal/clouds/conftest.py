"""Files of a simulated cloud in a test need not survive a power failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dra_fleet.rehearsal.simulator import store

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="package")
def unsynced() -> Iterator[None]:
    """Do not wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "DURABLE", "OFF")
        yield
