"""Ask Kubernetes' own libraries, each minor's built from its pinned Go module."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from typing import TYPE_CHECKING, Any

from rehearsal import tools

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MINORS = (34, 35, 36, 37)


@cache
def _program(minor: int) -> Path:
    return tools.oracle(f"1.{minor}")


def ask(kind: str, questions: Iterable[dict[str, Any]], *, minor: int) -> list[dict[str, Any]]:
    """One verdict per question; ``kind`` is selector or allocation."""
    lines = "\n".join(json.dumps({kind: question}) for question in questions)
    answered = subprocess.run([str(_program(minor))], input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in answered.stdout.splitlines()]
