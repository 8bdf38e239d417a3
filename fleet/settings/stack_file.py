"""Reads Pulumi.<stack>.yaml as the engine does, for commands that run without it.

The engine reads YAML 1.2: `on`, `no` and `12:30` are strings. Secrets beside the fleet stay untouched.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ruamel.yaml import YAML
from ruamel.yaml.constructor import DuplicateKeyError, SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from fleet.settings.errors import KEY, SettingsError, SettingsInvalid, choices, mistyped
from fleet.settings.parsing import parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from fleet.settings.fleet import FleetSettings


@dataclass(frozen=True, kw_only=True)
class StackFile:
    """A stack file: the stack's name and its fleet."""

    name: str
    settings: FleetSettings


class _TextDates(SafeConstructor):
    """Leaves dates as the text they are written as."""


# ruamel.yaml has no types.
_constructor: Any = _TextDates
_constructor.add_constructor("tag:yaml.org,2002:timestamp", _constructor.construct_yaml_str)


def read_stack_file(path: Path) -> StackFile:
    """Read and validate a stack file.

    Args:
        path: Pulumi.<stack>.yaml; the stack's name is taken from it.

    Raises:
        SettingsInvalid: The file is missing, is no YAML, holds no fleet, or the fleet is wrong.
    """
    return StackFile(name=stack_name(path), settings=parse(read_fleet(path)))


def stack_name(path: Path) -> str:
    """The stack's name: `dev` for Pulumi.dev.yaml, the stem of any other file."""
    return path.stem.removeprefix("Pulumi.")


def read_fleet(path: Path) -> Mapping[str, Any]:
    """The raw value of `dra-fleet:fleet` in a stack file.

    Raises:
        SettingsInvalid: The file is missing, is no YAML or holds no fleet.
    """
    return _fleet(_load(path), path)


def parse_fleet(text: str, path: Path) -> Mapping[str, Any]:
    """The raw value of `dra-fleet:fleet` in the text of a stack file.

    Args:
        text: What the file holds, or held at another time.
        path: What it is called in errors.

    Raises:
        SettingsInvalid: It is no YAML or holds no fleet.
    """
    return _fleet(_parse(text, path), path)


def _fleet(document: object, path: Path) -> Mapping[str, Any]:
    if not isinstance(document, dict):
        raise _invalid(
            path, "must be a mapping with the key config", fix=f"see examples/ for a stack file with {KEY}"
        )
    config = cast("dict[str, Any]", document).get("config")
    if not isinstance(config, dict):
        raise _invalid(path, "must have a mapping under the key config", fix=f"put {KEY} under config")
    values = cast("dict[str, Any]", config)
    if KEY not in values:
        names = [str(key) for key in values]
        raise _invalid(
            path, f"has no key {KEY} under config", allowed=choices(KEY, names), fix=mistyped(KEY, names)
        )
    fleet = values[KEY]
    if not isinstance(fleet, dict):
        raise SettingsInvalid([SettingsError(path=KEY, what="must be a mapping", got=str(fleet)[:80])])
    return cast("dict[str, Any]", fleet)


def _load(path: Path) -> object:
    try:
        return _parse(path.read_text(encoding="utf-8"), path)
    except FileNotFoundError:
        raise _invalid(path, "does not exist", fix="name a stack file, for example Pulumi.dev.yaml") from None
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise _invalid(path, "is no UTF-8 text") from None


def _parse(text: str, path: Path) -> object:
    yaml: Any = YAML(typ="safe", pure=True)
    yaml.Constructor = _constructor
    try:
        return cast("object", yaml.load(text))
    except DuplicateKeyError as error:
        raise _invalid(path, f"holds a key twice, {_where(error)}: {_problem(error)}") from None
    except MarkedYAMLError as error:
        raise _invalid(path, f"is no YAML, {_where(error)}: {_problem(error)}") from None
    except YAMLError as error:
        raise _invalid(path, f"is no YAML: {_first_line(str(error))}") from None


def _problem(error: Any) -> str:  # noqa: ANN401 - a MarkedYAMLError, whose attributes have no types
    return _first_line(error.problem)


def _where(error: Any) -> str:  # noqa: ANN401 - a MarkedYAMLError, whose attributes have no types
    mark = error.problem_mark or error.context_mark
    return f"line {mark.line + 1}, column {mark.column + 1}" if mark else "somewhere"


def _first_line(text: object) -> str:
    return str(text or "unreadable").strip().splitlines()[0]


def _invalid(path: Path, what: str, *, allowed: str = "", fix: str = "") -> SettingsInvalid:
    return SettingsInvalid([SettingsError(path=str(path), what=what, allowed=allowed, fix=fix)])
