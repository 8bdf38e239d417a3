"""The workshop of the tool tests."""

from pathlib import Path

import pytest

from dra_fleet.rehearsal.tools import cache
from tests.rehearsal.tools.tool_workshop import Workshop


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    programs = tmp_path / "bin"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setenv(cache.ENVIRONMENT_VARIABLE, str(tmp_path / "cache"))
    return Workshop(bin=programs, cache=cache.Cache(tmp_path / "cache"), monkeypatch=monkeypatch)
