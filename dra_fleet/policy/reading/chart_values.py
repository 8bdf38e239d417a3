"""A chart's values from all the places where a program gives them: files, texts, maps, parameters."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from dra_fleet.core.declared.values import Missing, Value
from dra_fleet.core.yaml_text import MAX_BYTES, Unreadable, read_documents

if TYPE_CHECKING:
    from collections.abc import Sequence

_SWITCHES: Final = {"true": True, "false": False}


def layered(
    files: Sequence[Value], layers: Sequence[Value], parameters: Value, notes: dict[str, None]
) -> Value:
    """Merge the values from several places as Helm does; a file that cannot be read is omitted.

    Args:
        files: files, the lowest first.
        layers: maps and YAML texts, each laid over those before and over the files.
        parameters: items with a dotted `name` and a `value`, or a map by dotted names, as `--set` takes them.
        notes: where unknown places are noted.
    """
    given = [layer for layer in layers if layer.possible]
    single = [_nested(item.get("name").text or "", item.get("value")) for item in parameters.items]
    single += [_nested(name, value) for name, value in parameters.entries]
    if not files and not single and all(isinstance(each.peek, Mapping) for each in given[:1]):
        return given[0] if len(given) == 1 else layers[-1] if not given else _merged(given, {}, notes)
    merged: object = {}
    for file in files:
        read = file_contents(file)
        merged = merged if read is None else laid_over(merged, read)
    values = _merged(given, merged, notes) if given else Value(merged, layers[-1].path, notes)
    reported = values.peek
    for each in single:
        reported = laid_over(reported, each)
    return Value(reported, values.path, notes, secret=values.secret) if single else values


def _merged(layers: Sequence[Value], below: object, notes: dict[str, None]) -> Value:
    merged = below
    for layer in layers:
        reported = layer.peek
        over = parsed(reported.encode()) if isinstance(reported, str) else reported
        merged = laid_over(merged, Missing.UNKNOWN if over is None else over)
    return Value(merged, layers[-1].path, notes, secret=any(layer.secret for layer in layers))


def _nested(name: str, value: Value) -> object:
    """Return a value below a dotted name; a text that is a boolean is one."""
    known = value.peek
    nested = (
        Missing.UNKNOWN if known is None else _SWITCHES.get(known, known) if isinstance(known, str) else known
    )
    for step in reversed(name.split(".")):
        nested = {step: nested}
    return nested


def file_contents(file: Value) -> Mapping[str, object] | None:
    """Return the content of a values file; None if it cannot be read here or was changed since."""
    reported, path = file.get("text").peek, file.get("path").peek
    if isinstance(reported, str) and reported:
        data: bytes | None = reported.encode()
    else:
        data = read_file(Path(path)) if isinstance(path, str) and path else None
        if data is None or hashlib.sha256(data).hexdigest() != file.get("hash").peek:
            return None
    return parsed(data)


def read_file(file: Path) -> bytes | None:
    """Return a file's bytes; None if it cannot be read, or is larger than anything a cluster takes."""
    try:
        with file.open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    except (OSError, ValueError):
        return None  # reported as unknown
    return data if len(data) <= MAX_BYTES else None


def parsed(data: bytes) -> Mapping[str, object] | None:
    """Return the mapping of a YAML file; None if it is none."""
    try:
        documents = read_documents("values", data)
    except Unreadable:
        return None
    value = documents[0].value if documents else dict[str, object]()
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else None


def laid_over(below: object, above: object) -> object:
    """Return Helm's merge: maps key by key, anything else as a whole."""
    if above is Missing.UNKNOWN or not isinstance(above, Mapping):
        return above
    over = cast("Mapping[str, object]", above)
    if not isinstance(below, Mapping):
        return below if below is Missing.UNKNOWN else over
    found = dict(cast("Mapping[str, object]", below))
    for key, value in over.items():
        found[key] = laid_over(found[key], value) if key in found else value
    return found
