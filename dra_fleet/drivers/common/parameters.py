"""Opaque parameters of claims and classes, which only the driver reads, and only when it prepares a device.

Most decode strictly: an unknown field, or a value whose feature gate is off, leaves the pod in
ContainerCreating.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from ipaddress import ip_address, ip_interface
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from msgspec import Struct
from pydantic import Field

from dra_fleet.core.facts import Entry, Fact
from dra_fleet.core.findings.errors import Refusal, choices, mistyped, shown
from dra_fleet.drivers.common.values import CPU_SET_WORDS, is_cpu_set, value_at
from dra_fleet.kubernetes.devices.quantity import Quantity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.installed import Installed


ParameterType = Literal[
    "string",
    "integer",
    "boolean",
    "quantity",
    "deviceLimits",
    "booleans",
    "network",
    "address",
    "hardwareAddress",
    "interface",
    "cpuSet",
]
"""The type of a field of opaque parameters; `deviceLimits` maps a device's index or UUID to a quantity."""


class ParameterField(Fact):
    """A field of a driver's opaque parameters, by its dotted path, such as `routes[].gateway`.

    `gates`: per allowed value the driver's feature gate that it needs. `least` and `most`: bounds of a
    number or quantity. `requires_field`: `field=value` that is required with it; `not_with`: a field that is
    not allowed with it. `unless`: `field=value` of its section with which it is not required. `since`: the
    first chart version. `instead`: the fix for a value that a controller writes.
    """

    name: str
    type: ParameterType
    required: bool = False
    unless: str | None = None
    allowed: tuple[str, ...] = ()
    gates: Mapping[str, str] = Field(default_factory=dict)
    least: str | None = None
    most: str | None = None
    requires_field: str | None = None
    not_with: str | None = None
    since: str | None = None
    instead: str | None = None


class ParameterKind(Entry):
    """A kind of opaque parameters, which a driver decodes only when it prepares a device.

    `head`: which of `apiVersion` and `kind` its driver reads; without them, it has one kind. `is_strict`:
    whether it refuses fields that it does not know; else it ignores them.
    `device_types`: the devices that it can be asked for by name of their request. `since`: the first chart
    version whose driver decodes it. `only_with`: the chart values with which its driver reads it.
    """

    api_version: str = ""
    kind: str
    driver: str
    head: tuple[Literal["apiVersion", "kind"], ...] = ("apiVersion", "kind")
    is_strict: bool = True
    device_types: tuple[str, ...] = ()
    since: str | None = None
    only_with: Mapping[str, str] = Field(default_factory=dict)
    fields: tuple[ParameterField, ...]


_HARDWARE: Final = re.compile(r"[0-9A-Fa-f]{2}([:-][0-9A-Fa-f]{2}){5}(([:-][0-9A-Fa-f]{2}){2})?")

_INTERFACE: Final = re.compile(r"(?!\.{1,2}$)[\w.-]{1,15}")


def _anything(text: str) -> bool:
    del text
    return True


def _reads(reader: Callable[[str], object], text: str) -> bool:
    try:
        reader(text)
    except ValueError:
        return False
    return True


def _network(text: str) -> bool:
    return "/" in text and _reads(ip_interface, text)


class FieldType(Struct, frozen=True, kw_only=True):
    """A type of parameter fields.

    Attributes:
        types: Python types of a value in YAML.
        words: the type in messages.
        is_right: check of a text.
    """

    types: tuple[type, ...]
    words: str
    is_right: Callable[[str], bool] = _anything


TYPES: Final[Mapping[ParameterType, FieldType]] = {
    "string": FieldType(types=(str,), words="a string"),
    "integer": FieldType(types=(int,), words="a whole number"),
    "boolean": FieldType(types=(bool,), words="true or false"),
    "quantity": FieldType(types=(str, int), words="a quantity, such as 10Gi"),
    "deviceLimits": FieldType(types=(Mapping,), words="a mapping of quantities by a device's index or UUID"),
    "booleans": FieldType(types=(Mapping,), words="a mapping of names to true or false"),
    "network": FieldType(
        types=(str,), words="an address with its prefix, such as 10.0.0.0/8", is_right=_network
    ),
    "address": FieldType(types=(str,), words="an IP address", is_right=partial(_reads, ip_address)),
    "hardwareAddress": FieldType(
        types=(str,), words="a MAC address", is_right=lambda text: bool(_HARDWARE.fullmatch(text))
    ),
    "interface": FieldType(
        types=(str,),
        words="an interface's name of at most 15 letters, digits, '-', '_' and '.'",
        is_right=lambda text: bool(_INTERFACE.fullmatch(text)),
    ),
    "cpuSet": FieldType(types=(str,), words=CPU_SET_WORDS, is_right=is_cpu_set),
}

