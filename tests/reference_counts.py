"""Report at the end of a run how often the proof was compared with Kubernetes and drivers. A pytest plugin.

Workers of pytest-xdist hand their counts to the process that started them.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

import pytest
from xdist.workermanage import WorkerController  # pyright: ignore[reportMissingTypeStubs]

Tally = dict[str, Counter[str]]
_TALLY = pytest.StashKey[Tally]()
_HANDED_OVER = "reference_counts"
_TITLE = "compared with Kubernetes and drivers themselves"
_ALL = "cases"
_NO_SHARES = ("agreed", "different", "pairs of features", "answers true", "answers false", "answers error")


@pytest.fixture
def compared(pytestconfig: pytest.Config) -> Callable[[str, Mapping[str, int]], None]:
    """Add counts under a title; equal titles are added up, and counts are shown as shares of "cases" too."""
    return partial(_add, pytestconfig)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Hand a worker's counts over."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_HANDED_OVER] = {title: dict(counts) for title, counts in _tally(session.config).items()}


@pytest.hookimpl(optionalhook=True)  # unknown where xdist is switched off
def pytest_testnodedown(node: WorkerController) -> None:
    """Take a worker's counts; one that crashed has none."""
    output: dict[str, dict[str, dict[str, int]]] = getattr(node, "workeroutput", {})
    for title, counts in output.get(_HANDED_OVER, {}).items():
        _add(node.config, title, counts)


def _add(config: pytest.Config, title: str, counts: Mapping[str, int]) -> None:
    _tally(config).setdefault(title, Counter()).update(counts)


def _tally(config: pytest.Config) -> Tally:
    return config.stash.setdefault(_TALLY, {})


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the counts of all tests, quiet or not."""
    tally = _tally(config)
    if not tally:
        return
    terminalreporter.section(_TITLE)
    for title, counts in sorted(tally.items()):
        terminalreporter.write_line(f"{title}: {text(counts)}")


def text(counts: Mapping[str, int]) -> str:
    """The counts in words, the number of cases first."""
    total = counts.get(_ALL, 0)
    words = [f"{total} {_ALL}"] if total else []
    for name, count in counts.items():
        if name != _ALL:
            share = f" ({count / total:.1%})" if total and name not in _NO_SHARES else ""
            words.append(f"{count} {name}{share}")
    return ", ".join(words)
