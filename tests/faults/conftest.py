from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine.rehearsed import Rehearsed
from tests.faults.fault_lab import FaultLab

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.rehearsal.tools import Toolset


@pytest.fixture(scope="package")
def lab(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultLab]:
    """One rehearsal for all cases, with the results of undisturbed runs."""
    del tools
    root = tmp_path_factory.mktemp("faults")
    found = FaultLab(Rehearsed(home=root / "home", files=root))
    try:
        found.prepare()
        yield found
    finally:
        found.rehearsed.run("rehearse", "down", "--remove")
