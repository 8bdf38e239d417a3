"""Show the steps of long work on stderr: bars on a terminal, otherwise plain lines."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dra_fleet.cli.display import display
from dra_fleet.cli.output import progress_bar, stderr_console

if TYPE_CHECKING:
    from collections.abc import Generator

    from rich.console import Console
    from rich.progress import Progress, TaskID

    from dra_fleet.rehearsal.reporting import Reporter, Step

PLAIN_INTERVAL_SECONDS = 15.0
"""Seconds between two lines of a long step without a terminal."""
_ESTIMATE_FROM = 0.02
"""Share of the work that must be done before the remaining time is estimated."""


@contextmanager
def reporting() -> Generator[Reporter]:
    """Yield the reporter that suits stderr."""
    console = stderr_console()
    verbose = display().verbose
    if verbose or not console.is_terminal:
        yield PlainReporter(console, 0.0 if verbose else PLAIN_INTERVAL_SECONDS)
        return
    with progress_bar(console) as progress:
        yield BarReporter(progress)


class BarReporter:
    """Show a bar for each step."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def say(self, line: str) -> None:
        """Print a line above the bars."""
        self._progress.console.print(line, markup=False, soft_wrap=True)

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        """Show a bar until the context is left."""
        task = self._progress.add_task(title, total=None, detail="")
        yield _BarStep(self._progress, task)
        self._progress.update(task, total=1, completed=1)


class _BarStep:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress = progress
        self._task = task

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        self._progress.update(self._task, detail=detail, completed=done, total=total)


class PlainReporter:
    """Print a line when a step begins and ends, and at intervals in between."""

    def __init__(self, console: Console, interval: float = PLAIN_INTERVAL_SECONDS) -> None:
        self._console = console
        self.interval = interval

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        """Print the step's begin and end."""
        started = time.monotonic()
        self.say(f"{title} ...")
        yield _PlainStep(self, title)
        self.say(f"{title}: done in {time.monotonic() - started:.1f} s")

    def say(self, line: str) -> None:
        """Print a line."""
        self._console.print(line, markup=False, soft_wrap=True)


class _PlainStep:
    def __init__(self, reporter: PlainReporter, title: str) -> None:
        self._reporter = reporter
        self._title = title
        self._began = time.monotonic()
        self._next = self._began + reporter.interval

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + self._reporter.interval
        count = f" ({done} of {total}{self._left(done, total)})" if total else ""
        self._reporter.say(f"{self._title}: {detail}{count}")

    def _left(self, done: int | None, total: int) -> str:
        """Return the estimated remaining time, or "" if too little is done."""
        if not done or done < total * _ESTIMATE_FROM:
            return ""
        minutes = (time.monotonic() - self._began) / done * (total - done) / 60
        return f", about {minutes:.0f} min left" if minutes >= 1 else ", less than a minute left"
