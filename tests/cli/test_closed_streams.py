"""Shells that close a stream, and disks that are full: a message at most, never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[2]
COMMAND = f"{Path(sys.executable).parent}/dra-fleet"


def shell(line: str, **variables: str) -> tuple[int, str, str]:
    done = subprocess.run(
        ["/bin/sh", "-c", f"{COMMAND} {line}"],
        cwd=PROJECT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("options", ["", " --json"])
def test_without_stdout_a_proof_is_its_exit_code(options: str) -> None:
    assert shell(f"prove examples/s10-capacity.yaml{options} >&-") == (0, "", "")


def test_without_any_stream_an_error_is_its_exit_code() -> None:
    assert shell("prove nosuch <&- >&- 2>&-") == (1, "", "")


def test_a_closed_stdin_is_an_empty_one() -> None:
    code, _, err = shell("gate --events - <&-")
    assert code == 3
    assert err.startswith("error: stdin is empty")
    assert shell("check - --stack dev <&-")[0] == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", ["", " --json"])
def test_a_full_disk_behind_stdout_is_told(options: str, unbuffered: str) -> None:
    code, _, err = shell(f"prove examples/s10-capacity.yaml{options} >/dev/full", PYTHONUNBUFFERED=unbuffered)
    assert code == 1
    assert err.startswith("error: the disk: No space left on device")
