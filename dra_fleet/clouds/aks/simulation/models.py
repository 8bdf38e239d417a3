"""Holds inputs to the models and enums of azure-mgmt-containerservice.

The package is heavy, so it is loaded when the first AKS resource is checked.
Its API version is newer than the one the plugin's SDK speaks by default (2025-09-01): what only the newer
knows is accepted here, and cannot come from the typed SDK.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from enum import Enum
from typing import Any, Final, cast

from dra_fleet.rehearsal.clouds.cloud import Properties, WrongInput, is_unknown

_LIST_INSTEAD_OF_MAP: Final = frozenset({"userAssignedIdentities"})
"""The plugin takes a list where the API has a map of empty objects."""


@functools.cache
def _fields(model: str) -> dict[str, Any]:
    """The writable fields of a model by their name in JSON, with types; nested `properties` are flat."""
    from azure.mgmt.containerservice import models  # noqa: PLC0415 - loaded late, see above

    found = getattr(models, model)
    fields: dict[str, Any] = {}
    for name, hint in typing.get_type_hints(found, {**vars(models), "_models": models}).items():
        rest: Any = inspect.getattr_static(found, name, None)
        if type(rest).__name__ != "_RestField":
            continue
        if name == "properties":
            fields.update(_fields(_model_in(hint)))
        elif rest._visibility != ["read"]:  # noqa: SLF001 - the only place where it says so
            fields[rest._rest_name_input or name] = hint  # noqa: SLF001
    return fields


def faults(model: str, inputs: Properties, *, beside: frozenset[str]) -> list[WrongInput]:
    """What in the inputs does not fit the model.

    Args:
        model: such as "ManagedCluster".
        inputs: as the plugin's SDK names them.
        beside: keys that are no part of the model: the parts of the resource's path.
    """
    rest = {key: value for key, value in inputs.items() if key not in beside}
    return list(_model_faults(model, rest, ""))


def _model_faults(model: str, value: Properties, path: str) -> typing.Iterator[WrongInput]:
    fields = _fields(model)
    for key, item in value.items():
        place = f"{path}.{key}" if path else key
        if key not in fields:
            allowed = ", ".join(sorted(fields))
            yield WrongInput(path=place, reason=f"{key!r} is no property of {model}; it has: {allowed}")
        elif key not in _LIST_INSTEAD_OF_MAP:
            yield from _value_faults(fields[key], item, place)


def _value_faults(hint: Any, value: object, path: str) -> typing.Iterator[WrongInput]:  # noqa: ANN401 - a type
    if value is None or is_unknown(value):
        return
    options = _options(hint)
    enum = next((item for item in options if isinstance(item, type) and issubclass(item, Enum)), None)
    if enum is not None:
        known = [str(item.value) for item in enum]
        if not isinstance(value, str) or value.lower() not in {item.lower() for item in known}:
            yield WrongInput(path=path, reason=f"{value!r} is none of {', '.join(known)}")
        return
    yield from _shape_faults(options[0], value, path)


def _shape_faults(kind: Any, value: object, path: str) -> typing.Iterator[WrongInput]:  # noqa: ANN401 - a type
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is list and isinstance(value, list):
        for index, item in enumerate(cast("list[object]", value)):
            yield from _value_faults(arguments[0], item, f"{path}[{index}]")
    elif origin is dict and isinstance(value, dict):
        for key, item in cast("Properties", value).items():
            yield from _value_faults(arguments[1], item, f"{path}.{key}")
    elif origin is None and hasattr(kind, "_deserialize") and isinstance(value, dict):
        yield from _model_faults(kind.__name__, cast("Properties", value), path)
    elif not _is_a(kind, origin, value):
        wanted = _NAMES.get(origin or kind, "an object")
        yield WrongInput(path=path, reason=f"{value!r} must be {wanted}")


_NAMES: Final[dict[Any, str]] = {
    str: "a text", int: "a whole number", float: "a number", bool: "true or false",
    list: "a list", dict: "an object",
}  # fmt: skip


def _is_a(kind: Any, origin: Any, value: object) -> bool:  # noqa: ANN401 - types
    if origin is not None or hasattr(kind, "_deserialize"):
        return False  # a list, a map or a model, and the value is of another shape
    if kind is bool or isinstance(value, bool):
        return kind is bool and isinstance(value, bool)
    if kind is float:
        return isinstance(value, int | float)
    return not isinstance(kind, type) or kind not in _NAMES or isinstance(value, kind)


def _options(hint: Any) -> list[Any]:  # noqa: ANN401 - a type
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        members = [_options(item) for item in typing.get_args(hint) if item is not type(None)]
        return [item for group in members for item in group]
    return [hint]


def _model_in(hint: Any) -> str:  # noqa: ANN401 - a type
    return next(item.__name__ for item in _options(hint))
