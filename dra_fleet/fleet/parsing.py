"""Conversion of a plain mapping to FleetSettings, for the program and all commands."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from dra_fleet import clouds
from dra_fleet.core.findings.errors import (
    KEY,
    TYPE_NAMES,
    SettingsError,
    SettingsInvalid,
    mistyped,
    nearest,
    shown,
    under,
)
from dra_fleet.fleet.schema import Location, below, clouds_with, described, keys, required, tags
from dra_fleet.fleet.settings import FleetSettings

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


# Every key of a stack file and what may be written there, by its section.
#
# It is read from the JSON Schema, so that page, command, editors and error messages say the same.

FLEET = "FleetSettings"

_TYPES_OF_KEYS = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
}

Node = Mapping[str, Any]


class SectionKey(Struct, frozen=True, kw_only=True):
    """A key of a section.

    Attributes:
        name: The key.
        value: Allowed values, in Markdown; sections are links.
        default: The default: `required`, a value, or nothing.
        meaning: Purpose of the key.
        sections: The sections allowed below it.
        is_named: True if names that users choose are between the key and these sections.
    """

    name: str
    value: str
    default: str
    meaning: str
    sections: tuple[str, ...]
    is_named: bool


class Section(Struct, frozen=True, kw_only=True):
    """A mapping that may be written: its title, what it is, and its keys."""

    title: str
    meaning: str
    keys: tuple[SectionKey, ...]


@cache
def sections() -> Mapping[str, Section]:
    """Return all sections in reading order: the fleet, then the sections in it, and so on."""
    fleet = FleetSettings.model_json_schema(by_alias=True)
    models: dict[str, Node] = {FLEET: fleet, **fleet["$defs"]}
    return {name: _section(name, models[name], models) for name in _in_order(models)}


_MAPPINGS: Final = {kind for kind, name in TYPE_NAMES.items() if name == "a mapping"}

_BOUNDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda context: f"must be at least {context['ge']:g}",
    "greater_than": lambda context: f"must be more than {context['gt']:g}",
    "less_than_equal": lambda context: f"must be at most {context['le']}",
    "less_than": lambda context: f"must be less than {context['lt']}",
    "too_short": lambda context: _not_few(context["min_length"]),
    "string_too_short": lambda context: _not_few(context["min_length"]),
    "too_long": lambda context: f"must have at most {context['max_length']} entries",
    "string_too_long": lambda context: f"must have at most {context['max_length']} letters",
}

_QUOTED = re.compile(r"'([^']*)'")


def _not_few(least: int) -> str:
    return "must not be empty" if least == 1 else f"must have at least {least} entries"


MOST_ERRORS: Final = 1000
"""Maximum errors of one file in one message."""


_MEANT: Final = re.compile(r"(?:did you mean|write a space after the colon:) (\w+)[?:].*")
_GIB: Final = re.compile(r"(\d+) ?Gi?B?")
_BOOLEANS: Final = {
    "yes": "true",
    "on": "true",
    "true": "true",
    "no": "false",
    "off": "false",
    "false": "false",
}
"""Words of YAML 1.1 and of strings, which YAML 1.2 reads as text."""
_REMOVE: Final = "remove it"
_FORMS: Final = "this key and the keys beside it belong to different forms of the mapping"
_SYNONYMS: Final = {
    "replicas": "copies", "instanceType": "machine", "machineType": "machine", "vmSize": "machine",
    "instanceTypes": "machine", "nodeGroups": "pools",
}  # fmt: skip
"""Words of Kubernetes and of clouds for keys."""


def parse(settings: Mapping[str, Any]) -> FleetSettings:
    """Validate the value of `dra-fleet:fleet`.

    Args:
        settings: Plain data, as read from JSON or YAML.

    Raises:
        SettingsInvalid: With every error that is known from the file alone.
    """
    text = _as_json(settings)
    sealed = list(_secure_values(settings, ()))
    errors = [
        SettingsError(
            path=under(*location),
            what="a secret here would be stored in the state as plain text",
            fix="store the secret under another key of the stack's configuration, and write that key here",
        )
        for location in sealed
    ]
    try:
        # As JSON, because that is what the engine hands over, and strict mode takes lists for tuples there.
        parsed = FleetSettings.model_validate_json(text, by_alias=True, by_name=False)
    except ValidationError as invalid:
        details = invalid.errors(include_url=False)
        reported = details[:MOST_ERRORS]
        found = [error for detail in reported if (error := translate(detail, settings)) is not None]
        hidden = tuple(f"{error.path}{end}" for error in errors for end in (".", "[", ":"))
        errors += [error for error in _of_one_cause(found) if not f"{error.path}:".startswith(hidden)]
        if len(details) > len(reported):
            more = f"{len(details) - len(reported)} more errors are shown after you fix these"
            errors.append(SettingsError(path=KEY, what=more))
        raise SettingsInvalid(errors) from None
    if errors:
        raise SettingsInvalid(errors)
    return parsed


def _of_one_cause(found: list[SettingsError]) -> list[SettingsError]:
    """Merge a missing key with the unknown key that was written for it, and the keys of another form."""
    mappings: dict[str, list[SettingsError]] = {}
    for error in found:
        mappings.setdefault(error.path.rpartition(".")[0], []).append(error)
    return [error for path, errors in mappings.items() for error in _of_mapping(path, errors)]


def _of_mapping(path: str, errors: list[SettingsError]) -> Iterator[SettingsError]:
    unknown = [error for error in errors if error.what.startswith("unknown key")]
    meant = {f"{path}.{name[1]}" for error in unknown if (name := _MEANT.fullmatch(error.fix))}
    missing = [error for error in errors if error.what == "is required" and error.path not in meant]
    strange = [error for error in unknown if error.fix.startswith(_REMOVE)]
    names = " and ".join(error.path.rpartition(".")[2] for error in missing) if len(strange) == 1 else ""
    forms = [error for error in errors if error.what == _FORMS]
    for error in errors:
        if names and error in strange:
            yield replace(error, fix=f"write {names} instead")
        elif error in forms[:1]:
            yield replace(error, got=", ".join(one.got for one in forms))
        elif error not in forms and error.path not in meant and not (names and error in missing):
            yield error


def _as_json(settings: Mapping[str, Any]) -> str:
    try:
        return json.dumps(settings, default=str)
    except (ValueError, TypeError, RecursionError):
        # A YAML anchor that holds itself, or a key that is not a scalar.
        what = "a value contains itself, or a key is not a string"
        raise SettingsInvalid(
            [SettingsError(path=KEY, what=what, fix="write it without YAML anchors")]
        ) from None


def _secure_values(value: object, location: Location) -> list[Location]:
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        if set(fields) == {"secure"}:
            return [location]
        return [found for key, item in fields.items() for found in _secure_values(item, (*location, key))]
    if isinstance(value, list):
        items = enumerate(cast("list[object]", value))
        return [found for index, item in items for found in _secure_values(item, (*location, index))]
    return []


def translate(detail: ErrorDetails, settings: Mapping[str, Any]) -> SettingsError | None:
    """Return one of pydantic's errors as a SettingsError; None if another error reports the same cause."""
    location = _written(detail["loc"], settings)
    context = detail.get("ctx", {})
    kind = detail["type"]
    got: object = detail["input"]
    if kind == "extra_forbidden":
        return _unknown_key(location, settings)
    if kind.startswith("union_tag"):
        return _unknown_tag(location, str(context["discriminator"]).strip("'"), settings)
    if kind == "too_short" and _length(got) >= context["min_length"]:
        return None  # entries that are wrong are not counted, and what is wrong with them is reported
    if kind == "refused":
        at: object = context["at"]
        location += at if isinstance(at, tuple) else tuple(str(at).split(".")) if at else ()
        said: dict[str, Any] = {key: str(context[key]) for key in ("what", "allowed", "fix")}
        if location[-1] == "class" and isinstance(got, str) and "/" in got:
            said = {
                "what": "is an extended resource, not a DeviceClass",
                "fix": "name a class; a pod requests extended resources in its limits",
            }
    elif kind == "missing":
        return SettingsError(
            path=under(*location),
            what="is required",
            allowed=described(location, settings),
            fix=f"add {location[-1]}: …",
        )
    elif kind == "string_pattern_mismatch":
        allowed = described(location, settings) or f"text that matches {context['pattern']}"
        said = {"what": "invalid format", "allowed": allowed}
    else:
        said = _standard(detail, location, settings)
    text = shown(got)
    is_cut = kind == "refused" and text.startswith("{") and text.endswith("…")
    return SettingsError(path=under(*location), got="" if is_cut else text, **said)


