"""Lets only one run at a time change a home; the next one waits and says so."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from collections.abc import Generator

    from dra_fleet.rehearsal.home import Home
    from dra_fleet.rehearsal.reporting import Reporter


@contextmanager
def own_turn(home: Home, reporter: Reporter) -> Generator[None]:
    """Hold the home until the context is left. A holder that is killed lets go.

    Args:
        home: the rehearsal; its directory is made if need be.
        reporter: told when another run is at work.

    Raises:
        HomeUnusableError: the home cannot be made.
    """
    home.create()
    lock = FileLock(home.turn, mode=0o600)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        with reporter.step(f"waiting for another `rehearse up` that is at work in {home.root}"):
            while not lock.is_locked:
                with suppress(FileNotFoundError):  # `down --remove` took the home away
                    lock.acquire()
                home.create()
    try:
        yield
    finally:
        lock.release()
