"""Remember for a while what the network refused, so that every later run does not wait for it again."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

VALID: Final = 24 * 3600.0
"""Seconds after which the network is asked again."""


def refusal(file: Path) -> str | None:
    """The remembered reason, None where there is none or it is too old."""
    try:
        age = time.time() - file.stat().st_mtime
        return file.read_text() if age < VALID else None
    except FileNotFoundError:
        return None


def remember_refusal(file: Path, reason: str) -> None:
    """Keep a reason. Deleting the file makes the next run ask the network again."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(reason.strip() + "\n")
