"""Runs the program without pauses for garbage collection."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def without_garbage_collection() -> Generator[None]:
    """Hold Python's cycle collector back, and spare what was made meanwhile from its later rounds.

    The cloud SDKs are imported while the first resources of a kind are declared: hundreds of thousands of
    objects, all of which live as long as the program. Looking for cycles among them again and again took a
    quarter of the program's start (bench/program_start.py).
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