def _unknown_key(location: Location, settings: Mapping[str, Any]) -> SettingsError:
    unknown = str(location[-1])
    known = keys(location[:-1], settings)
    meant = _SYNONYMS.get(unknown, unknown)
    near = nearest(meant, known)
    elsewhere = clouds_with(location[:-1], unknown, settings)
    is_set = bool(near) and _at((*location[:-1], near[0]), settings) is not None
    what, fix = "unknown key", ("" if is_set else mistyped(meant, known)) or _REMOVE
    begun, _, rest = unknown.partition(":")
    if begun in known and rest:
        fix = f"write a space after the colon: {begun}: {rest}"
    if unknown in known:
        return SettingsError(
            path=under(*location),
            what=_FORMS,
            got=unknown,
            fix=f"keep one form; {unknown}: null removes the key of an extended file",
        )
    if elsewhere:
        what = f"unknown key for cloud {settings['clusters'][location[1]]['cloud']}"
        fix = f"{_REMOVE}; only {', '.join(elsewhere)} {'has' if len(elsewhere) == 1 else 'have'} this key"
    return SettingsError(
        path=under(*location),
        what=what,
        got=unknown,
        allowed=", ".join([*near, *(key for key in known if key not in near)]),
        fix=fix,
    )


def _unknown_tag(location: Location, tag: str, settings: Mapping[str, Any]) -> SettingsError:
    """Return the error of a mapping whose tag selects none of several models."""
    allowed = tags(location, settings, tag)
    here = _at(location, settings)
    got = below(here, tag)
    path = under(*location, tag)
    if got is None:
        written = list(cast("Mapping[str, object]", here)) if isinstance(here, Mapping) else list[str]()
        strange = [key for key in written if key not in keys(location, settings)]
        if len(strange) == 1:
            return SettingsError(
                path=under(*location, strange[0]),
                what="unknown key",
                got=strange[0],
                fix=f"write {tag} instead",
            )
        return SettingsError(path=path, what="is required", allowed=", ".join(allowed), fix=f"add {tag}: …")
    return SettingsError(
        path=path,
        what=f"unknown {tag}",
        got=shown(got),
        allowed=", ".join(allowed),
        fix=mistyped(clouds.of_vendor(str(got)) if tag == "cloud" else str(got), allowed),
    )


