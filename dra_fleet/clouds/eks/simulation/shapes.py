"""Holds inputs to botocore's service models: names, types, ranges, patterns, and enums.

botocore's own validator leaves enums and patterns unchecked (https://github.com/boto/botocore), so the models
are walked here. The plugin's SDK writes members in camelCase and nests single blocks as objects; what it
names differently is listed by the resource types.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput, is_unknown

if TYPE_CHECKING:
    from collections.abc import Iterator


Names = Mapping[str, str]
"""Dotted path in the plugin's words -> member in the API's."""
_WORDS: Final = {
    "string": "a text", "integer": "a whole number", "long": "a whole number", "boolean": "true or false",
    "list": "a list", "structure": "an object", "map": "an object", "timestamp": "a time", "blob": "a text",
    "double": "a number", "float": "a number",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A shape of a service model, such as CreateNodegroupRequest."""

    service: str
    name: str

    @property
    def facts(self) -> dict[str, Any]:
        """What the model says of it: type, members, enum, pattern, bounds."""
        return _model(self.service)["shapes"][self.name]

    @property
    def kind(self) -> str:
        """Such as "structure" or "string"."""
        return str(self.facts["type"])

    def members(self) -> dict[str, Shape]:
        """The members of a structure by name."""
        return {name: self._other(told) for name, told in self.facts["members"].items()}

    def part(self, name: str) -> Shape:
        """The `member` of a list, or the `key` or `value` of a map."""
        return self._other(self.facts[name])

    def _other(self, told: dict[str, Any]) -> Shape:
        return Shape(service=self.service, name=str(told["shape"]))


@functools.cache
def _model(service: str) -> dict[str, Any]:
    # Loaded when the first resource is checked.
    from botocore import loaders  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs]

    loaded: Any = loaders.Loader().load_service_model(service, "service-2")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    return cast("dict[str, Any]", loaded)


def operation_shape(service: str, operation: str, below: str = "") -> Shape:
    """The shape of what an operation takes, or of one of its members."""
    name = str(_model(service)["operations"][operation]["input"]["shape"])
    shape = Shape(service=service, name=name)
    return shape.members()[below] if below else shape


def faults(shape: Shape, inputs: Properties, names: Names, path: str = "") -> list[WrongInput]:
    """What in the inputs does not fit a structure.

    Args:
        shape: what they are held to.
        inputs: as the plugin's SDK names them.
        names: what the SDK names differently.
        path: where the inputs stand.
    """
    return list(_structure(shape, inputs, names, path))


def _structure(shape: Shape, value: Properties, names: Names, path: str) -> Iterator[WrongInput]:
    members = shape.members()
    found: set[str] = set()
    for key, item in value.items():
        place = f"{path}.{key}" if path else key
        member = _member(members, names.get(_plain(place), key))
        if member is None:
            allowed = ", ".join(sorted(members))
            yield WrongInput(path=place, reason=f"{key!r} is no member of {shape.name}; it has: {allowed}")
            continue
        if item is not None:
            found.add(member)
        yield from _value(members[member], item, names, place)
    for member in sorted(set(shape.facts.get("required", [])) - found):
        # A token that makes a request idempotent is the client's own affair.
        if "token" not in member.lower():
            yield WrongInput(path=path, reason=f"{shape.name} needs {member}")


def _member(members: Mapping[str, Any], wanted: str) -> str | None:
    folded = {name.lower(): name for name in members}
    return folded.get(wanted.lower()) or folded.get(wanted.lower().removesuffix("s"))


def _plain(path: str) -> str:
    return re.sub(r"\[\d+\]", "", path)


def _value(shape: Shape, value: object, names: Names, path: str) -> Iterator[WrongInput]:
    kind = shape.kind
    if value is None or is_unknown(value):
        return
    if kind == "structure" and isinstance(value, dict):
        yield from _structure(shape, cast("Properties", value), names, path)
    elif kind == "list" and isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _value(shape.part("member"), item, names, f"{path}[{index}]")
        yield from _range(shape, len(cast("list[object]", value)), path, "items")
    elif kind == "map" and isinstance(value, dict):
        for key, item in cast("Properties", value).items():
            yield from _value(shape.part("key"), key, names, f"{path}.{key}")
            yield from _value(shape.part("value"), item, names, f"{path}.{key}")
    elif not _is_a(kind, value):
        yield WrongInput(path=path, reason=f"{value!r} must be {_WORDS.get(kind, kind)}")
    elif kind == "string":
        yield from _text(shape, str(value), path)
    elif kind in ("integer", "long"):
        yield from _range(shape, int(cast("int", value)), path, "")


def _is_a(kind: str, value: object) -> bool:
    match kind:
        case "boolean":
            return isinstance(value, bool) or value in ("true", "false")  # the plugin has some as texts
        case "integer" | "long":
            return (
                isinstance(value, int | float) and not isinstance(value, bool) and float(value).is_integer()
            )
        case "float" | "double":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "string" | "blob" | "timestamp":
            return isinstance(value, str)
        case _:
            return False


def _text(shape: Shape, value: str, path: str) -> Iterator[WrongInput]:
    enum: list[str] = shape.facts.get("enum", [])
    if enum and value not in enum:
        yield WrongInput(path=path, reason=f"{value!r} is none of {', '.join(enum)}")
        return
    pattern = shape.facts.get("pattern")
    if pattern and _fits(pattern, value) is False:
        yield WrongInput(path=path, reason=f"{value!r} does not match {pattern}")
    yield from _range(shape, len(value), path, "characters")


def _fits(pattern: str, value: str) -> bool | None:
    """Whether a value matches; None where the pattern is in a dialect of Java that Python does not read."""
    try:
        return re.search(pattern, value) is not None
    except re.error:
        return None


def _range(shape: Shape, number: int, path: str, unit: str) -> Iterator[WrongInput]:
    least, most = shape.facts.get("min"), shape.facts.get("max")
    if (least is not None and number < least) or (most is not None and number > most):
        bounds = f"{'' if least is None else least} to {'' if most is None else most}".strip()
        yield WrongInput(path=path, reason=f"{number} {unit} must be {bounds}".replace("  ", " "))
