"""What would change on the server: the object as it is, against the object as the program wants it.

Only fields the program declares count; what the server or its controllers add is theirs.
"""

from __future__ import annotations

import base64
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.plain import dataclass
from dra_fleet.rehearsal.providers.properties import UnknownValue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.providers.kubernetes.replacing import Path

_READ_ONLY: Final = (
    "creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation", "managedFields",
    "resourceVersion", "uid", "selfLink",
)  # fmt: skip


class _Missing:
    """No value there; not the same as null."""


_MISSING: Final = _Missing()


class ChangeKind(Enum):
    """What happens to a field."""

    ADD = "add"
    DELETE = "delete"
    UPDATE = "update"


@dataclass(frozen=True)
class FieldChange:
    """One field that would change; `new` is None for a deletion."""

    path: Path
    kind: ChangeKind
    new: Any

    def __str__(self) -> str:
        text = ""
        for step in self.path:
            if isinstance(step, int):
                text += f"[{step}]"
            elif any(letter in step for letter in '."[]'):
                escaped = step.replace('"', '\\"')
                text += f'["{escaped}"]'
            else:
                text += f".{step}" if text else step
        return text


def changes(old: Object, new: Object) -> list[FieldChange]:
    """The fields in which two objects differ, deepest place first named, lists item by item."""
    return list(_walk((), old, new))


def _walk(path: Path, old: Any, new: Any) -> Iterator[FieldChange]:  # noqa: ANN401 - any JSON value
    if isinstance(old, dict) and isinstance(new, dict):
        olds, news = cast("Object", old), cast("Object", new)
        for key in sorted({*olds, *news}):
            yield from _walk((*path, key), olds.get(key, _MISSING), news.get(key, _MISSING))
    elif isinstance(old, list) and isinstance(new, list):
        before, after = cast("list[Any]", old), cast("list[Any]", new)
        for index in range(max(len(before), len(after))):
            yield from _walk((*path, index), _item(before, index), _item(after, index))
    elif old is _MISSING:
        yield FieldChange(path, ChangeKind.ADD, new)
    elif new is _MISSING:
        yield FieldChange(path, ChangeKind.DELETE, None)
    elif not _equal(old, new):
        yield FieldChange(path, ChangeKind.UPDATE, new)


def _item(items: list[Any], index: int) -> Any:  # noqa: ANN401 - any JSON value
    return items[index] if index < len(items) else _MISSING


def _equal(old: Any, new: Any) -> bool:  # noqa: ANN401 - any JSON value
    if isinstance(old, UnknownValue) or isinstance(new, UnknownValue):
        return False
    return old == new and isinstance(old, bool) == isinstance(new, bool)


def real_changes(found: list[FieldChange], live: Object, dry_run: Object) -> list[FieldChange]:
    """Those changes that a dry run on the server confirms.

    The server writes some values its own way (`1000m` is `1`): such a field differs from the program's text
    for ever and yet never changes. What the server drops, a field whose gate is off, is an update in every
    preview, as with the published plugin.

    Args:
        found: what `changes` says.
        live: the object as the server has it.
        dry_run: the object as the server would have it.
    """
    return [
        change
        for change in found
        if _is_dropped(change, dry_run) or not _equal(_at(live, change.path), _at(dry_run, change.path))
    ]


def _is_dropped(change: FieldChange, dry_run: Object) -> bool:
    """Whether the server takes nothing of a value; empty ones say nothing."""
    return change.kind is ChangeKind.ADD and bool(change.new) and _at(dry_run, change.path) is _MISSING


def _at(value: Any, path: Path) -> Any:  # noqa: ANN401 - any JSON value
    for step in path:
        if isinstance(value, dict) and step in value:
            value = cast("dict[Any, Any]", value)[step]
        elif isinstance(value, list) and isinstance(step, int):
            value = _item(cast("list[Any]", value), step)
        else:
            return _MISSING
    return value


def pruned(live: Any, shape: Any) -> Any:  # noqa: ANN401 - any JSON value
    """The live value with only those fields that the shape has; items beyond a list's end stay."""
    if isinstance(live, dict) and isinstance(shape, dict):
        shapes = cast("Object", shape)
        lives = cast("Object", live)
        return {key: pruned(lives[key], shapes[key]) for key in shapes if key in lives}
    if isinstance(live, list) and isinstance(shape, list):
        items, shapes_of_items = cast("list[Any]", live), cast("list[Any]", shape)
        known = len(shapes_of_items)
        return [
            pruned(item, shapes_of_items[index]) if index < known else item
            for index, item in enumerate(items)
        ]
    return live  # pyright: ignore[reportUnknownVariableType] - any JSON value


def wanted(inputs: Object) -> Object:
    """The object to send for a program's inputs.

    Without fields that only the server writes; a Secret's `stringData`, which a server never gives back, is
    turned into `data`.
    """
    body = dict(inputs)
    metadata = body.get("metadata")
    if isinstance(metadata, dict):
        entries = cast("Object", metadata).items()
        body["metadata"] = {key: value for key, value in entries if key not in _READ_ONLY}
    if body.get("apiVersion") == "v1" and body.get("kind") == "Secret":
        return _with_data(body)
    return body


def _with_data(secret: Object) -> Object:
    texts: Any = secret.get("stringData")
    data: Any = secret.get("data")
    if not isinstance(texts, dict) or isinstance(data, UnknownValue):
        return secret
    encoded = {key: _base64(value) for key, value in cast("Object", texts).items()}
    rest = {key: value for key, value in secret.items() if key != "stringData"}
    return {**rest, "data": {**(data or {}), **encoded}}


def _base64(value: Any) -> Any:  # noqa: ANN401 - a text or UNKNOWN
    return base64.b64encode(value.encode()).decode() if isinstance(value, str) else value


def is_another_object(live: Object, body: Object) -> bool:
    """Whether a program's object has another place or kind than the live one, or one not yet known."""
    old, new = live.get("metadata", {}), body.get("metadata")
    if isinstance(new, UnknownValue) or new is None:
        return True
    return (
        any(old.get(key) != new.get(key) for key in ("name", "namespace")) or live.get("kind") != body["kind"]
    )


def is_ignored(path: str, ignored: list[str]) -> bool:
    """Whether a changed place is in one of the program's ignoreChanges."""
    return any(path == entry or path.startswith((f"{entry}.", f"{entry}[")) for entry in ignored)


def inputs_of(live: Object) -> Object:
    """The inputs a program would need to declare an existing object: all but what only the server writes."""
    kept = {key: value for key, value in live.items() if key != "status"}
    return wanted({"apiVersion": live["apiVersion"], "kind": live["kind"], **kept})
