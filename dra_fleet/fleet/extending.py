"""Merging of a fleet's file with the files that it extends.

As in Helm's values files and JSON Merge Patch (https://www.rfc-editor.org/rfc/rfc7396):
mappings are merged key by key, any other value replaces the extended one, and null removes it. If there is
nothing to remove, null remains a value, such as one for a chart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.core.findings.errors import KEY, SettingsError, SettingsInvalid, under

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dra_fleet.core.yaml_text import Document, Path

FLEET: Final = ("config", KEY)
"""The path of a fleet in a document."""
EXTENDS: Final = "extends"


@dataclass(frozen=True, kw_only=True)
class Layer:
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
        raise _wrong(layer, "names no file", got=str(name), allowed=allowed)
    if name in above:
        way = " -> ".join((*above[above.index(name) :], name))
        raise _wrong(layer, "leads back to a file that extends this one", got=way, fix=f"remove {EXTENDS}")
    return name


def _merged(below: Layer, above: Layer) -> Layer:
    taken: set[Path] = set()
    base = {key: value for key, value in below.fleet.items() if key != EXTENDS}
    own = {key: value for key, value in above.fleet.items() if key != EXTENDS}
    fleet = _merge(base, own, FLEET, taken)
    kept = {
        path: place._replace(file=place.file or below.document.file)
        for path, place in below.document.places.items()
        if not any(path[:length] in taken for length in range(len(FLEET), len(path) + 1))
    }
    document = replace(
        above.document,
        value={FLEET[0]: {FLEET[1]: fleet}},
        places={**kept, **above.document.places},
    )
    return Layer(document=document, fleet=fleet, warnings=(*above.warnings, *below.warnings))


def _merge(below: Mapping[str, Any], above: Mapping[str, Any], at: Path, taken: set[Path]) -> dict[str, Any]:
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
