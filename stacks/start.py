"""Lets the program start without what only costs time. Imported before anything else of it."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def quick_start() -> Generator[None]:
    """Hold Python's cycle collector back, and spare what was made meanwhile from its later rounds.

    Models are built and cloud SDKs imported while the program runs: hundreds of thousands of objects, all of
    which live as long as the program. Looking for cycles among them again and again took a sixth of the
    program's processor time (docs/adr/0009-start-up.md).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
