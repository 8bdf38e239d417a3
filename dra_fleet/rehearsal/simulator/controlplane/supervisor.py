"""Keep one component running: adopt the recorded process or start one, and start it again when it ends."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import subprocess
import time
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.rehearsal.simulator.errors import SimulatorError
from dra_fleet.rehearsal.simulator.files import last_lines, rotate
from dra_fleet.rehearsal.simulator.processes import ProcessId, wait_gone

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dra_fleet.rehearsal.simulator.controlplane.components import Command
    from dra_fleet.rehearsal.simulator.store import Store

FIRST_BACKOFF = 0.5
LONGEST_BACKOFF = 30.0
SETTLED = 60.0
"""Seconds of running after which a component is started again without a long pause."""

GATE = 'read -r go && exec "$@" </dev/null'
"""The child waits until its pid is on disk. If the simulator dies before that, the pipe closes and the child
ends: no unrecorded process runs."""

logger = logging.getLogger(__name__)


class ComponentPlace(Struct, frozen=True, kw_only=True):
    """Directory and record of a component."""

    cluster: str
    component: str
    directory: Path
    log: Path


class Supervisor:
    """Supervisor of one component.

    Args:
        place: where it runs.
        store: where its process is recorded.
        prepare: asked for the command before every start.
        changed: called when it has started or ended.
    """

    def __init__(
        self,
        place: ComponentPlace,
        store: Store,
        prepare: Callable[[], Command],
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.place = place
        self.ends = 0
        self.last_end: str | None = None
        self.process: ProcessId | None = None
        self._store = store
        self._prepare = prepare
        self._changed = changed

    async def run(self) -> None:
        """Adopt or start the component and keep it running until cancelled; cancelling leaves it running."""
        recorded = self._store.processes(self.place.cluster).get((self.place.cluster, self.place.component))
        self.process = recorded if recorded and recorded.running() else None
        if self.process:
            logger.info("%s: adopted %s (pid %d)", self.place.cluster, self.place.component, self.process.pid)
        backoff = FIRST_BACKOFF
        while True:
            began = time.monotonic()
            try:
                await self._live()
            except (OSError, sqlite3.Error, SimulatorError) as error:
                self._note_end(f"cannot be started: {error}")
            if time.monotonic() - began > SETTLED:
                backoff = FIRST_BACKOFF
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, LONGEST_BACKOFF)

    async def _live(self) -> None:
        """Run the component once, from its start (unless adopted) to its end."""
        child: subprocess.Popen[bytes] | None = None
        if self.process is None:
            child, self.process = self._start()
        self._changed()
        await wait_gone(self.process)
        code = f" with exit code {child.wait()}" if child else ""
        self._note_end(f"ended{code}; its log {self.place.log} ends:\n{last_lines(self.place.log)}")
        self._store.clear_process(self.place.cluster, self.place.component)

    def _start(self) -> tuple[subprocess.Popen[bytes], ProcessId]:
        command = self._prepare()
        self.place.log.parent.mkdir(mode=0o700, exist_ok=True)  # never what was deleted above it
        rotate(self.place.log)
        with os.fdopen(os.open(self.place.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as log:
            child = subprocess.Popen(
                ("/bin/sh", "-c", GATE, self.place.component, *command.arguments),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.place.directory,
                env={"PATH": os.defpath, "HOME": str(self.place.directory), **command.environment},
                start_new_session=True,
            )
        process = ProcessId.of(child.pid)
        if process is None or child.stdin is None:
            raise RuntimeError(f"the child {child.pid} that was just started is not there")
        with child.stdin as gate:
            self._store.set_process(self.place.cluster, self.place.component, process)
            gate.write(b"go\n")
        logger.info("%s: started %s (pid %d)", self.place.cluster, self.place.component, child.pid)
        return child, process

    def _note_end(self, how: str) -> None:
        self.ends += 1
        self.last_end = how
        self.process = None
        logger.warning("%s: %s %s", self.place.cluster, self.place.component, how)
        self._changed()
