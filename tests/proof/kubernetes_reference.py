"""Ask Kubernetes' own libraries, each minor's built from its pinned Go module."""

import atexit
import json
import subprocess
from collections.abc import Iterable
from functools import cache
from typing import IO, Any

import pytest

from dra_fleet.rehearsal import tools

MINORS = (34, 35, 36, 37)
ENDS = [*(pytest.param(minor, marks=pytest.mark.full) for minor in MINORS[1:-1]), MINORS[0], MINORS[-1]]
"""The minors for long comparisons, of which `make test` runs the first and the last."""


class _Reference:
    """A minor's program, kept running: it answers line by line."""

    def __init__(self, minor: int) -> None:
        command = [str(tools.reference(f"1.{minor}"))]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._input, self._output = _open(self._process.stdin), _open(self._process.stdout)
        atexit.register(self._end)

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        self._input.write(json.dumps(question) + "\n")
        self._input.flush()
        line = self._output.readline()
        assert line, f"the upstream reference ended with {self._process.wait()} on {question}"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> None:
        self._input.close()
        self._process.wait()


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


@cache
def _reference(minor: int) -> _Reference:
    return _Reference(minor)


def ask(kind: str, questions: Iterable[dict[str, Any]], *, minor: int) -> list[dict[str, Any]]:
    """One verdict per question; ``kind`` is selector or allocation."""
    reference = _reference(minor)
    return [reference.answer({kind: question}) for question in questions]
