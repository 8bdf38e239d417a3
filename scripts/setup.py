"""Makes .venv with everything the project needs, with uv where it is installed, else with venv and pip.

Done once: a stamp in .venv says for which requirements and which Python it was made. Writes nothing else.
Standard library only, because it runs before anything is installed.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator

PROJECT = Path(__file__).resolve().parents[1]
ENVIRONMENT = PROJECT / ".venv"
STAMP = ENVIRONMENT / "made-for"
UNFINISHED = ENVIRONMENT / "unfinished"
LOG = ENVIRONMENT / "setup.log"
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt", "requirements-docs.txt")
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-docs.lock")
INPUTS = (*REQUIREMENTS, *LOCKS, "pyproject.toml", "scripts/setup.py")
OLDEST = (3, 11)
"""The oldest Python that the project runs on (`requires-python` of pyproject.toml)."""
LAST_LINES = 15
LINE_WIDTH = 78


class SetupError(Exception):
    """The set-up cannot go on; the message says why and what to do."""


def main() -> int:
    """Make the environment unless it is there already; return the exit code."""
    if sys.version_info[:2] < OLDEST:
        found, needed = (".".join(map(str, version)) for version in (sys.version_info[:3], OLDEST))
        _say(f"Python {needed} or newer is needed (found: {found}); fix: run `make setup`, which finds one")
        return 1
    try:
        with _alone():
            requested = fingerprint()
            if not _stamped(requested):
                _make(requested)
    except SetupError as error:
        _say(str(error))
        return 1
    except OSError as error:
        _say(f"set-up failed: {error}; {ENVIRONMENT} must be yours to write, on a disk with 3 GiB free")
        return 1
    except KeyboardInterrupt:
        _say("set-up interrupted; the next run begins again")
        return 130
    return 0


def fingerprint() -> str:
    """Return a hash over all inputs of the environment."""
    digest = hashlib.sha256(f"{sys.version}\0{PROJECT}\0".encode())
    for name in INPUTS:
        digest.update(hashlib.sha256((PROJECT / name).read_bytes()).digest())
    return digest.hexdigest()


def _stamped(requested: str) -> bool:
    return STAMP.is_file() and STAMP.read_text(encoding="utf-8") == requested and not UNFINISHED.exists()


@contextmanager
def _alone() -> Generator[None]:
    """Hold a lock on this very file: no file is written for it.

    Installers inherit it, so one that outlives a killed set-up is waited for too.
    """
    with Path(__file__).open(encoding="utf-8") as lock:
        os.set_inheritable(lock.fileno(), True)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            _say("another set-up is running; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _make(requested: str) -> None:
    uv = shutil.which("uv")
    began = time.monotonic()
    version = ".".join(map(str, sys.version_info[:3]))
    _say(f"setting up .venv with Python {version} and {'uv' if uv else 'pip'} (once)")
    if UNFINISHED.exists() or not _same_python():
        shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    ENVIRONMENT.mkdir(exist_ok=True)
    UNFINISHED.touch()
    LOG.unlink(missing_ok=True)
    _install(uv)
    STAMP.write_text(requested, encoding="utf-8")
    UNFINISHED.unlink()
    _say(f"set-up done in {time.monotonic() - began:.0f} s")


def _same_python() -> bool:
    library = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return (ENVIRONMENT / "lib" / library).is_dir() and (ENVIRONMENT / "bin" / "python").exists()


def _install(uv: str | None) -> None:
    python = str(ENVIRONMENT / "bin" / "python")
    if uv:
        # With pip: the engine's language host asks `python -m pip list` which plugins the program needs.
        make = [uv, "venv", "--quiet", "--seed", "--allow-existing", "--python", sys.executable]
        create = [*make, str(ENVIRONMENT)]
        install = [uv, "pip", "install", "--python", python]
    else:
        create = [sys.executable, "-m", "venv", str(ENVIRONMENT)]
        pip = [python, "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
        install = [*pip, "--no-compile"]  # what is imported is compiled then; the cloud SDKs are huge
    _run(create, "if venv is missing, install your system's python3-venv package, or uv")
    advice = (
        "check the network and the package index that pip uses (PIP_INDEX_URL, or UV_DEFAULT_INDEX for uv)"
    )
    requested = [word for name in REQUIREMENTS for word in ("-r", name)]
    constraints = [word for name in LOCKS for word in ("-c", name)]
    _run([*install, *requested, *constraints], advice)
    # The project itself, with the build tool just installed: no second, unpinned download.
    _run([*install, "--no-deps", "--no-build-isolation", "-e", "."], advice)


def _run(command: list[str], advice: str) -> None:
    """Run a command in the project; write its output to the log, and the last line to a terminal."""
    with LOG.open("a", encoding="utf-8") as log:
        log.write(f"$ {' '.join(command)}\n")
        with subprocess.Popen(
            command,
            cwd=PROJECT,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                log.write(line)
                _show(line.strip())
    _show("")
    if process.returncode:
        last = LOG.read_text(encoding="utf-8").splitlines()[-LAST_LINES:]
        raise SetupError("\n".join([*last, f"set-up failed, see {LOG}; {advice}"]))


def _show(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{line[:LINE_WIDTH]}")
        sys.stderr.flush()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
