"""Cache of finished tools outside the repository; each entry is complete or absent.

A tool is made in a separate directory and moved into place in one step, under a lock. What a killed process
leaves behind is never taken for a tool, and the next one that makes the same tool removes it.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import platformdirs
from filelock import FileLock, Timeout
from msgspec import Struct

from dra_fleet.rehearsal.errors import RehearsalError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ENVIRONMENT_VARIABLE = "DRA_FLEET_CACHE"
UNFINISHED = ".unfinished-"
_GIBIBYTE = 1024**3


class ToolsError(RehearsalError):
    """A tool that a rehearsal needs cannot be had; the message says why and what to do."""


class Cache(Struct, frozen=True):
    """The directory of finished tools, one directory each, named by tool and key."""

    root: Path

    @classmethod
    def default(cls) -> Cache:
        """Return the cache that `$DRA_FLEET_CACHE` names, otherwise this user's own."""
        named = os.environ.get(ENVIRONMENT_VARIABLE)
        return cls(
            Path(named).expanduser().absolute() if named else platformdirs.user_cache_path("dra-fleet")
        )

    def place(self, entry: str) -> Path:
        """Return the directory of a tool, which exists only when the tool is complete."""
        return self.root / "tools" / entry

    def has(self, entry: str) -> bool:
        """Return whether the tool is in the cache, complete.

        Raises:
            ToolsError: the cache cannot be read.
        """
        with self.writable():
            return self.place(entry).is_dir()

    def log(self, name: str) -> Path:
        """Return the log file of a tool's build."""
        return self.root / "logs" / f"{name}.log"

    def make(self, entry: str, fill: Callable[[Path], None], on_wait: Callable[[], None]) -> Path:
        """Return the tool's directory, made by `fill` unless it is there already.

        Args:
            entry: name of the tool's directory, with everything that decides its content.
            fill: puts the tool into the empty directory it is given.
            on_wait: called once when another process is making the same tool.

        Raises:
            ToolsError: the cache cannot be written to.
        """
        place = self.place(entry)
        if self.has(entry):
            return place
        with self.writable(), self._alone(place.with_name(f"{entry}.lock"), on_wait):
            if place.is_dir():
                return place
            for left_behind in place.parent.glob(f"{entry}{UNFINISHED}*"):
                shutil.rmtree(left_behind)
            unfinished = Path(tempfile.mkdtemp(prefix=f"{entry}{UNFINISHED}", dir=place.parent))
            try:
                fill(unfinished)
                unfinished.chmod(0o755)
                unfinished.replace(place)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
        return place

    @contextmanager
    def _alone(self, lock_file: Path, on_wait: Callable[[], None]) -> Generator[None]:
        lock_file.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(lock_file)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            on_wait()
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    @contextmanager
    def writable(self) -> Generator[None]:
        """Turn the system's refusals to write into a message that says where and what to do.

        Raises:
            ToolsError: the disk is full, or the directory cannot be written to.
        """
        try:
            yield
        except OSError as error:
            if error.errno in {errno.ENOSPC, errno.EDQUOT}:
                raise ToolsError(f"{no_space(self.root)} (while making tools in {self.root})") from error
            if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST}:
                raise ToolsError(
                    f"the tool cache {self.root} cannot be used: {error.strerror} ({error.filename}); "
                    f"make it yours to write, or set {ENVIRONMENT_VARIABLE} to a directory of yours"
                ) from error
            raise


def no_space(*directories: Path) -> str:
    """Says which of the directories have how much space left, and what to do."""
    left = ", ".join(f"{directory}: {_free_gibibytes(directory):.1f} GiB free" for directory in directories)
    return (
        f"no space left on the disk; {left}. A full build needs about 8 GiB, most of it Go's build cache: "
        f"free some, or set {ENVIRONMENT_VARIABLE}, GOCACHE, GOMODCACHE and GOTMPDIR to a larger disk"
    )


def _free_gibibytes(directory: Path) -> float:
    existing = next(path for path in (directory, *directory.parents) if path.exists())
    return shutil.disk_usage(existing).free / _GIBIBYTE
