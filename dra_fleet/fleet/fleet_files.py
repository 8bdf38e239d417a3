"""Files of a stack's fleet."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.findings.errors import SettingsInvalid
from dra_fleet.fleet.extending import EXTENDS
from dra_fleet.fleet.stack_file import as_written, named_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def fleet_files(path: Path) -> tuple[Path, ...]:
    """Return a stack file, and the readable files that it extends, for positions in them."""
    found: list[Path] = []
    file: Path | None = path
    while file is not None and file not in found and file.is_file():
        found.append(file)
        name = _below(file)
        file = None if name is None else named_file(path, name)
    return tuple(found) or (path,)


def _below(file: Path) -> str | None:
    try:
        fleet = as_written(file)
    except SettingsInvalid:
        return None  # it is reported where the fleet is read
    name = cast("Mapping[str, Any]", fleet).get(EXTENDS) if isinstance(fleet, dict) else fleet
    return name if isinstance(name, str) else None
