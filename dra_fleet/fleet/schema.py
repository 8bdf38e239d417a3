"""The JSON Schema of a stack file, for completion in editors: schema/stack.schema.json.

It is generated from the models, with the catalogue's names as suggestions. It checks less than
`parse` does: rules between fields are not in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, cast

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet.settings import FleetSettings
from dra_fleet.kubernetes.minors import kubernetes_facts

Location = tuple[str | int, ...]

TAGS = ("cloud", "strategy")
"""Keys whose value says which of several models a mapping is."""

_NAMED: Final = {
    "if": {"type": "string"},
    "then": {"pattern": r"\.ya?ml$", "description": "The path of a file like this one that has the fleet."},
}


def stack_schema() -> dict[str, Any]:
    """Return the schema of a whole Pulumi.<stack>.yaml."""
    fleet = FleetSettings.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions = fleet.pop("$defs")
    minors = [entry.minor for entry in kubernetes_facts().minors]
    for model in (fleet, *definitions.values()):
        _suggest(model, "kubernetes", minors)
        _suggest(model, "machine", sorted(clouds.machines()))
        _suggest(model, "gpu", sorted(drivers.accelerators()))
    part: Final = {  # checked once it is merged
        "if": {"type": "object", "required": ["extends"]},
        "then": {
            "propertyNames": {"enum": sorted(fleet["properties"])},
            "properties": {"extends": fleet["properties"]["extends"]},
        },
        "else": fleet,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Stack file of dra-fleet",
        "type": "object",
        "required": ["config"],
        "properties": {
            "encryptionsalt": {"type": "string"},
            "config": {"type": "object", "required": [KEY], "properties": {KEY: {**_NAMED, "else": part}}},
        },
        "$defs": definitions,
    }


def text() -> str:
    """Return the content of the committed schema file."""
    return json.dumps(stack_schema(), indent=2, ensure_ascii=False) + "\n"


def _suggest(model: dict[str, Any], name: str, names: list[str]) -> None:
    """Offer names as examples where a string is meant; the schema stays open for what it cannot know."""
    field = model.get("properties", {}).get(name)
    if field is not None:
        field["examples"] = names


def keys(location: Location, settings: Mapping[str, Any]) -> list[str]:
    """Return the keys allowed in the mapping at a location of the JSON Schema."""
    nodes, here = _nodes(location, settings)
    branches = [branch for node in nodes for branch in _branches(node, here)]
    return sorted({key for branch in branches for key in branch.get("properties", {})})


def required(location: Location, settings: Mapping[str, Any]) -> set[str]:
    """Return the keys that the mapping at a location must have."""
    nodes, here = _nodes(location, settings)
    return {key for node in nodes for branch in _branches(node, here) for key in branch.get("required", ())}


def described(location: Location, settings: Mapping[str, Any]) -> str:
    """Return the words that are allowed at a location, or the JSON Schema's description; may be empty."""
    nodes, here = _nodes(location, settings)
    words = [word for node in nodes for branch in _branches(node, here) for word in branch.get("enum", ())]
    if words:
        return ", ".join(map(str, words))
    reported = [node for node in nodes if "description" in node]
    branches = [branch for node in nodes for branch in _branches(node, here) if branch.get("type") != "null"]
    reported += branches if all("description" in branch for branch in branches) else []
    return str(reported[0]["description"]) if reported else ""


def tags(location: Location, settings: Mapping[str, Any], tag: str) -> list[str]:
    """Return the allowed values of a tag such as `cloud` at a location."""
    nodes, _ = _nodes(location, settings)
    properties = [branch.get("properties", {}) for node in nodes for branch in _branches(node, None)]
    return sorted({str(found[tag]["const"]) for found in properties if "const" in found.get(tag, {})})


def clouds_with(location: Location, key: str, settings: Mapping[str, Any]) -> list[str]:
    """Return the clouds whose clusters have a key at a location in a cluster."""
    if len(location) < 2 or location[0] != "clusters":  # noqa: PLR2004 - clusters, and the name of one
        return []
    cluster = cast("Mapping[str, Any]", settings["clusters"][location[1]])

    def allowed(cloud: str) -> list[str]:
        return keys(location, {"clusters": {location[1]: {**cluster, "cloud": cloud}}})

    return [cloud for cloud in tags(location[:2], settings, "cloud") if key in allowed(cloud)]


def below(value: object, part: str | int) -> object:
    """Return the value below a key or an index of plain data, or None."""
    if isinstance(value, Mapping):
        return cast("Mapping[str | int, object]", value).get(part)
    if isinstance(value, list) and isinstance(part, int):
        items = cast("list[object]", value)
        return items[part] if part < len(items) else None
    return None


@cache
def _schema() -> dict[str, Any]:
    from dra_fleet.fleet.settings import FleetSettings  # noqa: PLC0415 - loads all models; only after a mistake

    return FleetSettings.model_json_schema(by_alias=True)


def _nodes(location: Location, settings: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], object]:
    """Return the nodes of the JSON Schema at a location, and the value there."""
    here: object = settings
    nodes: list[Mapping[str, Any]] = [_schema()]
    for part in location:
        nodes = [
            child for node in nodes for branch in _branches(node, here) for child in _children(branch, part)
        ]
        here = below(here, part)
    return nodes, here


def _branches(node: Mapping[str, Any], value: object) -> list[Mapping[str, Any]]:
    """Return the alternatives of a schema node that the value may be."""
    if "$ref" in node:
        return _branches(_schema()["$defs"][str(node["$ref"]).rsplit("/", 1)[-1]], value)
    options = node.get("oneOf") or node.get("anyOf")
    if not options:
        return [node]
    found = [branch for option in options for branch in _branches(option, value)]
    fields: Mapping[str, object] = cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
    tagged = [branch for branch in found if _has_tag(branch, fields)]
    # Untagged alternatives are distinguished by their required keys.
    closest = [
        branch for branch in found if branch.get("required") and set(branch["required"]) <= set(fields)
    ]
    return tagged or closest or found


def _has_tag(branch: Mapping[str, Any], fields: Mapping[str, object]) -> bool:
    properties = branch.get("properties", {})
    return any(
        "const" in properties.get(tag, {}) and properties[tag]["const"] == fields.get(tag) for tag in TAGS
    )


def _children(node: Mapping[str, Any], part: str | int) -> list[Mapping[str, Any]]:
    if isinstance(part, int):
        return [node["items"]] if "items" in node else []
    if part in node.get("properties", {}):
        return [node["properties"][part]]
    patterns = list(node.get("patternProperties", {}).values())
    more = node.get("additionalProperties")
    return [*patterns, *([more] if isinstance(more, Mapping) else [])]
