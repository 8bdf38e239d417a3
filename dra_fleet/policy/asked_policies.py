"""Policies that a stack adds to this pack's rules: a team's custom rules and exemptions.

The stack's configuration names both under one key, in any Pulumi project, as the engine hands it to the pack:
`dra-fleet:policies: {rules: ./rules, exemptions: exemptions.yaml}`. Paths are from the project's folder.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.places import PROJECT_FILE
from dra_fleet.core.yaml_text import MAX_BYTES, Unreadable, read_documents

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

KEY: Final = "dra-fleet:policies"
_FORM: Final = "{rules: ./rules, exemptions: exemptions.yaml}, both optional"


class PoliciesError(ExpectedError):
    """The policies of a stack cannot be read."""


class AskedPolicies(Struct, frozen=True, kw_only=True):
    """Rules and exemptions by absolute path; None if not set."""

    rules: Path | None = None
    exemptions: Path | None = None

    def or_else(self, other: AskedPolicies) -> AskedPolicies:
        """Return these policies, with `other` as the default for each path that is not set."""
        return AskedPolicies(rules=self.rules or other.rules, exemptions=self.exemptions or other.exemptions)

    @property
    def paths(self) -> tuple[Path, ...]:
        """All paths that are set."""
        return tuple(path for path in (self.rules, self.exemptions) if path is not None)

    @property
    def options(self) -> tuple[str, ...]:
        """The same as options of a command, and of the pack."""
        given = (("--rules", self.rules), ("--exemptions", self.exemptions))
        return tuple(text for name, path in given if path is not None for text in (name, str(path)))


NOTHING: Final = AskedPolicies()


def given(rules: Path | None, exemptions: Path | None) -> AskedPolicies:
    """Build the policies from a command's options; paths are relative to the working directory."""
    return AskedPolicies(
        rules=rules.absolute() if rules else None, exemptions=exemptions.absolute() if exemptions else None
    )


def asked_by_config(text: str, directory: Path) -> AskedPolicies:
    """Parse the policies in a stack's configuration.

    Args:
        text: the value of the key, JSON as the engine hands it over; empty for none.
        directory: where the engine runs the program.

    Raises:
        PoliciesError: it is something else.
    """
    if not text:
        return NOTHING
    try:
        value: object = json.loads(text)
    except ValueError:
        value = text
    return _asked(value, _project(directory), KEY)


def asked_by_project(directory: Path, stack: str) -> AskedPolicies:
    """Read the policies of a stack file, or of the project file if the stack file names none.

    Args:
        directory: the project's folder.
        stack: the stack's name; an organisation may stand before it.

    Raises:
        PoliciesError: one of the files cannot be read, or requests something else.
    """
    return asked_by_file(_project(directory) / f"Pulumi.{stack.rpartition('/')[2]}.yaml")


def asked_by_file(file: Path) -> AskedPolicies:
    """Read the policies of a stack file, or of the project file if the stack file names none.

    Args:
        file: the stack file, in the project's folder or below it.

    Raises:
        PoliciesError: one of the files cannot be read, or requests something else.
    """
    folder = _project(file.parent)
    own, shared = _content(file), _content(folder / PROJECT_FILE)
    main = folder / str(shared.get("main", ""))
    program = _project(main if main.is_dir() else main.parent)
    for name, content in ((file.name, own), (PROJECT_FILE, shared)):
        config = _mapping(content.get("config"))
        if KEY in config:
            value = config[KEY]
            whole = content is shared and "value" in _mapping(value)
            return _asked(_mapping(value)["value"] if whole else value, program, f"{name}: {KEY}")
    return NOTHING


def _project(directory: Path) -> Path:
    folders = (directory, *directory.parents)
    return next((folder for folder in folders if (folder / PROJECT_FILE).is_file()), directory).resolve()


def _content(file: Path) -> Mapping[str, Any]:
    if not file.is_file():
        return {}
    try:
        with file.open("rb") as opened:
            documents = read_documents(str(file), opened.read(MAX_BYTES + 1))
    except (OSError, Unreadable) as problem:
        raise PoliciesError(f"{file}: cannot be read: {problem}") from None
    return _mapping(documents[0].value) if documents else {}


def _mapping(value: object) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _asked(value: object, folder: Path, where: str) -> AskedPolicies:
    given = cast("Mapping[str, object]", value) if isinstance(value, dict) else {"": value}
    for name, path in given.items():
        if name not in ("rules", "exemptions") or not isinstance(path, str) or not path:
            raise PoliciesError(f"{where}: is {json.dumps(value, default=str)}; allowed: {_FORM}")
    paths = {name: folder / str(path) for name, path in given.items()}
    return AskedPolicies(rules=paths.get("rules"), exemptions=paths.get("exemptions"))
