"""The JSON Schema of a stack file, for completion in editors: schema/stack.schema.json.

It is generated from the models, with the catalogue's names as suggestions. It judges less than
`parse` does: rules between fields are not in it.
"""

from __future__ import annotations

import json
from typing import Any, Final

from dra_fleet import clouds, drivers
from dra_fleet.core.findings.errors import KEY
from dra_fleet.fleet.settings import FleetSettings
from dra_fleet.kubernetes.minors import kubernetes_facts

_NAMED: Final = {
    "if": {"type": "string"},
    "then": {"pattern": r"\.ya?ml$", "description": "The path of a file like this one that has the fleet."},
}


def stack_schema() -> dict[str, Any]:
    """The schema of a whole Pulumi.<stack>.yaml."""
    fleet = FleetSettings.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions = fleet.pop("$defs")
    minors = [entry.minor for entry in kubernetes_facts().minors]
    for model in (fleet, *definitions.values()):
        _suggest(model, "kubernetes", minors)
        _suggest(model, "machine", sorted(clouds.machines()))
        _suggest(model, "gpu", sorted(drivers.accelerators()))
    part: Final = {  # judged once it is merged
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
    """The schema as the committed file holds it."""
    return json.dumps(stack_schema(), indent=2, ensure_ascii=False) + "\n"


def _suggest(model: dict[str, Any], name: str, names: list[str]) -> None:
    """Offer names as examples where a string is meant; the schema stays open for what it cannot know."""
    field = model.get("properties", {}).get(name)
    if field is not None:
        field["examples"] = names
