"""What of a stack file goes: each old way of writing something, and the new one, in one table.

A version that brings a new way still reads the old one and warns about it; the next version reads the new one
alone. `dra-fleet migrate` writes the new one. So a stack file of one version works with the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, cast

from dra_fleet import drivers
from dra_fleet.core.findings.errors import KEY

ANY: Final = "*"
"""In a path: whatever names the user has chosen."""
_Found = tuple[MutableMapping[str, Any], str, str]


@dataclass(frozen=True, kw_only=True)
class Going:
    """One old way.

    Attributes:
        at: The path of keys below `config`.
        old: Whether a key and its value there are the old way.
        instead: The new way, for people.
        new: The new way's key and value, from the old key and value.
        read_until: The last version that reads the old way.
    """

    at: tuple[str, ...]
    old: Callable[[str, object], bool]
    instead: str
    new: Callable[[str, object], tuple[str, object]]
    read_until: str


GOING: Final[tuple[Going, ...]] = (
    Going(
        at=(KEY,),
        old=lambda _, value: isinstance(value, str) and value.endswith((".yaml", ".yml")),
        instead="the file's name below it: extends: FILE",
        new=lambda key, value: (key, {"extends": value}),
        read_until="0.1",
    ),
    Going(
        at=(KEY, "clusters", ANY, "drivers", ANY),
        old=lambda key, _: _renamed(key) is not None,
        instead="the driver's new name (dra-fleet drivers)",
        new=lambda key, value: (_renamed(key) or key, value),
        read_until="0.1",
    ),
    Going(
        at=(KEY, "classes", ANY, "driver"),
        old=lambda _, value: _renamed(value) is not None,
        instead="the driver's new name (dra-fleet drivers)",
        new=lambda key, value: (key, _renamed(value)),
        read_until="0.1",
    ),
)


def _renamed(name: object) -> str | None:
    """What a driver is called that was called so before."""
    if not isinstance(name, str) or name in drivers.BUILT_IN:
        return None
    return next((driver.name for driver in drivers.known() if name in driver.formerly), None)


def warnings(config: Mapping[str, Any], where: str = "", rows: tuple[Going, ...] = GOING) -> tuple[str, ...]:
    """A sentence for each old way in the configuration of a stack.

    Args:
        config: What stands below `config`.
        where: The file that `dra-fleet migrate` is to be given.
        rows: What goes.
    """
    return tuple(
        f"{path}: this way of writing it goes with the version after {row.read_until}; "
        f"write {row.instead}; fix: dra-fleet migrate {where}".rstrip()
        for row in rows
        for _, _, path in _found(config, row)
    )


def migrate(config: MutableMapping[str, Any], rows: tuple[Going, ...] = GOING) -> list[str]:
    """Write the new way for each old one, in its place; what was changed.

    Args:
        config: What stands below `config`. Where it keeps comments, they stay where they are.
        rows: What goes.
    """
    changed: list[str] = []
    for row in rows:
        for parent, key, path in list(_found(config, row)):
            _replace(parent, key, *row.new(key, parent[key]))
            changed.append(f"{path}: {row.instead}")
    return changed


def _found(config: Mapping[str, Any], row: Going) -> Iterator[_Found]:
    yield from (item for item in _at(config, row.at, "") if row.old(item[1], item[0][item[1]]))


def _at(here: object, at: tuple[str, ...], path: str) -> Iterator[_Found]:
    if not isinstance(here, Mapping):
        return
    mapping = cast("MutableMapping[str, Any]", here)
    for key in list(mapping) if at[0] == ANY else [name for name in at[:1] if name in mapping]:
        below = f"{path}.{key}" if path else key
        if len(at) == 1:
            yield mapping, key, below
        else:
            yield from _at(mapping[key], at[1:], below)


def _replace(parent: MutableMapping[str, Any], key: str, new_key: str, value: object) -> None:
    """Put a key and value into another's place; a mapping with comments keeps those of the key."""
    if key == new_key:
        parent[key] = value
        return
    comments: dict[str, Any] = parent.ca.items if hasattr(parent, "ca") else {}  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType] - ruamel's
    items = [(new_key, value) if name == key else (name, held) for name, held in parent.items()]
    kept = {new_key if name == key else name: comment for name, comment in comments.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    for name in list(parent):
        del parent[name]
    for name, held in items:
        parent[name] = held
    comments.clear()  # pyright: ignore[reportUnknownMemberType]
    comments |= kept  # pyright: ignore[reportUnknownVariableType]
