"""Every key of a stack file and what may be written there, by the section it stands in.

It is read from the JSON Schema, so that page, command, editors and error messages say the same.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

from dra_fleet.fleet.settings import FleetSettings

FLEET = "FleetSettings"
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}

Node = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SectionKey:
    """One key of a section.

    Attributes:
        name: The key.
        value: What may be written, in Markdown; sections are links.
        default: What holds without it: `required`, a value, or nothing.
        meaning: What it is for.
        sections: The sections that may stand below it.
        is_named: Whether names of the user's own stand between it and those.
    """

    name: str
    value: str
    default: str
    meaning: str
    sections: tuple[str, ...]
    is_named: bool


@dataclass(frozen=True, kw_only=True)
class Section:
    """A mapping that may be written: its title, what it is, and its keys."""

    title: str
    meaning: str
    keys: tuple[SectionKey, ...]


@cache
def sections() -> Mapping[str, Section]:
    """All sections as a reader meets them: the fleet, what stands in it, and so on."""
    fleet = FleetSettings.model_json_schema(by_alias=True)
    models: dict[str, Node] = {FLEET: fleet, **fleet["$defs"]}
    return {name: _section(name, models[name], models) for name in _in_order(models)}


def _in_order(models: Mapping[str, Node]) -> list[str]:
    found = [FLEET]
    coming = deque(found)
    while coming:
        new = [name for name in dict.fromkeys(_models_in(models[coming.popleft()])) if name not in found]
        found += new
        coming.extendleft(reversed(new))
    return found


def _models_in(node: object) -> Iterator[str]:
    if isinstance(node, Mapping):
        fields = cast("Node", node)
        if "$ref" in fields:
            yield str(fields["$ref"]).rpartition("/")[2]
        for key, value in fields.items():
            if key not in {"$defs", "discriminator"}:
                yield from _models_in(value)
    elif isinstance(node, list):
        for item in cast("list[object]", node):
            yield from _models_in(item)


def _section(name: str, model: Node, models: Mapping[str, Node]) -> Section:
    required = model.get("required", [])
    keys = tuple(
        SectionKey(
            name=key,
            value=_value(node),
            default="required" if key in required else _default(node),
            meaning=_meaning(node, models),
            sections=tuple(dict.fromkeys(_models_in(node))),
            is_named=_is_named(node),
        )
        for key, node in model.get("properties", {}).items()
    )
    return Section(title=_title(name), meaning=str(model.get("description", "")), keys=keys)


def _is_named(node: Node) -> bool:
    options = node.get("oneOf", node.get("anyOf", (node,)))
    return any("patternProperties" in option or "additionalProperties" in option for option in options)


def _title(name: str) -> str:
    return name.removesuffix("Settings")


def _link(name: str) -> str:
    return f"[{_title(name)}](#{_title(name).lower()})"


def _value(node: Node) -> str:
    """What may be written: words, a type with its bounds, or the sections that say more."""
    if "$ref" in node:
        return _link(str(node["$ref"]).rpartition("/")[2])
    options = [option for option in node.get("oneOf", node.get("anyOf", ())) if option.get("type") != "null"]
    if options:
        return " or ".join(dict.fromkeys(_value(option) for option in options))
    if "const" in node or "enum" in node:
        return ", ".join(f"`{word}`" for word in node.get("enum", [node.get("const")]) if word is not None)
    kind = node.get("type")
    if kind == "array":
        return f"list of {_value(node['items'])}"
    if kind == "object":
        patterns = list(node.get("patternProperties", {}).values())
        below: object = patterns[0] if patterns else node.get("additionalProperties")
        return (
            f"mapping of names to {_value(cast('Node', below))}" if isinstance(below, Mapping) else "mapping"
        )
    kinds = cast("list[str]", kind) if isinstance(kind, list) else [str(kind)]
    return " or ".join(_TYPES[name] for name in kinds) + _bounds(node)


def _bounds(node: Node) -> str:
    least, most = node.get("minimum"), node.get("maximum")
    if least is not None and most is not None:
        return f", {least} to {most}"
    if least is not None:
        return f", at least {least}"
    return ""


def _default(node: Node) -> str:
    default = node.get("default")
    if default is None or default in ([], {}, ""):
        return ""
    return "see there" if isinstance(default, Mapping) else f"`{json.dumps(default)}`"


def _meaning(node: Node, models: Mapping[str, Node]) -> str:
    """What a key's description says, or that of what it holds."""
    own = _told(node) or next((_told(below) for below in _below(node) if _told(below)), "")
    named = [models[name] for name in _models_in(node)]
    said = own or (str(named[0].get("description", "")) if len(named) == 1 else "")
    return said.replace("\n", " ").replace("|", r"\|")


def _told(node: Node) -> str:
    return str(node.get("description", ""))


def _below(node: Node) -> list[Node]:
    items = [node["items"]] if "items" in node else []
    return [*node.get("anyOf", ()), *items]
