"""A separate rehearsal for the tests of a module, and for a test that breaks it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.engine.rehearsed import Rehearsed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from dra_fleet.rehearsal.tools import Toolset


@pytest.fixture(scope="module")
def rehearsed(tools: Toolset, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rehearsed]:
    """One home that the tests of a module share; everything in it ends with them."""
    del tools
    root = tmp_path_factory.mktemp("rehearsed")
    found = Rehearsed(home=root / "home", files=root)
    yield found
    found.run("rehearse", "down", "--remove")


@pytest.fixture
def own_rehearsed(tools: Toolset, tmp_path: Path) -> Iterator[Rehearsed]:
    """A home of the test's own."""
    del tools
    found = Rehearsed(home=tmp_path / "home", files=tmp_path)
    yield found
    found.run("rehearse", "down", "--remove")
