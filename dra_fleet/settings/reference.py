"""The page of all keys of a stack file, docs/stack.md.

It is made from the JSON Schema, so that page, editors and error messages say the same.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.settings.clusters import registered_clouds
from dra_fleet.settings.fleet import FleetSettings
from dra_fleet.settings.of_drivers import registered_drivers

INTRODUCTION = Path(__file__).parent / "reference_introduction.md"
FLEET = "FleetSettings"
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}

Node = Mapping[str, Any]


def text() -> str:
    """The page as the committed file holds it."""
    fleet = FleetSettings.model_json_schema(by_alias=True)
    models: dict[str, Node] = {FLEET: fleet, **fleet["$defs"]}
    sections = [_section(name, models[name], models) for name in _in_order(models)]
    return "\n".join([INTRODUCTION.read_text(encoding="utf-8"), *sections, _names()])


def _in_order(models: Mapping[str, Node]) -> list[str]:
    """The models as a reader meets them: the fleet, what stands in it, and so on."""
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


def _section(name: str, model: Node, models: Mapping[str, Node]) -> str:
    required = model.get("required", [])
    rows = [
        f"| `{key}` | {_value(node)} | {'required' if key in required else _default(node)} "
        f"| {_meaning(node, models)} |"
        for key, node in model.get("properties", {}).items()
    ]
    head = ["| Key | Value | Default | Meaning |", "|---|---|---|---|"]
    return "\n".join([f"### {_title(name)}", "", str(model.get("description", "")), "", *head, *rows, ""])


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


def _names() -> str:
    """The names that the catalogue knows."""
    clouds = registered_clouds()
    lines = [
        "## Names",
        "",
        "What the catalogue holds; other machines are described where they are used.",
        "",
    ]
    lines += [
        "| For | Names |",
        "|---|---|",
        f"| `kubernetes` | {', '.join(entry.minor for entry in kubernetes_facts().minors)} |",
        *(f"| `drivers.{name}.version` | {', '.join(versions)} |" for name, versions in _versions()),
        *(f"| `gpuOperator.version` | {', '.join(versions)} |" for versions in _operator_versions()),
    ]
    for cloud in clouds.BUILT_IN:
        machines = clouds.named(cloud).machines
        lines.append(f"| `machine` where `cloud: {cloud}` | {', '.join(sorted(machines))} |")
    lines.append(
        f"| `gpu` of a described machine | {', '.join(sorted(registered_drivers().accelerators()))} |"
    )
    return "\n".join([*lines, ""])


def _operator_versions() -> Iterator[list[str]]:
    for driver in registered_drivers().known():
        operator = driver.resources.operator
        if operator is not None:
            yield [item.version for item in operator.versions()]


def _versions() -> Iterator[tuple[str, list[str]]]:
    for driver in sorted(registered_drivers().known(), key=lambda driver: driver.name):
        yield driver.name, [item.version for item in driver.facts.versions]
