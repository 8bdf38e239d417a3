"""Finds the system's Chromium, which the tests of the review's page drive; installs it with apt where it may.

`python scripts/browser.py` installs it as root, or with a sudo that requests no password. Elsewhere it says
what to do, and those tests are skipped with a reason. It never fails: a page can be tested without a browser
in all but what a browser shows. Standard library only.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
OVERRIDE = "DRA_FLEET_CHROMIUM"
"""A variable that names another executable."""
ADVICE = f"install Chromium (apt-get install chromium), or name one in {OVERRIDE}"
_MINUTES = 10


def find_browser() -> str | None:
    """Return the path of a Chromium that starts; None without one."""
    names = (os.environ[OVERRIDE],) if os.environ.get(OVERRIDE) else NAMES
    found = (shutil.which(name) for name in names)
    return next((path for path in found if path and _starts(path)), None)


def main() -> int:
    """Install Chromium unless it is there."""
    if find_browser():
        return 0
    command = installer()
    if command is None:
        _say(f"the page's browser tests will be skipped: {ADVICE}")
        return 0
    _say("installing Chromium with apt for the page's browser tests (once)")
    problem = _run([*command, "update", "-q"]) or _run(
        [*command, "install", "-y", "-q", "--no-install-recommends", "chromium"]
    )
    if problem or not find_browser():
        _say(f"Chromium could not be installed: {problem or 'it does not start'}; {ADVICE}")
    return 0


def installer() -> list[str] | None:
    """Return the command of apt that may be run here, if any."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return ["apt-get"]
    if shutil.which("sudo") and not _run(["sudo", "-n", "true"]):
        return ["sudo", "-n", "apt-get"]
    return None


def _starts(path: str) -> bool:
    """Return whether it is a browser: in a container Ubuntu's package only says that it wants a snap."""
    return not _run([path, "--version"])


def _run(command: list[str]) -> str:
    """Run a command; what went wrong, empty for nothing."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=60 * _MINUTES,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = (done.stderr or done.stdout).strip().splitlines()
    return (said[-1] if said else f"exit code {done.returncode}") if done.returncode else ""


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