_ITEM = re.compile(r"(.*)\[([0-9]+)\]")

_DEVICE = re.compile(r"[+]?[0-9]+|[A-Z]+-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


def unread_parameters(publisher: str, installed: Installed) -> Refusal | None:
    """Return why a driver with its chart values ignores parameters of any kind; None if it reads some.

    Args:
        publisher: the driver's name, `opaque.driver`.
        installed: the driver as it runs.
    """
    kinds = [
        kind for kind in installed.facts.parameters_in(installed.version.version) if kind.driver == publisher
    ]
    unmet = [
        {key: value for key, value in kind.only_with.items() if value_at(installed.values, key) != value}
        for kind in kinds
    ]
    if not unmet or not all(unmet):
        return None
    values = ", ".join(f"{key}: {value}" for key, value in unmet[0].items())
    return Refusal(
        what=f"is not read: driver {publisher} reads parameters only if its chart's values have {values}",
        fix=f"remove the entry of config, or set {values}",
    )


def check_parameters(publisher: str, parameters: Mapping[str, Any], installed: Installed) -> list[Refusal]:
    """Return the opaque parameters that a driver would reject or ignore; none if its fields are unknown.

    Args:
        publisher: the driver's name, `opaque.driver`.
        parameters: `opaque.parameters`.
        installed: the driver as it runs.
    """
    if installed.facts.parameters is None:
        return []
    decoded = installed.facts.parameters_in(installed.version.version)
    known = [kind for kind in decoded if kind.driver == publisher]
    if not known:
        version = installed.version.version
        what = f"is read by no one: driver {publisher} takes no parameters in version {version}"
        return [Refusal(path="", what=what, got=shown(parameters), fix="remove the entry of config")]
    name, api = parameters.get("kind"), parameters.get("apiVersion")
    reported = {"kind": name, "apiVersion": api}
    kind = next(
        (item for item in known if all(reported[key] == _heads(item)[key] for key in item.head)), None
    )
    if kind is None:
        names = [item.kind for item in known]
        wrong, article = ("kind", "a") if api == known[0].api_version else ("apiVersion", "an")
        meant = next((item for item in known if item.kind == name), None)
        meant = meant if wrong == "apiVersion" and meant is not None and meant.api_version else None
        corrected = {} if meant is None else {**parameters, "apiVersion": meant.api_version}
        rest = check_parameters(publisher, corrected, installed) if corrected else []
        return [
            *rest,
            Refusal(
                path=wrong,
                what=f"is not {article} {wrong} that driver {publisher} decodes",
                got=shown(parameters.get(wrong)),
                allowed=choices(str(name), names) if wrong == "kind" else known[0].api_version,
                fix=mistyped(str(name), names) if wrong == "kind" else f"apiVersion: {known[0].api_version}",
            ),
        ]
    kind, found = (
        kind.model_copy(update={"fields": tuple(_itemized(kind, parameters))}),
        _no_lists(kind, parameters),
    )
    return [
        *found,
        *_unknown(kind, parameters, {refusal.path for refusal in found}),
        *_sections(kind, parameters),
        *_fields(kind, parameters, installed),
    ]


def limited_devices(
    publisher: str, parameters: Mapping[str, Any], installed: Sequence[Installed]
) -> Iterator[tuple[str, Sequence[str]]]:
    """Return the fields that set limits by device, each with the indexes and UUIDs that it names.

    Args:
        publisher: the driver's name.
        parameters: `opaque.parameters`.
        installed: the drivers as they run.
    """
    for running in installed:
        for kind in running.facts.parameters_in(running.version.version):
            if (kind.driver, kind.kind) != (publisher, parameters.get("kind")):
                continue
            for field in kind.fields:
                limits = _at(parameters, field.name)
                if field.type == "deviceLimits" and isinstance(limits, Mapping):
                    yield field.name, list(cast("Mapping[str, Any]", limits))


def _heads(kind: ParameterKind) -> Mapping[str, str]:
    return {"kind": kind.kind, "apiVersion": kind.api_version}


def _itemized(kind: ParameterKind, parameters: Mapping[str, Any]) -> Iterator[ParameterField]:
    """Yield the fields of a kind; a list's field once per item."""
    for field in kind.fields:
        listed, is_listed, rest = field.name.partition("[]")
        items = _at(parameters, listed) if is_listed else None
        if not is_listed:
            yield field
        elif isinstance(items, list):
            for index, _ in enumerate(cast("list[object]", items)):
                yield field.model_copy(update={"name": f"{listed}[{index}]{rest}"})


def _no_lists(kind: ParameterKind, parameters: Mapping[str, Any]) -> list[Refusal]:
    listed = sorted({field.name.partition("[]")[0] for field in kind.fields if "[]" in field.name})
    return [
        Refusal(path=name, what="must be a list", got=shown(value), allowed="a list")
        for name in listed
        if (value := _at(parameters, name)) is not None and not isinstance(value, list)
    ]


def _sections_of(kind: ParameterKind) -> frozenset[str]:
    sections = {field.name.rpartition(".")[0] for field in kind.fields} - {""}
    return frozenset(sections | {name.rpartition(".")[0] for name in sections} - {""})


def _sections(kind: ParameterKind, parameters: Mapping[str, Any]) -> Iterator[Refusal]:
    """Report sections that are not mappings, or that must not be empty."""
    for section in sorted(_sections_of(kind)):
        value = _at(parameters, section)
        if value is None:
            continue
        if not isinstance(value, Mapping):
            yield Refusal(path=section, what="must be a mapping", got=shown(value), allowed="a mapping")
        elif not value:
            fields = [field for field in kind.fields if field.name.startswith(f"{section}.")]
            misplaced = {_misplaced(field, parameters) for field in fields}
            if len(misplaced) == 1 and (needed := misplaced.pop()):
                yield _out_of_place(section, needed, parameters)


def _unknown(kind: ParameterKind, parameters: Mapping[str, Any], reported: Collection[str]) -> list[Refusal]:
    names = [item.name for item in kind.fields]
    sections = _sections_of(kind)
    known = [*names, *sections]
    then = "the driver would refuse to prepare the device" if kind.is_strict else "the driver would ignore it"
    return [
        Refusal(
            path=key,
            what=f"is not a field of {kind.kind}; {then}",
            got=key,
            allowed=choices(key, known) if known else "no fields",
            fix=mistyped(key, known) or "remove it",
        )
        for key in _keys(parameters, frozenset(names), sections, "")
        if key not in known and key not in kind.head and key not in reported
    ]


def _keys(
    value: Mapping[str, Any], names: frozenset[str], sections: frozenset[str], prefix: str
) -> Iterator[str]:
    """Yield the dotted keys of fields. Unknown sections are not followed."""
    for name, item in value.items():
        key = f"{prefix}{name}"
        if key in sections and isinstance(item, Mapping):
            yield from _keys(cast("Mapping[str, Any]", item), names, sections, f"{key}.")
        elif isinstance(item, list) and (not item or f"{key}[0]" in names | sections):
            items = {f"{name}[{index}]": one for index, one in enumerate(cast("list[object]", item))}
            yield from _keys(items, names, sections, prefix)
        else:
            yield key


def _fields(kind: ParameterKind, parameters: Mapping[str, Any], installed: Installed) -> list[Refusal]:
    found: list[Refusal] = []
    version, gates = installed.version, installed.gates
    for field in kind.fields:
        section = field.name.rpartition(".")[0]
        value = _at(parameters, field.name)
        if value is None:
            needed = field.required and not _is_excused(field, section, parameters)
            if needed and (not section or isinstance(_at(parameters, section), Mapping)):
                found.append(
                    Refusal(path=field.name, what="is required", fix=field.instead or f"set {field.name}")
                )
            continue
        problem = _problem(field, value, parameters, installed)
        found += [problem] if problem is not None else _gate(field, value, version, gates)
    return found


def _is_excused(field: ParameterField, section: str, parameters: Mapping[str, Any]) -> bool:
    other, _, value = (field.unless or "").partition("=")
    return bool(other) and str(_at(parameters, f"{section}.{other}")) == value


def _problem(
    field: ParameterField, value: object, parameters: Mapping[str, Any], installed: Installed
) -> Refusal | None:
    kind, words = TYPES[field.type], TYPES[field.type].words
    is_one = isinstance(value, kind.types) and (field.type == "boolean" or not isinstance(value, bool))
    if not is_one or (isinstance(value, str) and not kind.is_right(value)):
        return Refusal(path=field.name, what=f"must be {words}", got=shown(value), allowed=words)
    if field.allowed and str(value) not in field.allowed:
        allowed = ", ".join(field.allowed)
        fix = mistyped(str(value), field.allowed)
        return Refusal(
            path=field.name, what="is rejected by the driver", got=str(value), allowed=allowed, fix=fix
        )
    running = installed.version.version
    if field.since is not None and installed.facts.is_older(running, field.since):
        what = f"is not a field before chart {field.since}"
        return Refusal(path=field.name, what=what, got=running, fix="remove it, or use that version")
    if needed := _misplaced(field, parameters):
        return _out_of_place(field.name, needed, parameters)
    if field.not_with and _at(parameters, field.not_with):
        what = f"is rejected beside {field.not_with}"
        return Refusal(path=field.name, what=what, got=shown(value), fix="remove one of them")
    return _limits(field, value) if field.type == "deviceLimits" else _bounds(field, value)


def _misplaced(field: ParameterField, parameters: Mapping[str, Any]) -> str:
    """Return the `field=value` that a field requires and lacks; empty if nothing is missing."""
    needed = field.requires_field or ""
    other, _, requested = needed.partition("=")
    return needed if needed and _at(parameters, other) != requested else ""


def _out_of_place(path: str, needed: str, parameters: Mapping[str, Any]) -> Refusal:
    other, _, requested = needed.partition("=")
    what = f"is rejected unless {other} is {requested}"
    return Refusal(path=path, what=what, got=str(_at(parameters, other)), fix=f"{other}: {requested}")


def _limits(field: ParameterField, value: object) -> Refusal | None:
    for key, limit in cast("Mapping[str, object]", value).items():
        path = f"{field.name}.{key}"
        if not _DEVICE.fullmatch(key):
            allowed = "a device's index, from 0, or its UUID"
            return Refusal(path=path, what="names no device", got=key, allowed=allowed)
        problem = _bounds(field.model_copy(update={"name": path, "type": "quantity"}), limit)
        if problem is not None:
            return problem
    return None


def _bounds(field: ParameterField, value: object) -> Refusal | None:
    if field.type not in ("integer", "quantity"):
        return None
    try:
        amount = Quantity.parse(str(value)).amount
    except ValueError as problem:
        return Refusal(path=field.name, what=str(problem), got=str(value), allowed="a quantity, such as 10Gi")
    if field.least is not None and amount < Quantity.parse(field.least).amount:
        return Refusal(path=field.name, what=f"must be at least {field.least}", got=str(value))
    if field.most is not None and amount > Quantity.parse(field.most).amount:
        return Refusal(path=field.name, what=f"must be at most {field.most}", got=str(value))
    return None


def _gate(
    field: ParameterField, value: object, version: ChartVersion, gates: Mapping[str, bool]
) -> list[Refusal]:
    gate = field.gates.get(str(value))
    if gate is None or gate not in version.feature_gates or gates.get(gate, False):
        return []
    return [
        Refusal(
            path=field.name,
            what=f"{value} needs the driver's feature gate {gate}, which is off: no pod with it would start",
            got=str(value),
            fix=f"featureGates: {{{gate}: true}} in the driver's chart values",
        )
    ]


def _at(value: object, dotted: str) -> object:
    for part in dotted.split("."):
        name, index = found.groups() if (found := _ITEM.fullmatch(part)) else (part, None)
        value = cast("Mapping[str, Any]", value).get(name) if isinstance(value, Mapping) else None
        if index is not None:
            value = cast("list[object]", value)[int(index)] if isinstance(value, list) else None
    return value
