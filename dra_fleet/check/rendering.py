"""What templates leave behind where nobody rendered them: Helm, envsubst, jinja, sed, words to replace."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from dra_fleet.check.resources import at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import FileFinding
    from dra_fleet.core.yaml_text import Path

TEMPLATE = re.compile(r"\{\{|\{%|\$\{")
"""What templates are full of, those of Helm and jinja and those of envsubst."""
RENDER = {
    "{": "render it first: helm template … | dra-fleet check -",
    "$": "render it first: envsubst < FILE | dra-fleet check -",
}
_LEFT = re.compile(
    r"\{\{.*?\}\}|\$\{[A-Za-z_][^}]*\}|(?<![$\w])\$[A-Z][A-Z0-9_]+\b|@[A-Z][A-Z0-9_]+@|__[A-Z][A-Z0-9_]+__"
    r"|^<[A-Za-z][\w .-]*>$|\b(?:REPLACE|CHANGE)[_-]?ME\b"
)
_FREE_TEXT = frozenset(
    {
        "annotations",
        "args",
        "command",
        "data",
        "description",
        "env",
        "lifecycle",
        "livenessProbe",
        "readinessProbe",
    }
    | {"startupProbe", "stringData", "volumes", "volumeMounts"}
)
"""Fields whose text is for others, who may write such marks themselves."""


def check_rendered(resource: FileObject) -> None:
    """Warn of the first thing in an object that a template left."""
    place, text = next(_left(resource.value, ()), ((), ""))
    if text:
        fix = RENDER.get(text[0], "put a value in its place")
        what = f"was not rendered: {text} is no value"
        resource.subject.warning(*place, rule="not-rendered", what=what, fix=fix)


def has_marks(value: object) -> bool:
    """Whether a template left something anywhere in a value."""
    if isinstance(value, str):
        return _LEFT.search(value) is not None
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return any(has_marks(key) or has_marks(item) for key, item in fields.items())
    return isinstance(value, list) and any(has_marks(item) for item in cast("list[object]", value))


def is_about_value(resource: FileObject, finding: FileFinding) -> bool:
    """Whether a finding is about a value as it stands, and not about what a template left there."""
    path = resource.subject.path(finding.path) if finding.path else ()
    return not path or next(_left(at(resource.value, path), ()), None) is None


def _left(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        found = _LEFT.search(value)
        if found is not None:
            yield path, found[0]
    elif isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            if key not in _FREE_TEXT:
                yield from _left(key, (*path, key))
                yield from _left(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _left(item, (*path, index))
