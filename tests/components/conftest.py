"""A new event loop and a new recorded engine for every test."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.pulumi_recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A recorded engine. An Output that is used as text raises instead of warning."""
    monkeypatch.setenv("PULUMI_ERROR_OUTPUT_STRING", "1")
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield Recorder()
    loop.close()
    asyncio.set_event_loop(None)
