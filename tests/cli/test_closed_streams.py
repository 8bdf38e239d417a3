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
    assert shell(f"prove examples/any-gpu-by-memory.yaml{options} >&-") == (0, "", "")


def test_without_any_stream_an_error_is_its_exit_code() -> None:
    assert shell("prove nosuch <&- >&- 2>&-") == (1, "", "")


def test_a_closed_stdin_is_an_empty_one() -> None:
    code, _, err = shell("gate --events - <&-")
    assert code == 3
    assert err.startswith("error: stdin is empty")
    assert shell("check - --stack dev <&-")[0] == 1


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("options", ["", " --json"])
def test_a_full_disk_behind_stdout_is_reported(options: str, unbuffered: str) -> None:
    code, _, err = shell(
        f"prove examples/any-gpu-by-memory.yaml{options} >/dev/full", PYTHONUNBUFFERED=unbuffered
    )
    assert code == 1
    assert err.startswith("error: the disk: No space left on device")


@pytest.mark.parametrize("line", ["prove dev --all", "prove dev --json", "--help"])
def test_a_closed_reader_is_no_error(line: str) -> None:
    assert shell(f"{line} | true")[::2] == (0, "")


@pytest.mark.parametrize(
    ("line", "output"),
    [
        (f"prove {'a' * 300}", "File name too long; fix: choose another path\n"),
        (f"check {'a' * 5000}.yaml --stack dev", "aaa: File name too long; fix: choose another path\n"),
        (
            "prove dev --sarif /no/such/folder/x.sarif",
            "error: /no/such/folder/x.sarif: No such file or directory; fix: choose another path\n",
        ),
        ("prove dev --sarif /", "error: /: Is a directory; fix: choose another path\n"),
        ("prove dev --sarif /dev/null/x", "error: /dev/null/x: Not a directory; fix: choose another path\n"),
    ],
)
def test_a_path_that_cannot_be_is_reported(line: str, output: str) -> None:
    code, _, err = shell(line)
    assert (code, err.endswith(output)) == (1, True), err


def test_a_working_directory_that_is_gone_is_reported(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    line = f"mkdir {gone}; cd {gone}; rmdir {gone}; {COMMAND} prove dev"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "error: the working directory was deleted; fix: change to another directory\n"
