"""Texts that stay as they are unless a change is meant. A pytest plugin; `make generate` writes them anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

Golden = Callable[[str, str], None]
FOLDER = Path(__file__).parent / "golden"
_WRITE = "--write-golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that `make generate` gives."""
    parser.addoption(_WRITE, action="store_true", help="write the golden files anew; run no other test")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all other tests where the files are written."""
    if config.getoption(_WRITE):
        items[:] = [item for item in items if "golden" in getattr(item, "fixturenames", ())]


@pytest.fixture
def golden(pytestconfig: pytest.Config) -> Golden:
    """Hold a text to the golden file of a name; where it is to be written, write it first."""
    return partial(_hold, write=bool(pytestconfig.getoption(_WRITE)))


def _hold(name: str, text: str, *, write: bool) -> None:
    if write:
        (FOLDER / name).write_text(text, encoding="utf-8")
    assert text == (FOLDER / name).read_text(encoding="utf-8"), f"{name} is another; if meant: make generate"
