"""Parts of a cloud or a driver: each is a module of its folder and is loaded when it is first asked for."""

from __future__ import annotations

from importlib import import_module


class PartMissing(LookupError):  # noqa: N818 - it says what somebody has still to write
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
