"""Prints the outcome of each injected fault at the end of a run; `--faults FILE` writes it. A plugin."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from xdist.workermanage import WorkerController  # pyright: ignore[reportMissingTypeStubs]

Rows = dict[str, str]
"""The outcome by fault and step."""
_ROWS = pytest.StashKey[Rows]()
_HANDED_OVER = "fault_table"
_RECOVERED = "recovered"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the file of the outcomes."""
    parser.addoption("--faults", metavar="FILE", help="Write the outcome of each injected fault as JSON.")


@pytest.fixture
def fault_outcome(pytestconfig: pytest.Config) -> Callable[[str, str, str], None]:
    """Record the outcome of a fault at a step, such as "recovered after recover"."""
    return partial(_add, pytestconfig)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Pass a worker's rows to the main process."""
    output: dict[str, object] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output[_HANDED_OVER] = dict(_rows(session.config))


@pytest.hookimpl(optionalhook=True)  # unknown without xdist
def pytest_testnodedown(node: WorkerController) -> None:
    """Add a worker's rows; a crashed worker has none."""
    output: dict[str, Rows] = getattr(node, "workeroutput", {})
    _rows(node.config).update(output.get(_HANDED_OVER, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the table and write the file."""
    rows = _rows(config)
    if not rows:
        return
    terminalreporter.section("injected faults")
    width = max(map(len, rows))
    for key, outcome in sorted(rows.items()):
        terminalreporter.write_line(f"{key:{width}}  {outcome}")
    if file := config.getoption("--faults"):
        path = Path(file)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(summary(rows), indent=2) + "\n", encoding="utf-8")


def summary(rows: Rows) -> dict[str, object]:
    """Return the counts and outcomes that the file contains."""
    recovered = sum(outcome.startswith(_RECOVERED) for outcome in rows.values())
    return {"fault_points": len(rows), "recovered": recovered, "outcomes": dict(sorted(rows.items()))}


def _add(config: pytest.Config, fault: str, step: str, outcome: str) -> None:
    _rows(config)[f"{fault}, {step}"] = outcome


def _rows(config: pytest.Config) -> Rows:
    return config.stash.setdefault(_ROWS, {})
