"""Wait for something no longer than allowed, and no longer than the engine itself wants to go on."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

Result = TypeVar("Result")


class StoppedError(Exception):
    """The engine asked to stop (Ctrl-C) while something was being waited for."""


async def within(seconds: float, stopping: asyncio.Event, work: Coroutine[None, None, Result]) -> Result:
    """Run a wait to its end, its deadline, or the engine's wish to stop, whichever comes first.

    Args:
        seconds: the deadline from now on.
        stopping: set when the engine wants to stop.
        work: what to wait for; cancelled when it is not to be waited for any longer.

    Raises:
        TimeoutError: the deadline passed.
        StoppedError: the engine asked to stop.
    """
    working = asyncio.ensure_future(work)
    stopped = asyncio.ensure_future(stopping.wait())
    try:
        await asyncio.wait({working, stopped}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        if stopped.done():
            raise StoppedError
        raise TimeoutError
    finally:
        stopped.cancel()
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)