def _standard(detail: ErrorDetails, location: Location, settings: Mapping[str, Any]) -> dict[str, str]:
    kind, message, got, context = detail["type"], detail["msg"], detail["input"], detail.get("ctx", {})
    if kind in TYPE_NAMES:
        meaning = described(location, settings)
        known = _keys_of(location, settings) if kind in _MAPPINGS else ""
        is_required = bool(location) and location[-1] in required(location[:-1], settings)
        fix = _other_type(kind, got, meaning)
        if got is None:
            fix = "give it a value" if is_required else "give it a value, or remove the key"
        return {"what": f"must be {TYPE_NAMES[kind]}", "allowed": known or meaning, "fix": fix}
    if kind in _BOUNDS:
        return {"what": _BOUNDS[kind](context)}
    if kind == "literal_error":
        expected = str(context["expected"])
        return {
            "what": "unknown key" if detail["loc"][-1] == "[key]" else "unknown value",
            "allowed": expected.replace("'", ""),
            "fix": mistyped(got, _QUOTED.findall(expected)) if isinstance(got, str) else "",
        }
    return {"what": message[:1].lower() + message[1:]}


def _other_type(kind: str, got: object, meaning: str) -> str:
    """Return how to write a value that YAML reads as another type than intended."""
    text = got if isinstance(got, str) else ""
    if kind == "string_type":
        is_plain = isinstance(got, bool | int | float)
        return f"put it in quotes as you wrote it, for example {json.dumps(shown(got))}" if is_plain else ""
    if kind == "bool_type" and text.lower() in _BOOLEANS:
        return f"write {_BOOLEANS[text.lower()]}"
    if kind == "tuple_type" and not isinstance(got, list):
        return "write it in brackets, as a list"
    if kind == "int_type" and text.isdecimal():
        return f"write it without quotes: {text}"
    number = _GIB.fullmatch(text) if kind == "int_type" and "GiB" in meaning else None
    whole = f"{got:.0f}" if kind == "int_type" and isinstance(got, float) and got.is_integer() else ""
    return f"write {number[1] if number else whole}" if number or whole else ""


def _keys_of(location: Location, settings: Mapping[str, Any]) -> str:
    known = keys(location, settings)
    return f"a mapping with the keys {', '.join(known)}" if known else ""


def _length(value: object) -> int:
    return len(cast("list[object]", value)) if isinstance(value, list) else 0


def _at(location: Location, settings: Mapping[str, Any]) -> object:
    """Return the value at a location, or None."""
    return reduce(below, location, cast("object", settings))


def _written(location: Location, settings: Mapping[str, Any]) -> Location:
    """Return the location without the union tags that pydantic adds."""
    written: list[str | int] = []
    here: object = settings
    for part in location:
        if _is_between(here, part) or _is_tag(here, part):
            continue
        here = below(here, part)
        written.append(part)
    return tuple(written)


def _is_between(value: object, part: str | int) -> bool:
    """Return True if pydantic added the part, so that it is not a key."""
    if not isinstance(part, str) or not (part.startswith("<") or part == "[key]"):
        return False
    return not isinstance(value, Mapping) or part not in cast("Mapping[object, object]", value)


def _is_tag(value: object, part: str | int) -> bool:
    if not isinstance(value, Mapping):
        return False
    fields = cast("Mapping[str | int, object]", value)
    return part not in fields and part in (fields.get("cloud"), fields.get("strategy"))


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
    """Return the allowed values: words, a type with its bounds, or sections with more."""
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
    return " or ".join(_TYPES_OF_KEYS[name] for name in kinds) + _bounds(node)


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
    """Return the description of a key or of its value."""
    own = _reported(node) or next((_reported(below) for below in _below(node) if _reported(below)), "")
    named = [models[name] for name in _models_in(node)]
    said = own or (str(named[0].get("description", "")) if len(named) == 1 else "")
    return said.replace("\n", " ").replace("|", r"\|")


def _reported(node: Node) -> str:
    return str(node.get("description", ""))


def _below(node: Node) -> list[Node]:
    items = [node["items"]] if "items" in node else []
    return [*node.get("anyOf", ()), *items]
