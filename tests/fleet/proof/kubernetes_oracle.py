"""Ask Kubernetes' own libraries, built from the pinned Go modules."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable

_MODULE = Path(__file__).parents[3] / "rehearsal" / "engine" / "controlplane"


@cache
def _directory() -> TemporaryDirectory[str]:
    return TemporaryDirectory(prefix="dra-fleet-oracle-")


@cache
def _program() -> Path:
    go = shutil.which("go")
    if go is None:
        pytest.skip("needs Go")
    built = Path(_directory().name) / "oracle"
    subprocess.run([go, "build", "-o", str(built), "./oracle"], cwd=_MODULE, check=True)
    return built


def ask(kind: str, questions: Iterable[dict[str, Any]], *, minor: int) -> list[dict[str, Any]]:
    """One verdict per question; ``kind`` is selector or allocation."""
    lines = "\n".join(json.dumps({kind: question}) for question in questions)
    command = [str(_program()), "-minor", str(minor)]
    answered = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in answered.stdout.splitlines()]
