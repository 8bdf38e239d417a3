"""Read Pulumi.<stack>.yaml and the files that it extends, as the engine does.

The engine reads YAML 1.2: `on`, `no` and `12:30` are strings. Secrets beside the fleet stay untouched. The
fleet may extend other files of the same form.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.core.findings.errors import KEY, SettingsError, SettingsInvalid, nearest, shown, under
from dra_fleet.core.places import PROJECT_FILE, stack_name
from dra_fleet.core.yaml_text import MAX_BYTES, Document, Place, Unreadable, read_documents
from dra_fleet.fleet.parsing import parse
from dra_fleet.fleet.schema import keys

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from dra_fleet.core.yaml_text import Path as ValuePath
    from dra_fleet.fleet.settings import FleetSettings


# How long the variable is in which the engine hands a program its fleet.
#
# The engine hands a program its configuration in one variable of the environment (`pulumiConfigVar` of
# https://github.com/pulumi/pulumi/blob/sdk/v3.79.0/sdk/python/cmd/pulumi-language-python/main.go), and Linux
# starts no program with one above MAX_ARG_STRLEN: https://man7.org/linux/man-pages/man2/execve.2.html.

LONGEST_VARIABLE: Final = 128 * 1024
"""Bytes of a variable of the environment, its name and final zero included."""

_GO: Final = {ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&"}


def too_long(stack: str, size: int, at: str) -> SettingsError | None:
    """Return the error of a fleet that is too long for an engine to start the program.

    Args:
        stack: The stack's name.
        size: The bytes of the variable.
        at: The fleet's position.
    """
    if size <= LONGEST_VARIABLE:
        return None
    named = f"fleets/{stack}.yaml"
    return SettingsError(
        path=KEY,
        what=f"takes {size} bytes of the variable in which the engine hands it to the program, and Linux "
        f'allows {LONGEST_VARIABLE}: a preview ends with "argument list too long"',
        at=at,
        fix=f"move the fleet into a file {named}, the keys config and {KEY} above it included, and "
        f"extend that in the stack file: {KEY}: {{extends: {named}}}",
    )


_MODEL: Final = "dra-fleet init FOLDER makes stack files to begin with"


class StackFile(Struct, frozen=True, kw_only=True):
    """A stack file: the stack's name, its fleet, and the text's places."""

    name: str
    settings: FleetSettings
    document: Document
    handed_over: int
    """Bytes of the variable in which the engine hands the fleet to a program."""

    @property
    def too_long(self) -> SettingsError | None:
        """Error of a fleet that is too long for an engine to start the program."""
        return too_long(self.name, self.handed_over, self.at(KEY))

    def located(self, invalid: SettingsInvalid) -> SettingsInvalid:
        """Return the same errors, each with the file, line and column of its value."""
        return _located(invalid, self.document)

    def at(self, path: str) -> str:
        """File, line and column of a path such as `dra-fleet:fleet.claims.one`, or of what is around it."""
        return _at(self.document, path)


def read_stack_file(path: Path) -> StackFile:
    """Read and validate a stack file.

    Args:
        path: Pulumi.<stack>.yaml; the stack's name is taken from it.

    Raises:
        SettingsInvalid: The file is missing, is not valid YAML, holds no fleet, or the fleet is wrong.
    """
    written = _load(path)
    handed_over = variable_bytes(_value(written, path))
    layer = _fleet(written, path, _load)
    return StackFile(
        name=stack_name(path), settings=parsed(layer), document=layer.document, handed_over=handed_over
    )


def as_written(path: Path) -> object:
    """Return the value of `dra-fleet:fleet` in a file itself.

    Raises:
        SettingsInvalid: The file is missing, is not valid YAML or holds no fleet.
    """
    return _value(_load(path), path)


def read_fleet(path: Path) -> Mapping[str, Any]:
    """Return the raw value of `dra-fleet:fleet` in a stack file.

    Raises:
        SettingsInvalid: The file is missing, is not valid YAML or holds no fleet.
    """
    return read_written(path).fleet


class Written(NamedTuple):
    """A raw fleet, and its documents, an extending document before the extended one."""

    fleet: Mapping[str, Any]
    documents: tuple[Document, ...]


def read_written(path: Path) -> Written:
    """Return the raw value of `dra-fleet:fleet` in a stack file, and its documents.

    Raises:
        SettingsInvalid: The file is missing, is not valid YAML or holds no fleet.
    """
    documents: list[Document] = []

    def load(file: Path) -> Document:
        documents.append(_load(file))
        return documents[-1]

    return Written(_fleet(load(path), path, load).fleet, tuple(documents))


def fleet_at(path: Path, text: Callable[[Path], str | None]) -> Mapping[str, Any]:
    """Return the raw value of `dra-fleet:fleet` in a stack file at an earlier time.

    Args:
        path: The stack file.
        text: A file's content then; None if the file did not exist.

    Raises:
        SettingsInvalid: The file was missing, is not valid YAML or holds no fleet.
    """

    def load(file: Path) -> Document:
        content = text(file)
        if content is None:
            raise _missing(file)
        return _parse(content.encode(), file)

    return _fleet(load(path), path, load).fleet


def settled(fleet: object, folder: Path) -> Layer:
    """Return the engine's fleet merged with the files that it extends, migrated to the newest format.

    Args:
        fleet: The engine's value, which does not name its file.
        folder: The project's folder.

    Raises:
        SettingsInvalid: It is not a fleet, or a file that it extends is missing or wrong.
    """
    document = Document(file="", value={FLEET[0]: {FLEET[1]: fleet}}, places={})
    return extended(_of(document, folder), lambda name: _layer(folder / name, _load))


def parsed(layer: Layer) -> FleetSettings:
    """Return the settings of a fleet.

    Raises:
        SettingsInvalid: It is wrong; each error with the file, line and column of its value.
    """
    try:
        return parse(layer.fleet)
    except SettingsInvalid as invalid:
        raise _located(invalid, layer.document) from None


def named_file(path: Path, name: str) -> Path:
    """Return the path of a file that a stack file names, relative to the project's folder.

    Args:
        path: The stack file; without a project above it, its own folder counts.
        name: The name of the file.
    """
    folders = path.resolve().parents
    return next((folder for folder in folders if (folder / PROJECT_FILE).is_file()), folders[0]) / name


def _fleet(document: Document, path: Path, load: Callable[[Path], Document]) -> Layer:
    """Return the whole fleet of a stack file, and its documents as one."""
    return extended(_of(document, path), lambda name: _layer(named_file(path, name), load))


def _layer(path: Path, load: Callable[[Path], Document]) -> Layer | None:
    """Return the layer of a file that a fleet extends; None if the file does not exist."""
    try:
        document = load(path)
    except _MissingFile:
        return None
    return _of(document, path)


def _of(document: Document, path: Path) -> Layer:
    """Return the fleet of a document."""
    fleet = _value(document, path)
    if isinstance(fleet, dict):
        return Layer(document=document, fleet=cast("dict[str, Any]", fleet))
    error = SettingsError(
        path=KEY,
        what="must be a mapping",
        got=shown(fleet),
        allowed=f"a mapping with the keys {', '.join(keys((), {}))}",
        at=_at(document, KEY),
    )
    raise SettingsInvalid([error])


def _value(document: Document, path: Path) -> object:
    content = document.value
    if content is None:
        raise _invalid(path, "is empty", fix=f"write a fleet under config, {KEY}; {_MODEL}")
    if not isinstance(content, dict):
        raise _invalid(
            path, "must be a mapping with the key config", fix=f"write a fleet under config, {KEY}; {_MODEL}"
        )
    config = cast("dict[str, Any]", content).get("config")
    if not isinstance(config, dict):
        raise _invalid(path, "must have a mapping under the key config", fix=f"put {KEY} under config")
    values = cast("dict[str, Any]", config)
    if KEY not in values:
        near = nearest(KEY, [str(key) for key in values])
        at = document.place(("config", near[0])) if near else None
        fix = f"write {KEY} instead of {near[0]}" if near else f"put {KEY} under config; {_MODEL}"
        raise _invalid(path, f"has no key {KEY} under config", place=at, fix=fix)
    return values[KEY]


def _load(path: Path) -> Document:
    try:
        with path.open("rb") as file:
            return _parse(file.read(MAX_BYTES + 1), path)
    except FileNotFoundError:
        raise _missing(path) from None
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
            fix="put each stack into a separate file",
        )
    return documents[0] if documents else Document(file=str(path), value=None, places={})


def _located(invalid: SettingsInvalid, document: Document) -> SettingsInvalid:
    return SettingsInvalid(
        error if error.at or not error.path.startswith(KEY) else replace(error, at=_at(document, error.path))
        for error in invalid.errors
    )


def _at(document: Document, path: str) -> str:
    found = document.path(FLEET, path.removeprefix(KEY))
    place = document.place(found)
    file = place.file or document.file
    if not document.file and found not in document.places:
        return ""  # it is in the engine's value, or nowhere
    return f"{file}:{place.line}:{place.column}"


class _MissingFile(SettingsInvalid):
    """A file is not there."""


def _missing(path: Path) -> _MissingFile:
    return _MissingFile(
        [_error(path, "does not exist", fix="name a stack file, for example Pulumi.dev.yaml")]
    )


def _invalid(path: Path, what: str, *, place: Place | None = None, fix: str = "") -> SettingsInvalid:
    return SettingsInvalid([_error(path, what, place=place, fix=fix)])


def _error(path: Path, what: str, *, place: Place | None = None, fix: str = "") -> SettingsError:
    where = f"{path}:{place.line}:{place.column}" if place is not None else str(path)
    return SettingsError(path=where, what=what, fix=fix)


def variable_bytes(fleet: object) -> int:
    """Return the size of the variable: JSON as Go writes it, as JSON text, with a name and a final zero."""
    as_json = json.dumps(fleet, default=str, ensure_ascii=False, separators=(",", ":")).translate(_GO)
    text = fleet if isinstance(fleet, str) else as_json
    return len(f"PULUMI_CONFIG={json.dumps({KEY: text}, ensure_ascii=False)}".encode()) + 1


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


# As in Helm's values files and JSON Merge Patch (https://www.rfc-editor.org/rfc/rfc7396): mappings are
# merged key by key, any other value replaces the extended one, and null removes it. If there is nothing to
# remove, null remains a value, such as one for a chart.

FLEET: Final = ("config", KEY)
"""The path of a fleet in a document."""
EXTENDS: Final = "extends"


class Layer(Struct, frozen=True, kw_only=True):
    """A file that has a fleet, whole or in part: its document, and the fleet's mapping in it.

    `warnings`: what is written in a way that the next version no longer reads.
    """

    document: Document
    fleet: Mapping[str, Any]
    warnings: tuple[str, ...] = ()


def extended(layer: Layer, load: Callable[[str], Layer | None], above: Sequence[str] = ()) -> Layer:
    """Return a fleet merged with the files it extends.

    Args:
        layer: The layer that extends them, or nothing.
        load: Reads a file by the name that `extends` gives it; None if there is no such file.
        above: The names of the files that led here.

    Raises:
        SettingsInvalid: A file is missing or wrong, or they extend each other in a loop.
    """
    if EXTENDS not in layer.fleet:
        return layer
    name = _named(layer, above)
    below = load(name)
    if below is None:
        fix = f"write the file, or the path of another from the folder of the project, or remove {EXTENDS}"
        raise _wrong(layer, "names a file that does not exist", got=name, fix=fix)
    return _merged(extended(below, load, (*above, name)), layer)


def _named(layer: Layer, above: Sequence[str]) -> str:
    """Return the name of the extended file, which must not be one of the files above."""
    name: object = layer.fleet[EXTENDS]
    if not isinstance(name, str) or not name.endswith((".yaml", ".yml")):
        allowed = "the path of a .yaml file that has a fleet, from the folder of the project"
        raise _wrong(layer, "names no file", got=shown(name), allowed=allowed)
    if name in above:
        way = " -> ".join((*above[above.index(name) :], name))
        raise _wrong(layer, "leads back to a file that extends this one", got=way, fix=f"remove {EXTENDS}")
    return name


def _merged(below: Layer, above: Layer) -> Layer:
    taken: set[ValuePath] = set()
    base = {key: value for key, value in below.fleet.items() if key != EXTENDS}
    own = {key: value for key, value in above.fleet.items() if key != EXTENDS}
    fleet = _merge(base, own, FLEET, taken)
    kept = {
        path: place._replace(file=place.file or below.document.file)
        for path, place in below.document.places.items()
        if not any(path[:length] in taken for length in range(len(FLEET), len(path) + 1))
    }
    document = replace(
        above.document, value={FLEET[0]: {FLEET[1]: fleet}}, places={**kept, **above.document.places}
    )
    return Layer(document=document, fleet=fleet, warnings=(*above.warnings, *below.warnings))


def _merge(
    below: Mapping[str, Any], above: Mapping[str, Any], at: ValuePath, taken: set[ValuePath]
) -> dict[str, Any]:
    """Merge one mapping over another; `taken` collects the paths of which nothing below is left."""
    result = dict(below)
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(below.get(key), Mapping):
            result[key] = _merge(below[key], cast("Mapping[str, Any]", value), (*at, key), taken)
            continue
        taken.add((*at, key))
        if value is None and key in below:
            del result[key]
        else:
            result[key] = value
    return result


def _wrong(layer: Layer, what: str, *, got: str, allowed: str = "", fix: str = "") -> SettingsInvalid:
    place = layer.document.place((*FLEET, EXTENDS))
    at = f"{layer.document.file}:{place.line}:{place.column}"
    return SettingsInvalid(
        [SettingsError(path=under(EXTENDS), what=what, got=got, allowed=allowed, fix=fix, at=at)]
    )
