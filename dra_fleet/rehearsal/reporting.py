"""What long work tells about itself: steps with a detail line and, where it is known, a count.

The command line decides how it looks; see `dra_fleet.cli.progress`.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Generator
    from contextlib import AbstractContextManager


class Step(Protocol):
    """One piece of work under way."""

    def update(self, detail: str, *, done: int | None = None, total: int | None = None) -> None:
        """Say what is happening now; `done` of `total` where the work can be counted."""
        ...


class Reporter(Protocol):
    """Receives the steps of long work."""

    def say(self, line: str) -> None:
        """Tell a result that stands while the work goes on."""
        ...

    def step(self, title: str) -> AbstractContextManager[Step]:
        """Begin a step; leaving the context ends it."""
        ...


class Silent:
    """Tells nothing to anyone; for callers that are not a person."""

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
