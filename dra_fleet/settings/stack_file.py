"""Reads Pulumi.<stack>.yaml as the engine does, for commands that run without it.

The engine reads YAML 1.2: `on`, `no` and `12:30` are strings. Secrets beside the fleet stay untouched.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.findings.errors import KEY, SettingsError, SettingsInvalid, nearest
from dra_fleet.settings.parsing import parse
from dra_fleet.settings.schema_nodes import keys
from dra_fleet.settings.translate import shown
from dra_fleet.yaml_text import MAX_BYTES, Document, Place, Unreadable, read_documents

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.settings.fleet import FleetSettings

_FLEET = ("config", KEY)


@dataclass(frozen=True, kw_only=True)
class StackFile:
    """A stack file: the stack's name, its fleet, and the text's places."""

    name: str
    settings: FleetSettings
    document: Document = field(repr=False, compare=False)

    def located(self, invalid: SettingsInvalid) -> SettingsInvalid:
        """The same errors, each with the file, line and column of its value."""
        return _located(invalid, self.document)

    def at(self, path: str) -> str:
        """File, line and column of a path such as `dra-fleet:fleet.claims.one`, or of what is around it."""
        return _at(self.document, path)


def read_stack_file(path: Path) -> StackFile:
    """Read and validate a stack file.

    Args:
        path: Pulumi.<stack>.yaml; the stack's name is taken from it.

    Raises:
        SettingsInvalid: The file is missing, is no YAML, holds no fleet, or the fleet is wrong.
    """
    document = _load(path)
    fleet = _fleet(document, path)
    try:
        settings = parse(fleet)
    except SettingsInvalid as invalid:
        raise _located(invalid, document) from None
    return StackFile(name=stack_name(path), settings=settings, document=document)


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
    return _fleet(_parse(text.encode(), path), path)


def _fleet(document: Document, path: Path) -> Mapping[str, Any]:
    content = document.value
    if content is None:
        raise _invalid(path, "is empty", fix=f"see examples/ for a stack file with {KEY}")
    if not isinstance(content, dict):
        raise _invalid(
            path, "must be a mapping with the key config", fix=f"see examples/ for a stack file with {KEY}"
        )
    config = cast("dict[str, Any]", content).get("config")
    if not isinstance(config, dict):
        raise _invalid(path, "must have a mapping under the key config", fix=f"put {KEY} under config")
    values = cast("dict[str, Any]", config)
    if KEY not in values:
        near = nearest(KEY, [str(key) for key in values])
        at = document.place(("config", near[0])) if near else None
        fix = f"write {KEY} instead of {near[0]}" if near else f"put {KEY} under config, as examples/ do"
        raise _invalid(path, f"has no key {KEY} under config", place=at, fix=fix)
    fleet = values[KEY]
    if not isinstance(fleet, dict):
        raise SettingsInvalid(
            [
                SettingsError(
                    path=KEY,
                    what="must be a mapping",
                    got=shown(fleet),
                    allowed=f"a mapping with the keys {', '.join(keys((), {}))}",
                    at=_at(document, KEY),
                )
            ]
        )
    return cast("dict[str, Any]", fleet)


def _load(path: Path) -> Document:
    try:
        with path.open("rb") as file:
            return _parse(file.read(MAX_BYTES + 1), path)
    except FileNotFoundError:
        raise _invalid(path, "does not exist", fix="name a stack file, for example Pulumi.dev.yaml") from None
    except OSError as error:
        raise _invalid(path, f"cannot be read: {error.strerror}") from None


def _parse(data: bytes, path: Path) -> Document:
    try:
        documents = read_documents(str(path), data)
    except Unreadable as error:
        raise _invalid(path, error.what, place=error.place, fix=error.fix) from None
    if len(documents) > 1:
        raise _invalid(
            path,
            "is a second document, and a stack file is one",
            place=documents[1].place(()),
            fix="put each stack into a file of its own",
        )
    return documents[0] if documents else Document(file=str(path), value=None, places={})


def _located(invalid: SettingsInvalid, document: Document) -> SettingsInvalid:
    return SettingsInvalid(
        error if error.at or not error.path.startswith(KEY) else replace(error, at=_at(document, error.path))
        for error in invalid.errors
    )


def _at(document: Document, path: str) -> str:
    place = document.place(document.path(_FLEET, path.removeprefix(KEY)))
    return f"{document.file}:{place.line}:{place.column}"


def _invalid(path: Path, what: str, *, place: Place | None = None, fix: str = "") -> SettingsInvalid:
    where = f"{path}:{place.line}:{place.column}" if place is not None else str(path)
    return SettingsInvalid([SettingsError(path=where, what=what, fix=fix)])
