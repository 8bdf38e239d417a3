"""What is looked at before `pulumi up`, on a cluster or in its cloud's account."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, kw_only=True)
class PreflightFinding:
    """One thing looked at. A `problem` means that `pulumi up` would not end well; `fix` says what to do."""

    level: Level
    subject: str
    message: str
    fix: str = ""
