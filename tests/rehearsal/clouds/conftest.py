"""Files of a simulated cloud in a test need not survive a power failure."""

from collections.abc import Iterator

import pytest

from dra_fleet.rehearsal.simulator import store


@pytest.fixture(autouse=True, scope="package")
def unsynced() -> Iterator[None]:
    """Do not wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "DURABLE", "OFF")
        yield
