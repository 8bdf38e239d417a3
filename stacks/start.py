"""Lets the program start without what only costs time. Imported before anything else of it."""

from __future__ import annotations

import gc
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


CALLS = 10
"""Stack frames of each resource that the SDK omits, and some of dra-fleet's calls."""


@contextmanager
def quick_start() -> Generator[None]:
    """Start without rounds of Python's cycle collector, and keep long stack traces out of the state.

    Models are built and cloud SDKs imported while the program runs: hundreds of thousands of objects, all of
    which live as long as the program. Looking for cycles among them again and again took a sixth of the
    program's processor time (docs/adr/0009-start-up.md). What was made in the meantime is spared its later
    rounds.

    The SDK sends the calls by which each resource was declared, and no one reads them. With those of Python's
    own they were two fifths of the state, which the engine writes at each step. Tracebacks of exceptions
    are printed later, and whole.
    https://github.com/pulumi/pulumi/blob/v3.272.0/sdk/python/lib/pulumi/runtime/resource.py#L741
    """
    was_on = gc.isenabled()
    gc.disable()
    sys.tracebacklimit = CALLS
    try:
        yield
    finally:
        del sys.tracebacklimit
        gc.freeze()
        if was_on:
            gc.enable()
