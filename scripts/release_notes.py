"""Prints what CHANGELOG.md says of a version, which its release publishes: `scripts/release_notes.py 0.1.0`.

Standard library only, because it runs before anything is installed.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

CHANGELOG = Path(__file__).resolve().parents[1] / "CHANGELOG.md"


def notes(text: str, version: str) -> str:
    """Return the section of a version.

    Raises:
        SystemExit: there is none, it has no date, or it is empty.
    """
    heading = f"## {version} - YEAR-MONTH-DAY"
    found = re.search(
        rf"^## {re.escape(version)} - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    if found is None:
        sys.exit(f"CHANGELOG.md has no section {heading!r}; add it above its changes")
    if not found[1].strip():
        sys.exit(f"CHANGELOG.md has no text for {version}; write its changes below {heading!r}")
    return found[1].strip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(notes(CHANGELOG.read_text(encoding="utf-8"), sys.argv[1]))
