"""Interrupts of the programs that are started here."""

from __future__ import annotations

import signal
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def heeding_interrupts() -> Generator[None]:
    """Start an engine that ends what it started at once, also where this process ignores interrupts.

    A shell without job control has them ignored for what runs behind it, and every child inherits that. The
    engine interrupts each plugin and language host, and waits five seconds for one that ignores it. For the
    main thread.
    """
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGINT, _do_nothing)  # as good as ignored, and no child inherits it
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def _do_nothing(*_: object) -> None:
    pass
