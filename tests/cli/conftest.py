"""Commands run inside the tests' process; what they set for a process of their own does not stay."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def process_as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Undo what `dra_fleet.cli.main.run` does to its process."""
    monkeypatch.setenv("PYDANTIC_DISABLE_PLUGINS", "__all__")
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
