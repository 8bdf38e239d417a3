"""Progress of long work: steps with a detail line and, if known, a count.

The command line decides how it looks; see `dra_fleet.cli.progress`.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

from dra_fleet.rehearsal.simulator.files import write_private

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager
    from pathlib import Path


VALID: Final = 24 * 3600.0
"""Seconds after which the network is asked again."""


class Step(Protocol):
    """A step of work in progress."""

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        """Say what is happening now; `done` of `total` where the work can be counted."""
        ...


class Reporter(Protocol):
    """Receives the steps of long work."""

    def say(self, line: str) -> None:
        """Report a result that remains while the work continues."""
        ...

    def step(self, title: str) -> AbstractContextManager[Step]:
        """Begin a step; leaving the context ends it."""
        ...


class Silent:
    """Reports nothing; for callers that are programs."""

    def say(self, line: str) -> None:
        """Show nothing."""
        del line

    @contextmanager
    def step(self, title: str) -> Generator[Step]:
        """Begin a step that is not shown."""
        del title
        yield _SilentStep()


class _SilentStep:
    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        del detail, done, total


def refusal(file: Path) -> str | None:
    """Return the remembered reason; None if there is none or it is too old."""
    try:
        age = time.time() - file.stat().st_mtime
        return file.read_text() if age < VALID else None
    except FileNotFoundError:
        return None


def remember_refusal(file: Path, reason: str) -> None:
    """Keep a reason. Deleting the file makes the next run ask the network again."""
    file.parent.mkdir(parents=True, exist_ok=True)
    write_private(file, reason.strip() + "\n")  # threads can keep reasons of one host at once
