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
_ALL = "cases"
_NO_SHARES = ("agreed", "pairs of features", "answers true", "answers false", "answers error")


@pytest.fixture
def compared(pytestconfig: pytest.Config) -> Callable[[str, Mapping[str, int]], None]:
    """Add counts under a title; equal titles are added up, and counts are shown as shares of "cases" too."""
    tally: Tally = pytestconfig.stash.setdefault(_TALLY, {})

    def add(title: str, counts: Mapping[str, int]) -> None:
        tally.setdefault(title, Counter()).update(counts)

    return add


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the counts of all tests, quiet or not."""
    empty: Tally = {}
    tally = config.stash.get(_TALLY, empty)
    if not tally:
        return
    terminalreporter.section(_TITLE)
    for title, counts in sorted(tally.items()):
        terminalreporter.write_line(f"{title}: {told(counts)}")


def told(counts: Mapping[str, int]) -> str:
    """The counts in words, the number of cases first."""
    total = counts.get(_ALL, 0)
    words = [f"{total} {_ALL}"] if total else []
    for name, count in counts.items():
        if name != _ALL:
            share = f" ({count / total:.1%})" if total and name not in _NO_SHARES else ""
            words.append(f"{count} {name}{share}")
    return ", ".join(words)
