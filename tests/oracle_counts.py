"""Tells at the end of a run how often the proof was compared with Kubernetes itself. A pytest plugin."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Tally = dict[str, Counter[str]]
_TALLY = pytest.StashKey[Tally]()
_TITLE = "compared with Kubernetes itself"


@pytest.fixture
def compared(pytestconfig: pytest.Config) -> Callable[[str, Mapping[str, int]], None]:
    """Add counts under a title; equal titles are added up."""
    tally: Tally = pytestconfig.stash.setdefault(_TALLY, {})

    def add(title: str, counts: Mapping[str, int]) -> None:
        tally.setdefault(title, Counter()).update(counts)

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the counts of all tests."""
    empty: Tally = {}
    tally = config.stash.get(_TALLY, empty)
    if not tally:
        return
    terminalreporter.section(_TITLE)
    for title, counts in sorted(tally.items()):
        told = ", ".join(f"{count} {name}" for name, count in counts.items())
        terminalreporter.write_line(f"{title}: {told}")
