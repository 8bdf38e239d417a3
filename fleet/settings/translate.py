"""Turns pydantic's errors into ours: the path as the user wrote it, the value, what is allowed, the fix."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from fleet.settings.errors import SettingsError, choices, mistyped, under

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Location = tuple[str | int, ...]
_SHOWN = 80
_TYPES = {
    "string_type": "a string",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "float_type": "a number",
}


def translate(detail: ErrorDetails, settings: Mapping[str, Any]) -> SettingsError:
    """One of pydantic's errors about `settings` as a SettingsError."""
    location = _written(detail["loc"], settings)
    context = detail.get("ctx", {})
    kind = detail["type"]
    if kind == "refused":
        at = tuple(str(context["at"]).split(".")) if context["at"] else ()
        return SettingsError(
            path=under(*location, *at),
            what=str(context["what"]),
            got=shown(detail["input"]),
            allowed=str(context["allowed"]),
            fix=str(context["fix"]),
        )
    if kind == "extra_forbidden":
        known = _keys(location[:-1], settings)
        unknown = str(location[-1])
        return SettingsError(
            path=under(*location),
            what="is no key of the stack file",
            got=unknown,
            allowed=choices(unknown, known),
            fix=mistyped(unknown, known) or "remove it",
        )
    if kind == "missing":
        return SettingsError(path=under(*location), what="is required", fix=f"add {location[-1]}: …")
    if kind == "string_pattern_mismatch":
        return SettingsError(
            path=under(*location),
            what="is not written as it must be",
            got=shown(detail["input"]),
            allowed=_described(location, settings) or f"text that matches {context['pattern']}",
        )
    return SettingsError(
        path=under(*location), got=shown(detail["input"]), **_standard(kind, detail["msg"], context)
    )


def _standard(kind: str, message: str, context: Mapping[str, Any]) -> dict[str, str]:
    if kind in _TYPES:
        return {"what": f"must be {_TYPES[kind]}", "allowed": _TYPES[kind]}
    if kind == "literal_error":
        return {
            "what": "is not one of the allowed values",
            "allowed": str(context["expected"]).replace("'", ""),
        }
    if kind == "union_tag_invalid":
        allowed = str(context["expected_tags"]).replace("'", "")
        return {"what": f"has an unknown {str(context['discriminator']).strip(chr(39))}", "allowed": allowed}
    if kind == "union_tag_not_found":
        return {"what": f"needs the key {str(context['discriminator']).strip(chr(39))}"}
    return {"what": message[:1].lower() + message[1:]}


def shown(value: object) -> str:
    """A value as one short line; what is below a `secure:` key is never shown."""
    text = json.dumps(_masked(value), ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _masked(value: object) -> object:
    if isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        return {key: "[secret]" if key == "secure" else _masked(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [_masked(item) for item in cast("list[object]", value)]
    return value


def _written(location: Location, settings: Mapping[str, Any]) -> Location:
    """The location without the union tags that pydantic puts between the keys."""
    written: list[str | int] = []
    here = _as_object(settings)
    for part in location:
        if isinstance(part, str) and (part.startswith("<") or part == "[key]"):
            continue
        if _is_tag(here, part):
            continue
        here = _below(here, part)
        written.append(part)
    return tuple(written)


def _is_tag(value: object, part: str | int) -> bool:
    if not isinstance(value, Mapping):
        return False
    fields = cast("Mapping[str | int, object]", value)
    return part not in fields and part in (fields.get("cloud"), fields.get("strategy"))


def _as_object(value: object) -> object:
    """The same value, whose type is told anew at every step down."""
    return value


def _below(value: object, part: str | int) -> object:
    if isinstance(value, Mapping):
        return cast("Mapping[str | int, object]", value).get(part)
    if isinstance(value, list) and isinstance(part, int):
        items = cast("list[object]", value)
        return items[part] if part < len(items) else None
    return None


@cache
def _schema() -> dict[str, Any]:
    from fleet.settings.fleet import FleetSettings  # noqa: PLC0415 - brings all models; for mistakes only

    return FleetSettings.model_json_schema(by_alias=True)


def _keys(location: Location, settings: Mapping[str, Any]) -> list[str]:
    """The keys allowed in the mapping at a location, by walking the JSON Schema along it."""
    nodes, here = _nodes(location, settings)
    branches = [branch for node in nodes for branch in _branches(node, here)]
    return sorted({key for branch in branches for key in branch.get("properties", {})})


def _described(location: Location, settings: Mapping[str, Any]) -> str:
    """What the JSON Schema says of the value at a location; empty where it says nothing."""
    nodes, here = _nodes(location, settings)
    told = [node for node in nodes if "description" in node]
    told += [branch for node in nodes for branch in _branches(node, here) if "description" in branch]
    return str(told[0]["description"]) if told else ""


def _nodes(location: Location, settings: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], object]:
    """The nodes of the JSON Schema that a location leads to, and what is written there."""
    here = _as_object(settings)
    nodes: list[Mapping[str, Any]] = [_schema()]
    for part in location:
        nodes = [
            child for node in nodes for branch in _branches(node, here) for child in _children(branch, part)
        ]
        here = _below(here, part)
    return nodes, here


def _branches(node: Mapping[str, Any], value: object) -> list[Mapping[str, Any]]:
    """A schema node resolved into the alternatives that the value may be."""
    if "$ref" in node:
        return _branches(_schema()["$defs"][str(node["$ref"]).rsplit("/", 1)[-1]], value)
    options = node.get("oneOf") or node.get("anyOf")
    if not options:
        return [node]
    found = [branch for option in options for branch in _branches(option, value)]
    fields: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    tagged = [branch for branch in found if _has_tag(branch, fields)]
    # Untagged alternatives are told apart by their required keys.
    closest = [
        branch for branch in found if branch.get("required") and set(branch["required"]) <= set(fields)
    ]
    return tagged or closest or found


def _has_tag(branch: Mapping[str, Any], fields: Mapping[str, object]) -> bool:
    properties = branch.get("properties", {})
    return any(
        "const" in properties.get(tag, {}) and properties[tag]["const"] == fields.get(tag)
        for tag in ("cloud", "strategy")
    )


def _children(node: Mapping[str, Any], part: str | int) -> list[Mapping[str, Any]]:
    if isinstance(part, int):
        return [node["items"]] if "items" in node else []
    if part in node.get("properties", {}):
        return [node["properties"][part]]
    patterns = list(node.get("patternProperties", {}).values())
    more = node.get("additionalProperties")
    return [*patterns, *([more] if isinstance(more, Mapping) else [])]
