"""The official Pulumi installer, where the network has it; a failure is remembered for a while."""

from __future__ import annotations

import importlib.metadata
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.rehearsal.passed_on import passed_on

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.rehearsal.tools.cache import Cache


INSTALL_SECONDS = 300
"""How long the whole installation may take."""
REFUSAL_SECONDS = 24 * 3600
"""How long a failure is remembered, so that not each run waits for the same answer."""


@dataclass(frozen=True)
class InstallerRefusal:
    """Why the official installer did not install."""

    reason: str


def default_version() -> str:
    """The CLI's version that belongs to the SDK installed here, without a leading v."""
    return importlib.metadata.version("pulumi")


def install(version: str, directory: Path) -> InstallerRefusal | None:
    """Install the official CLI into the directory; its programs are then in bin/. None is success.

    Args:
        version: the CLI's version, without a leading v.
        directory: where to install to.
    """
    command = [sys.executable, "-m", "dra_fleet.rehearsal.tools.official_pulumi", str(directory), version]
    with subprocess.Popen(
        command,
        env=passed_on(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            _, errors = process.communicate(timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return InstallerRefusal(f"not finished after {INSTALL_SECONDS} s")
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode == 0:
        return None
    lines = errors.strip().splitlines()
    return InstallerRefusal(lines[-1] if lines else f"exit code {process.returncode}")


class Refusals:
    """The last failure of the installer, remembered in the cache."""

    def __init__(self, cache: Cache) -> None:
        self._file = cache.root / "pulumi-installer-refused.json"

    def recent(self) -> InstallerRefusal | None:
        """The failure that was met less than `REFUSAL_SECONDS` ago."""
        try:
            told = json.loads(self._file.read_text(encoding="utf-8"))
            age, reason = time.time() - float(told["at"]), str(told["reason"])
        except (OSError, ValueError, KeyError, TypeError):
            return None  # never met, or not a file of ours: asking again does no harm
        return InstallerRefusal(reason) if 0 <= age < REFUSAL_SECONDS else None

    def remember(self, refusal: InstallerRefusal) -> None:
        """Keep this failure."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._file.write_text(json.dumps({"at": time.time(), "reason": refusal.reason}), encoding="utf-8")
