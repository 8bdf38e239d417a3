"""Which code a world runs, so that one started before an update is noticed and replaced."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from dra_fleet.core.facts import own_file
from dra_fleet.core.places import ROOT

if TYPE_CHECKING:
    from pathlib import Path

ROOMS = ("dra_fleet",)
"""What the world's process imports and reads."""
KINDS = frozenset({".py", ".tpl", ".yaml"})


def code_digest(project: Path = ROOT) -> str:
    """A digest of all files that the world's process uses: places, names, sizes, times of change.

    Of a catalogue of one's own, its content: a world that knows another is replaced.
    """
    digest = hashlib.sha256(str(project).encode())
    catalogue = own_file()
    if catalogue is not None and catalogue.is_file():
        digest.update(catalogue.read_bytes())
    for room in ROOMS:
        for path in sorted((project / room).rglob("*")):
            if path.suffix in KINDS:
                status = path.stat()
                digest.update(f"{path}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    return digest.hexdigest()
