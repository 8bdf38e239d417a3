from pathlib import Path

import pytest

from scripts import browser
from tests.skip_policy import ALLOWED_SKIPS


def program(folder: Path, name: str, code: int) -> str:
    """An executable that ends at once."""
    file = folder / name
    file.write_text(f"#!/bin/sh\nexit {code}\n", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with nothing on it but what the test puts there, beside a shell."""
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.delenv(browser.OVERRIDE, raising=False)
    return tmp_path


def test_a_browser_that_starts_is_found(alone: Path) -> None:
    path = program(alone, "chromium-browser", 0)
    assert browser.find_browser() == path


def test_a_package_that_is_only_a_hint_is_no_browser(alone: Path) -> None:
    program(alone, "chromium-browser", 1)
    assert browser.find_browser() is None


def test_a_variable_names_another_browser(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(alone, "chromium", 0)
    other = program(alone, "other", 0)
    monkeypatch.setenv(browser.OVERRIDE, other)
    assert browser.find_browser() == other


def test_without_apt_the_set_up_prints_the_fix_and_continues(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not list(alone.iterdir())
    assert browser.main() == 0
    assert capsys.readouterr().err == f"the page's browser tests will be skipped: {browser.ADVICE}\n"


def test_a_failed_install_prints_its_reason_and_continues(
    alone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program(alone, "apt-get", 100)
    monkeypatch.setattr(browser.os, "geteuid", lambda: 0)
    assert browser.main() == 0
    said = capsys.readouterr().err
    assert f"Chromium could not be installed: exit code 100; {browser.ADVICE}" in said


def test_another_user_installs_only_with_a_sudo_that_asks_nothing(
    alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browser.os, "geteuid", lambda: 1000)
    program(alone, "apt-get", 0)
    assert browser.installer() is None
    program(alone, "sudo", 1)
    assert browser.installer() is None
    program(alone, "sudo", 0)
    assert browser.installer() == ["sudo", "-n", "apt-get"]


def test_continuous_integration_does_not_allow_the_skip() -> None:
    assert not any("browser" in reason for reason in ALLOWED_SKIPS)
