import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from scripts.setup import OLDEST
from tests.package.building import PROJECT, built

SETUP = PROJECT / "scripts" / "setup.sh"
NEEDED = "Python 3.11 or newer is needed"
OLD = """\
#!/bin/sh
case $1 in --version) echo "Python 3.10.13" ;; *) exit 1 ;; esac
"""
"""Answers of an old Python: its version, and whether it is new enough."""
AS_OLD = f"""
import runpy, sys
sys.version_info = (3, 10, 13, "final", 0)
runpy.run_path({str(SETUP.with_suffix(".py"))!r}, run_name="__main__")
"""


@pytest.mark.slow
def test_pip_refuses_the_wheel_for_an_older_python(tmp_path: Path) -> None:
    wheel = built("wheel", PROJECT, tmp_path / "wheel")
    pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-index", "--no-deps"]
    older = ["--only-binary=:all:", "--python-version", "3.10", "--dest", str(tmp_path / "got")]
    done = subprocess.run([*pip, *older, str(wheel)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        "ERROR: Package 'dra-fleet' requires a different Python: 3.10.0 not in '>=3.11'\n",
    )
    assert list((tmp_path / "got").iterdir()) == []


def test_the_set_up_and_the_package_ask_for_the_same_python() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == f">={OLDEST[0]}.{OLDEST[1]}"
    assert f"sys.version_info < ({OLDEST[0]}, {OLDEST[1]})" in SETUP.read_text(encoding="utf-8")


def test_make_names_the_python_that_it_found_and_the_one_it_needs(tmp_path: Path) -> None:
    for name in ("python3", "python"):
        (tmp_path / name).write_text(OLD, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    for name in ("sh", "dirname"):
        (tmp_path / name).symlink_to(shutil.which(name) or name)
    done = subprocess.run([SETUP], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        f"{NEEDED} (found: Python 3.10.13); install it, or name it: make PYTHON=/path/to/python3.11\n",
    )


def test_the_set_up_that_an_older_python_is_given_leaves_the_environment_alone() -> None:
    environment = PROJECT / ".venv"
    before = environment.stat()
    done = subprocess.run([sys.executable, "-c", AS_OLD], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (
        1,
        f"{NEEDED} (found: 3.10.13); fix: run `make setup`, which finds one\n",
    )
    after = environment.stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
