"""Run a request in a background thread."""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine, Generator
    from concurrent.futures import Future

Answer = TypeVar("Answer")


@contextmanager
def in_background(asking: Coroutine[Any, Any, Answer]) -> Generator[Future[Answer]]:
    """Run a coroutine in a separate thread; leaving the context cancels it and ends the thread.

    Args:
        asking: the coroutine.

    Yields:
        Its answer, or what it raised, as soon as it is asked for.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=_run, args=(loop,), name="in-background")
    thread.start()
    answer = asyncio.run_coroutine_threadsafe(asking, loop)
    try:
        yield answer
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:  # which cancels what is left
        runner.get_loop().run_forever()
