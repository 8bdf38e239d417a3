"""Writes the locks anew: what pip resolves the exact pins to, on this system, with all that they bring.

`requirements.lock` is what the program needs; `requirements-dev.lock`, what the development tools add to it;
`requirements-docs.lock`, what the documentation's site adds to both.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
NAMES = ("requirements", "requirements-dev", "requirements-docs")
"""Each is held by the locks before it."""
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-")


def main() -> None:
    """Ask the package index that pip uses, and write the files."""
    wanted, known = list[str](), set[tuple[str, str]]()
    for name in NAMES:
        wanted += ["-r", f"{name}.txt"]
        found = resolved(*wanted)
        write(f"{name}.lock", found - known)
        wanted += ["-c", f"{name}.lock"]
        known = found


def resolved(*arguments: str) -> set[tuple[str, str]]:
    """Name and version of all packages that would be installed."""
    done = subprocess.run([*PIP, *arguments], cwd=PROJECT, stdout=subprocess.PIPE, check=True)
    found = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    return {(re.sub(r"[._-]+", "-", item["name"]).lower(), item["version"]) for item in found}


def write(name: str, packages: set[tuple[str, str]]) -> None:
    """Write a lock, sorted by name."""
    lines = [f"{package}=={version}\n" for package, version in sorted(packages)]
    (PROJECT / name).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
