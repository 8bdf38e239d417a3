"""Parts of a cloud or a driver: modules and data files of its folder, each loaded on first use."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dra_fleet.facts.loading import read
from dra_fleet.findings.expected import ExpectedError

if TYPE_CHECKING:
    from collections.abc import Mapping


class PartMissing(ExpectedError):  # noqa: N818 - it says what somebody has still to write
    """A cloud or a driver lacks a part that was asked for; the message names it and the file to write."""


def part(of: str, module: str, constant: str) -> object:
    """What a module of a cloud's or a driver's folder holds.

    Args:
        of: whose part it is and which, for messages, such as "cloud aks has no settings".
        module: the module's full name.
        constant: its name there.

    Raises:
        PartMissing: there is no such module, or it holds no such name.
    """
    write = f"{of}: write {module.replace('.', '/')}.py with {constant}"
    try:
        found = import_module(module)
    except ModuleNotFoundError as missing:
        if missing.name is None or not f"{module}.".startswith(f"{missing.name}."):
            raise
        raise PartMissing(write) from None
    if not hasattr(found, constant):
        raise PartMissing(write)
    return getattr(found, constant)


def data(of: str, package: str, name: str) -> Mapping[str, Any]:
    """What a data file of a cloud's or a driver's folder holds.

    Args:
        of: whose part it is and which, for messages, such as "cloud aks has no machines".
        package: the folder's package.
        name: the file's name.

    Raises:
        PartMissing: there is no such file.
    """
    try:
        return read(package, name)
    except FileNotFoundError:
        raise PartMissing(f"{of}: write {package.replace('.', '/')}/{name}") from None
