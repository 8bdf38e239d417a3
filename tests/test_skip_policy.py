import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import skip_policy

pytestmark = pytest.mark.slow

ALLOWED = min(skip_policy.ALLOWED_SKIPS)
SUITE = f"""
import pytest

def test_allowed():
    pytest.skip({ALLOWED!r})

def test_unexpected():
    pytest.skip("it is raining")

@pytest.mark.xfail(reason="known", strict=True)
def test_known():
    assert False
"""


def outcome(folder: Path, ci: str, *options: str) -> str:
    shutil.copy(skip_policy.__file__, folder / "conftest.py")
    (folder / "test_suite.py").write_text(SUITE, encoding="utf-8")
    (folder / "test_module.py").write_text(
        "import pytest\npytest.skip('no module', allow_module_level=True)\n", encoding="utf-8"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", *options]
    command += ["--continue-on-collection-errors", str(folder)]
    environment = {**os.environ, "CI": ci}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    ).stdout


def test_a_skip_for_an_unlisted_reason_fails_in_continuous_integration(tmp_path: Path) -> None:
    output = outcome(tmp_path, "true")
    assert "Skipped: it is raining' is not a reason that tests/skip_policy.py allows a skip for" in output
    assert "Skipped: no module' is not a reason that tests/skip_policy.py allows a skip for" in output


def test_a_worker_refuses_it_too(tmp_path: Path) -> None:
    output = outcome(tmp_path, "true", "-n", "1")
    assert "Skipped: it is raining' is not a reason that tests/skip_policy.py allows a skip for" in output
    assert "Skipped: no module' is not a reason that tests/skip_policy.py allows a skip for" in output
    assert "1 failed, 1 skipped, 1 xfailed, 1 error" in output.splitlines()[-1]


@pytest.mark.parametrize(
    ("ci", "counts"), [("true", ("1 failed", "1 skipped", "1 xfailed", "1 error")), ("", ("3 skipped",))]
)
def test_listed_reasons_and_expected_failures_pass(tmp_path: Path, ci: str, counts: tuple[str, ...]) -> None:
    summary = outcome(tmp_path, ci).splitlines()[-1]
    for count in counts:
        assert count in summary
