"""Builds what people install."""

import subprocess
import sys
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]


def built(target: str, source: Path, folder: Path) -> Path:
    """The file that `hatchling build` makes of a source tree."""
    folder.mkdir(parents=True)
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=source, check=True, capture_output=True)
    (file,) = folder.iterdir()
    return file


def install(folder: Path, wheel: Path, *options: str, extra: str = "") -> Path:
    """Install a wheel, with an extra of it, into a new environment; gives the folder of its commands."""
    venv.create(folder, with_pip=True)
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, f"{wheel}[{extra}]" if extra else str(wheel), *options], check=True, cwd=folder)
    return folder / "bin"
