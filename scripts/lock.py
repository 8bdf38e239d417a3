"""Writes both locks again: what pip resolves the exact pins to, on this system, with all dependencies.

`requirements.lock` is what the program needs; `requirements-dev.lock`, what the development tools add to it.
`requirements.wheels` says of both which wheel each platform takes, which a test holds to be all.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

PROJECT = Path(__file__).resolve().parents[1]
PIP = (sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-")
LOCKS = (PROJECT / "requirements.lock", PROJECT / "requirements-dev.lock")
WHEELS = PROJECT / "requirements.wheels"
PLATFORMS = {
    "linux-x86_64": (
        *(f"manylinux_2_{minor}_x86_64" for minor in range(34, 4, -1)),
        "manylinux1_x86_64",  # the same as manylinux_2_5, to which pip does not translate it here
    ),
    "linux-aarch64": tuple(f"manylinux_2_{minor}_aarch64" for minor in range(34, 16, -1)),
    "macos-arm64": (
        *(f"macosx_{major}_0_{arch}" for major in range(14, 10, -1) for arch in ("arm64", "universal2")),
        "macosx_10_9_universal2",
    ),
}
"""The systems that the program runs on, each with the tags of wheels that it takes, newest first: glibc 2.34
and macOS 14. https://packaging.python.org/specifications/platform-compatibility-tags/"""
_NO_WHEEL = re.compile(r"No matching distribution found for (\S+)")


def main() -> None:
    """Ask the package index that pip uses, and write both files."""
    program = resolved("-r", "requirements.txt")
    write("requirements.lock", program)
    both = resolved("-r", "requirements.txt", "-r", "requirements-dev.txt", "-c", "requirements.lock")
    write("requirements-dev.lock", both - program)
    write_wheels()


def resolved(*arguments: str) -> set[tuple[str, str]]:
    """Name and version of all packages that would be installed."""
    done = subprocess.run([*PIP, *arguments], cwd=PROJECT, stdout=subprocess.PIPE, check=True)
    found = [item["metadata"] for item in json.loads(done.stdout)["install"]]
    return {(re.sub(r"[._-]+", "-", item["name"]).lower(), item["version"]) for item in found}


def locked(lock: Path) -> list[str]:
    """Return the entries of a lock, `package==version`."""
    return lock.read_text(encoding="utf-8").split()


def write_wheels() -> None:
    """Write which wheel each platform takes of each package of the locks."""
    entries = [entry for lock in LOCKS for entry in locked(lock)]
    by_platform = [taken(entries, tags) for tags in PLATFORMS.values()]
    lines = [f"# {' '.join(('package', *PLATFORMS))}, by `make lock`"]
    lines += [" ".join([entry, *(found[entry] for found in by_platform)]) for entry in sorted(entries)]
    WHEELS.write_text("\n".join([*lines, ""]), encoding="utf-8")


def taken(entries: Sequence[str], tags: Sequence[str]) -> dict[str, str]:
    """Return the tag of each package's wheel for a platform; `none` if pip would have to build one."""
    found = dict.fromkeys(entries, "none")
    asked, platforms = list(entries), [text for tag in tags for text in ("--platform", tag)]
    while True:
        only = ("--no-deps", "--only-binary", ":all:", "--target", "unused", *platforms)
        done = subprocess.run([*PIP, *only, *asked], capture_output=True, text=True, check=False)
        missing = _NO_WHEEL.findall(done.stderr)
        if done.returncode == 0:
            break
        if not missing:
            raise SystemExit(done.stderr)
        asked = [entry for entry in asked if entry not in missing]
    for item in json.loads(done.stdout)["install"]:
        name = re.sub(r"[._-]+", "-", item["metadata"]["name"]).lower()
        wheel = item["download_info"]["url"].rpartition("/")[2].removesuffix(".whl")
        found[f"{name}=={item['metadata']['version']}"] = wheel.rpartition("-")[2]
    return found


def write(name: str, packages: set[tuple[str, str]]) -> None:
    """Write a lock, sorted by name."""
    lines = [f"{package}=={version}\n" for package, version in sorted(packages)]
    (PROJECT / name).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
