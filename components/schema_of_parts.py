"""Inputs of the separate resources: arguments of the Python components, with the types of the settings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Final,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import pulumi

from dra_fleet import clouds

from .parts import token
from .program.arguments import key_of
from .program.claims import DeviceRequestArgs, DeviceRequestArgsDict, ResourceClaim, ResourceClaimTemplate
from .program.cluster import Cluster
from .program.compute_domain import ComputeDomain
from .program.demand import Demand
from .program.device_class import DeviceClass
from .program.drivers import DraDriver, GpuOperator
from .program.pool import GpuNodePool
from .program.queue import Queue

if TYPE_CHECKING:
    from .schema import Types

_MODELS: Final[Mapping[type, Sequence[str]]] = {
    DraDriver: ("DriverSettings",),
    GpuOperator: ("GpuOperatorSettings",),
    DeviceClass: ("IntentClass", "CelClass"),
    ResourceClaimTemplate: ("ClaimSettings",),
    ResourceClaim: ("ClaimSettings",),
    DeviceRequestArgs: ("ExactRequest",),
    ComputeDomain: ("ComputeDomainSettings",),
    Queue: ("ClusterQueueSettings", "QueuesSettings"),
    Demand: ("DemandSettings",),
}
"""Settings models with the types of arguments of the same name."""

_NAMES: Final = {
    **{one.__name__: one for one in (Mapping, Sequence, Cluster, pulumi.Output)},
    **dict.fromkeys(("Any", "T"), Any),
}
"""Names in annotations that only type checkers import."""

_PRIMITIVES: Final[Mapping[object, str]] = {str: "string", int: "integer", bool: "boolean", float: "number"}
_NOT_ALTERNATIVE: Final = {"admin_access", "first_available"}
_OF_PYTHON: Final = {"name", "options", "opts", "return"}
_ARGUMENT: Final = re.compile(r"^ {4}(\w+): (.+(?:\n {8}.+)*)", re.MULTILINE)


class Arguments:
    """Writes arguments of Python components as inputs.

    Args:
        types: Types of the package.
        references: Tokens of the resources that a class stands for.
    """

    def __init__(self, types: Types, references: Mapping[type, Sequence[str]]) -> None:
        self._types = types
        self._references = references
        self._pools = [
            types.item(clouds.named(cloud).settings.__name__, "pools") for cloud in clouds.BUILT_IN
        ]

    @staticmethod
    def meaning(part: type) -> str:
        """Return the first paragraph of a component's docstring."""
        return str(inspect.getdoc(part)).partition("\n\n")[0]

    def of(self, part: type) -> tuple[dict[str, Any], list[str]]:
        """Return the inputs of a component, and the keys of the required ones."""
        inputs = self._fields(part, get_type_hints(inspect.unwrap(part.__init__), localns=_NAMES))
        if part is GpuNodePool:
            others = self._types.settings(self._pools)
            inputs |= {
                key: {
                    **self._types.property(value, f"{part.__name__}{key[:1].upper()}{key[1:]}"),
                    "plain": True,
                }
                for key, value in others.items()
                if key not in inputs and key != "nodes"
            }
        parameters = inspect.signature(part).parameters.values()
        required = [one.name for one in parameters if one.default is one.empty and one.name not in _OF_PYTHON]
        return inputs, [key_of(argument) for argument in required]

    def _fields(self, kind: type, hints: Mapping[str, object]) -> dict[str, Any]:
        model = next((base for base in kind.__mro__ if base in _MODELS or base is GpuNodePool), kind)
        settings = self._types.settings(self._pools if model is GpuNodePool else _MODELS[model])
        text = next(doc for base in kind.__mro__ if _ARGUMENT.search(doc := inspect.getdoc(base) or ""))
        meanings = {name: " ".join(words.split()) for name, words in reversed(_ARGUMENT.findall(text))}
        found: dict[str, Any] = {}
        for argument, hint in hints.items():
            if argument in _OF_PYTHON and kind is not DeviceRequestArgs:
                continue
            key = key_of(argument)
            name = f"{kind.__name__.removesuffix('Args')}{key[:1].upper()}{key[1:]}"
            own = key not in settings or self._refers(hint)
            value = self._hint(hint, name) if own else self._types.of(settings[key], name)
            found[key] = {**value, "description": meanings[argument]}
        return found

    def _refers(self, hint: object) -> bool:
        """Return whether the settings lack the type of an argument: components, Outputs or words."""
        own = {*self._references, DeviceRequestArgs, pulumi.Output, Literal}
        return own & {hint, get_origin(hint)} != set() or any(self._refers(item) for item in get_args(hint))

    def _hint(self, hint: object, name: str) -> dict[str, Any]:
        origin, items = get_origin(hint), get_args(hint)
        if origin in {Union, UnionType} or hint in self._references:
            options = items or [hint]
            return self._union([item for item in options if item is not type(None)], name)
        if origin is Literal:
            return {"plain": True, **self._types.enum(items, name)}
        if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
            return self._several("object", "additionalProperties", self._hint(items[1], name))
        if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
            return self._several("array", "items", self._hint(items[0], name))
        if hint in _PRIMITIVES:
            return {"type": _PRIMITIVES[hint], "plain": True}
        if hint is DeviceRequestArgs:
            alternative = name.startswith("DeviceRequest")
            request = ("DeviceAlternative", _NOT_ALTERNATIVE) if alternative else ("DeviceRequest", {"name"})
            return self._request(*request)
        raise TypeError(f"argument {name} has the type {hint}, which the schema does not know")

    def _request(self, name: str, without: Collection[str]) -> dict[str, Any]:
        """Return the type of a request with all fields except some."""
        if token(name) not in self._types.written:
            hints = get_type_hints(DeviceRequestArgs, localns=_NAMES)
            fields = {argument: hint for argument, hint in hints.items() if argument not in without}
            self._types.written[token(name)] = {
                "type": "object",
                "description": self.meaning(DeviceRequestArgs),
                "properties": self._fields(DeviceRequestArgs, fields),
            }
        return {"$ref": f"#/types/{token(name)}"}

    @staticmethod
    def _several(kind: str, key: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the type of a mapping or a list. If its values can be Outputs, it can be one too."""
        return {"type": kind, key: values, **({"plain": True} if "plain" in values else {})}

    def _union(self, options: Sequence[Any], name: str) -> dict[str, Any]:
        tokens = [token for option in options for token in self._references.get(option, ())]
        inputs = any(get_origin(option) is pulumi.Output for option in options)
        others = [
            self._hint(option, name)
            for option in options
            if option not in self._references
            and get_origin(option) not in {Awaitable, pulumi.Output}
            and option is not DeviceRequestArgsDict
        ]
        if inputs or tokens:
            for one in others:
                one.pop("plain", None)
        members = [*({"$ref": f"#/resources/{token}"} for token in tokens), *others]
        return members[0] if len(members) == 1 else {"oneOf": members}
