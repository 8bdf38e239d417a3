"""The Kubernetes objects of a document: kind, name, namespace, and the pod inside a workload."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct

from dra_fleet.core.findings.finding import Subject

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.core.findings.finding import FileFinding, Found
    from dra_fleet.core.yaml_text import Document, Path


TEMPLATE = re.compile(r"\{\{|\{%|\$\{|@[A-Z][A-Z0-9_]+@")
"""Marks of templates: Helm, jinja, envsubst, and scripts that replace words."""

RENDER = {
    "{": "render it first, for example: helm template … | dra-fleet check -",
    "$": "render it first: envsubst < FILE | dra-fleet check -",
}

_LEFT = re.compile(
    r"\{\{.*?\}\}|\$\{[A-Za-z_][^}]*\}|(?<![$\w])\$[A-Z][A-Z0-9_]+\b|@[A-Z][A-Z0-9_]+@|__[A-Z][A-Z0-9_]+__"
    r"|^[\w.-]*<[A-Za-z][\w .-]*>[\w.<>-]*$|\b(?:REPLACE|CHANGE)[_-]?ME\b"
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

T = TypeVar("T")

DEVICE_KINDS = ("DeviceClass", "ResourceClaim", "ResourceClaimTemplate", "ResourceSlice")

GROUP = "resource.k8s.io"

Key = tuple[str, str, str]
"""Kind, namespace and name of an object."""


class FileObject(Struct, frozen=True, kw_only=True):
    """An object of a file."""

    api_version: str
    kind: str
    name: str
    namespace: str
    value: dict[str, Any]
    subject: Subject

    @property
    def key(self) -> Key:
        """Identity of the object; the namespace is empty if the file leaves it open."""
        return (self.kind, self.namespace, self.name)

    @property
    def is_device_object(self) -> bool:
        """True if the object belongs to any version of resource.k8s.io."""
        return self.api_version.partition("/")[0] == GROUP and self.kind in DEVICE_KINDS


def resources(document: Document, found: Found) -> list[FileObject]:
    """Return the objects of a document and the items of a `List`; report everything else."""
    return _resources(document, document.value, (), found)


def _resources(document: Document, value: object, base: Path, found: Found) -> list[FileObject]:
    fields = mapping(value)
    api_version, kind = fields.get("apiVersion"), fields.get("kind")
    if not isinstance(api_version, str) or not isinstance(kind, str):
        Subject(document=document, base=base, name="", found=found).error(
            rule="no-object",
            what="is not a Kubernetes object: apiVersion and kind are required",
            fix=_head(fields),
        )
        return []
    if kind.endswith("List") and isinstance(fields.get("items"), list):
        items = enumerate(cast("list[object]", fields["items"]))
        return [
            item
            for index, child in items
            for item in _resources(document, child, (*base, "items", index), found)
        ]
    metadata = mapping(fields.get("metadata"))
    name = str(metadata.get("name") or metadata.get("generateName") or "")
    subject = Subject(document=document, base=base, name=f"{kind} {name}".strip())
    namespace = str(metadata.get("namespace") or "")
    return [
        FileObject(
            api_version=api_version, kind=kind, name=name, namespace=namespace, value=fields, subject=subject
        )
    ]


def _head(fields: Mapping[str, Any]) -> str:
    """Return the fix for a document without apiVersion or kind; with one of them, an object is meant."""
    if fields.keys().isdisjoint(("apiVersion", "kind", "metadata")):
        return "give a chart's values with --values CHART@VERSION=FILE"
    spelled = {key.lower(): key for key in fields}
    missing = [key for key in ("apiVersion", "kind") if key not in fields]
    wrong = [f"write {key} instead of {spelled[key.lower()]}" for key in missing if key.lower() in spelled]
    return ", ".join(wrong) or f"add {' and '.join(missing) or 'both as text'}"


def keyed(known: Mapping[Key, T], key: Key) -> T | None:
    """Look up the object that another object names from its namespace; an open namespace may be any."""
    kind, namespace, name = key
    for nearest in (key, (kind, "", name)):
        if nearest in known:
            return known[nearest]
    if namespace:
        return None
    return next((known[item] for item in sorted(known) if (item[0], item[2]) == (kind, name)), None)


def mapping(value: object) -> dict[str, Any]:
    """Return the value if it is a mapping, otherwise an empty mapping."""
    return value if isinstance(value, dict) else {}  # pyright: ignore[reportUnknownVariableType]


def sequence(value: object) -> list[Any]:
    """Return the value if it is a list, otherwise an empty list."""
    return value if isinstance(value, list) else []  # pyright: ignore[reportUnknownVariableType]


def at(value: object, path: Path) -> object:
    for part in path:
        if isinstance(part, int):
            items = sequence(value)
            value = items[part] if part < len(items) else None
        else:
            value = mapping(value).get(part)
    return value


def check_rendered(subject: Subject, value: object, fixes: Mapping[str, str] = RENDER) -> None:
    """Warn of the first mark that a template left in a value.

    Args:
        subject: where the value is.
        value: the value.
        fixes: how to render a mark, by its first letter.
    """
    place, text = next(_left(value, ()), ((), ""))
    if text:
        fix = fixes.get(text[0], "put a value in its place")
        what = f"was not rendered: {text} is not a value"
        subject.warning(*place, rule="not-rendered", what=what, fix=fix)


def has_marks(value: object) -> bool:
    """Return whether a template left a mark anywhere in a value."""
    if isinstance(value, str):
        return bool(_mark(value))
    if isinstance(value, dict):
        fields = cast("dict[str, object]", value)
        return any(has_marks(key) or has_marks(item) for key, item in fields.items())
    return isinstance(value, list) and any(has_marks(item) for item in cast("list[object]", value))


def _mark(text: str) -> str:
    marks = (found[0] for found in _LEFT.finditer(text))
    return next((mark for mark in marks if "\n" not in text.strip() or mark[0] != "$"), "")


def may_render_to(text: str, value: str) -> bool:
    """Return whether a text has template marks that a template may replace to get the value."""
    parts = _LEFT.split(text)
    return len(parts) > 1 and re.fullmatch(".*".join(map(re.escape, parts)), value) is not None


def is_about_value(subject: Subject, value: object, finding: FileFinding) -> bool:
    """Return whether a finding is about a value itself, and not about a template mark."""
    path = subject.path(finding.path) if finding.path else ()
    return not path or next(_left(at(value, path), ()), None) is None


def _left(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(value, str):
        found = _mark(value)
        if found:
            yield path, found
    elif isinstance(value, dict):
        for key, item in cast("dict[str, object]", value).items():
            if key not in _FREE_TEXT:
                yield from _left(key, (*path, key))
                yield from _left(item, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _left(item, (*path, index))
