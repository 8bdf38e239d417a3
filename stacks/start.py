"""Lets the program start without what only costs time. Imported before anything else of it."""

from __future__ import annotations

import gc
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def quick_start() -> Generator[None]:
    """Hold Python's cycle collector back, and spare what was made meanwhile from its later rounds.

    Models are built and cloud SDKs imported while the program runs: hundreds of thousands of objects, all of
    which live as long as the program. Looking for cycles among them again and again took a quarter of the
    program's start (bench/program_start.py).
    """
    # Models need no plug-ins; looking for some reads the metadata of every package that is installed.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
