import re
import subprocess
import sys
from pathlib import Path

import pytest

from dra_fleet.rehearsal.tools import recipes

PROJECT = Path(__file__).resolve().parents[1]
LONGEST_FILE = 600
"""Lines of a Python file."""
OWN_MODULES = (
    "replace dra-fleet.invalid/",
    "replace github.com/NVIDIA/go-nvfm => ./nvfm",
    "replace github.com/pulumi/pulumi-kubernetes/sdk/v4 => ./sdk",
)
"""Modules of this project; go-nvfm is required by NVIDIA's driver and is not published as a module, and
the generated SDK would be most of the Kubernetes provider's build."""


def program(name: str) -> str:
    return str(Path(sys.executable).parent / name)


def files(*patterns: str) -> list[Path]:
    """Return the files that are or would be committed."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *patterns]
    listed = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.split("\0") if name and (path := PROJECT / name).is_file()]


@pytest.mark.checks
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["ruff", "format", "--check", "."], id="format"),
        pytest.param(["ruff", "check", "."], id="lint"),
        pytest.param(["pyright"], id="types"),
        pytest.param(["lint-imports", "--no-logo", "--no-cache"], id="imports"),
    ],
)
def test_the_checks_find_nothing(command: list[str]) -> None:
    checked = subprocess.run(
        [program(command[0]), *command[1:]], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_python_files_stay_short() -> None:
    too_long = {
        str(file.relative_to(PROJECT)): lines
        for file in files("*.py")
        if (lines := len(file.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert too_long == {}


def test_go_files_are_formatted_and_pinned_to_public_modules() -> None:
    unpacked = {f"{one.module.partition('@')[0]} => ./{one.directory}" for one in recipes.KARPENTER.unpacked}
    local = [
        f"{file.relative_to(PROJECT)}: {line.strip()}"
        for file in files("*go.mod")
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"=>\s*[./]", line) and not line.startswith(OWN_MODULES)
        if line.strip() not in unpacked
    ]
    assert local == []
    sources = [str(file) for file in files("*.go")]
    formatted = subprocess.run(["gofmt", "-l", *sources], capture_output=True, text=True, check=True)
    assert formatted.stdout == ""


def pins(name: str) -> dict[str, str]:
    """Versions by distribution; a line that is not a plain pin stands for itself."""
    found: dict[str, str] = {}
    for line in (PROJECT / name).read_text(encoding="utf-8").splitlines():
        pin = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?==([\w.]+)(?:\s+#.*)?", line)
        if pin:
            found[re.sub(r"[._-]+", "-", pin[1]).lower()] = pin[2]
        elif line and not line.startswith("#"):
            found[line] = "no pin of the form name==version"
    return found


REQUIREMENTS = ("requirements.txt", "requirements-dev.txt", "requirements-docs.txt")
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-docs.lock")


@pytest.mark.parametrize("name", [*REQUIREMENTS, *LOCKS])
def test_requirements_are_exact_and_name_no_place_to_get_them_from(name: str) -> None:
    assert [line for line, version in pins(name).items() if version.startswith("no pin")] == []


@pytest.mark.parametrize(("requested", "lock"), [*zip(REQUIREMENTS, LOCKS, strict=True)])
def test_the_lock_holds_every_requirement(requested: str, lock: str) -> None:
    locked = pins(lock)
    assert {name: locked.get(name) for name in pins(requested)} == pins(requested)


def test_no_package_is_locked_twice() -> None:
    locked = [name for lock in LOCKS for name in pins(lock)]
    assert len(locked) == len(set(locked))


@pytest.mark.parametrize("name", REQUIREMENTS)
def test_every_requirement_has_its_reason(name: str) -> None:
    lines = (PROJECT / name).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line and "#" not in line] == []


@pytest.mark.slow
def test_nothing_refers_to_the_machine_it_was_written_on() -> None:
    # Put together here, so that this file does not contain what it looks for.
    elsewhere = re.compile(r"(?<![\w.-])" + "/work" + "/|/home/[a-z]+/dra")
    found = [
        f"{file.relative_to(PROJECT)}:{number}: {line.strip()}"
        for file in files()
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if elsewhere.search(line)
    ]
    assert found == []
