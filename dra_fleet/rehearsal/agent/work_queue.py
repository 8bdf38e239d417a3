"""A queue of keys to reconcile: each key once, never twice at the same time, retried when it fails."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import httpx2
from msgspec import Struct

from dra_fleet.clusters.client import ApiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

logger = logging.getLogger(__name__)

WORKERS = 64
"""Kubelets work side by side; an API server that is busy answers each of them late."""
FIRST_RETRY = 0.2
LONGEST_RETRY = 10.0
QUIET_FAILURES = 3
"""Conflicts, objects just gone and the authorizer's lag heal by themselves; more is worth a line."""


class Key(Struct, frozen=True):
    """Key of work: its kind and the name of its object."""

    work: str
    name: str


class WorkQueue:
    """Hands keys to a handler, in order of arrival."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Key] = asyncio.Queue()
        self._waiting: set[Key] = set()
        self._running: set[Key] = set()
        self._again: set[Key] = set()
        self._failures: dict[Key, int] = {}
        self._timers: dict[Key, asyncio.TimerHandle] = {}

    def add(self, key: Key) -> None:
        """Reconcile `key` soon; once if it is asked several times before that."""
        if key in self._running:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._queue.put_nowait(key)

    def add_later(self, key: Key, seconds: float) -> None:
        """Reconcile `key` after that many seconds; the earlier of two times counts."""
        loop = asyncio.get_running_loop()
        present = self._timers.get(key)
        if present and present.when() <= loop.time() + seconds:
            return
        if present:
            present.cancel()
        self._timers[key] = loop.call_later(seconds, self._due, key)

    def _due(self, key: Key) -> None:
        self._timers.pop(key, None)
        self.add(key)

    async def run(self, handle: Callable[[Key], Awaitable[None]]) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(WORKERS):
                group.create_task(self._work(handle))

    async def _work(self, handle: Callable[[Key], Awaitable[None]]) -> None:
        while True:
            key = await self._queue.get()
            self._waiting.discard(key)
            self._running.add(key)
            try:
                await handle(key)
                self._failures.pop(key, None)
            except (ApiError, httpx2.TransportError) as error:
                self._retry(key, error)
            finally:
                self._running.discard(key)
                if key in self._again:
                    self._again.discard(key)
                    self.add(key)

    def _retry(self, key: Key, error: Exception) -> None:
        failures = self._failures.get(key, 0)
        self._failures[key] = failures + 1
        if failures >= QUIET_FAILURES:
            logger.warning("%s %s: %s", key.work, key.name, error)
        self.add_later(key, min(FIRST_RETRY * 2**failures, LONGEST_RETRY))
