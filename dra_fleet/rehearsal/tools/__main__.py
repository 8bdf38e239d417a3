"""`python -m dra_fleet.rehearsal.tools [--json] [--all]`: makes every tool ready, prints where it is."""

from __future__ import annotations

import argparse
import json
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from dra_fleet.rehearsal.tools import ToolsError, actionlint, ensure, oracle
from dra_fleet.rehearsal.tools.recipes import oracle_minors
from dra_fleet.rehearsal.tools.toolset import playable_minors

if TYPE_CHECKING:
    from collections.abc import Generator

    from dra_fleet.rehearsal.reporting import Step


class _Bars:
    """A bar for each step on a terminal; elsewhere a line when it begins and for each tenth of it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def say(self, line: str) -> None:
        self._progress.console.print(line, markup=False, soft_wrap=True)

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        if not self._progress.console.is_terminal:
            yield _Lines(self._progress.console, title)
            return
        task = self._progress.add_task(title, total=None, detail="")
        yield _Bar(self._progress, task)


class _Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        self._progress.update(self._task, detail=detail, completed=done, total=total)


class _Lines:
    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._tenths = 0
        self._say("...")

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        tenths = 10 * done // total if done and total else 0
        if tenths > self._tenths:
            self._tenths = tenths
            self._say(f"{done} of {total} ({detail})")

    def _say(self, text: str) -> None:
        self._console.print(f"{self._title}: {text}", markup=False, highlight=False, soft_wrap=True)


def main() -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m dra_fleet.rehearsal.tools", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the paths as JSON")
    parser.add_argument(
        "--all", action="store_true", help="build what only older minors, tests and benchmarks need, too"
    )
    arguments = parser.parse_args()
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[detail]}"),
    )
    try:
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            bars = _Bars(progress)
            tools = ensure(bars, schedulers_of=playable_minors() if arguments.all else ())
            told = {**tools.as_json(), **(_for_tests(bars) if arguments.all else {})}
    except ToolsError as error:
        console.print(str(error), markup=False, highlight=False, soft_wrap=True)
        return 1
    except KeyboardInterrupt:
        console.print("interrupted; the next run goes on from what is compiled")
        return 130
    if arguments.json:
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
        return 0
    for name, value in told.items():
        for line in [value] if isinstance(value, str) else value:
            sys.stdout.write(f"{name:18} {line}\n")
    return 0


def _for_tests(bars: _Bars) -> dict[str, str]:
    """What tests build when they first ask for it: here, so that none waits."""
    oracles = {f"oracle-{minor}": str(oracle(minor, bars)) for minor in oracle_minors()}
    return {**oracles, "actionlint": str(actionlint(bars))}


if __name__ == "__main__":
    sys.exit(main())
