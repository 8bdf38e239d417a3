import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.lock import LOCKS, PLATFORMS, WHEELS, locked

PROJECT = Path(__file__).resolve().parents[1]
PROGRAM = ("dra_fleet", "components", "stacks", "policies")
BUILT_HERE = {"alibabacloud-tea": "Python alone in its sdist, the same on every system; tests alone need it"}
"""Packages without a wheel for some platform, and why that is not an obstacle there."""

ONLY_LINUX = re.compile(
    r"""["'](/(proc|sys|dev/shm|run)["'/]|(unshare|nsenter|setpriv|prlimit|mount)["'])|\bmount --"""
)
"""Files and commands that macOS has not."""
OF_A_NODE = ("dra_fleet/rehearsal/drivers/", "dra_fleet/drivers/", "dra_fleet/policy/reading/pods.py")
"""Modules in which such a path is a node's, or of a driver's own program, which runs on Linux alone."""
WITH_ANOTHER_BRANCH = {
    "dra_fleet/policy/gate/limits.py": "without_proc_a_session_is_found_by_ps",
    "dra_fleet/rehearsal/agent/own/programs.py": "without_mount_namespaces_a_driver_runs_as_it_is",
    "dra_fleet/rehearsal/agent/own/sockets.py": "without_proc_a_socket_is_reached_by_its_own_path",
}
"""Features of this machine that are used if present, and the test of the branch without them."""
SYSTEM = re.compile(
    r"^ *(?:import|from) (?:asyncio|fcntl|mmap|multiprocessing|os|psutil|resource|select|signal|socket|"
    r"subprocess|time)\b",
    re.MULTILINE,
)
"""Imports of modules whose contents differ by the system."""


def wheels() -> dict[str, list[str]]:
    """By package and version, its wheel for each platform."""
    lines = WHEELS.read_text(encoding="utf-8").splitlines()
    return {name: found for name, *found in (line.split() for line in lines if not line.startswith("#"))}


def test_every_package_of_the_locks_has_a_wheel_for_every_platform() -> None:
    needed = {entry for lock in LOCKS for entry in locked(lock)}
    assert set(wheels()) == needed, "fix: make lock"
    without = {
        entry.partition("==")[0]
        for entry, found in wheels().items()
        if len(found) != len(PLATFORMS) or "none" in found
    }
    assert without == set(BUILT_HERE)


def modules() -> Iterator[tuple[str, str]]:
    """The program's modules by their paths."""
    for folder in PROGRAM:
        for file in (PROJECT / folder).rglob("*.py"):
            yield file.relative_to(PROJECT).as_posix(), file.read_text(encoding="utf-8")


def test_linux_only_features_are_used_only_behind_a_test() -> None:
    asking = {path for path, text in modules() if ONLY_LINUX.search(text) and not path.startswith(OF_A_NODE)}
    assert asking == set(WITH_ANOTHER_BRANCH)
    tests = (PROJECT / "tests" / "rehearsal" / "test_other_systems.py").read_text(encoding="utf-8")
    assert [name for name in WITH_ANOTHER_BRANCH.values() if f"def test_{name}(" not in tests] == []


@pytest.mark.checks
@pytest.mark.full
def test_no_module_calls_what_python_lacks_on_macos() -> None:
    asking = [path for path, text in modules() if SYSTEM.search(text)]
    assert "dra_fleet/rehearsal/simulator/processes.py" in asking
    program = Path(sys.executable).parent / "pyright"
    command = [str(program), "--pythonplatform", "Darwin", *asking]
    checked = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout
