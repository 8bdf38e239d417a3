"""The schema of the package for other languages: clusters, and the separate resources.

https://www.pulumi.com/docs/iac/extending-pulumi/schema/
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Collection, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from types import UnionType
from typing import Any, Final, Literal, Union, cast, get_args, get_origin, get_type_hints

import pulumi

from dra_fleet import clouds
from dra_fleet.fleet import FleetSettings
from dra_fleet.fleet.parsing import FLEET, sections
from dra_fleet.fleet.stack_file import EXTENDS
from dra_fleet.model.settings import StackOutput

from .parts import OUTPUTS, PACKAGE, PARTS, token
from .program.arguments import key_of
from .program.claims import DeviceRequestArgs, DeviceRequestArgsDict, ResourceClaim, ResourceClaimTemplate
from .program.cluster import Cluster
from .program.compute_domain import ComputeDomain
from .program.demand import Demand
from .program.device_class import DeviceClass
from .program.drivers import DraDriver, GpuOperator
from .program.pool import GpuNodePool
from .program.queue import Queue

VERSION: Final = version("dra-fleet")
KUBECONFIG: Final = "kubeconfig"
KUBECONFIGS: Final = "kubeconfigs"
CLUSTER: Final = "cluster"
CLUSTERS: Final = "clusters"
LANGUAGES: Final[Mapping[str, Mapping[str, Any]]] = {
    "nodejs": {"dependencies": {"@pulumi/pulumi": "^3.215.0"}},  # the newest that runs on Node 20
    "python": {},
    "go": {"importBasePath": "example.com/dra-fleet/sdk/go/drafleet"},
    "csharp": {},
}
_ANY: Final[Mapping[str, Any]] = {"$ref": "pulumi.json#/Any"}
_MAP: Final[Mapping[str, Any]] = {"type": "object", "additionalProperties": _ANY}
_REFERENCE: Final = "#/$defs/"
_OUTPUT: Final[Mapping[str, str]] = {"$ref": f"{_REFERENCE}{StackOutput.__name__}"}
_OF_CLUSTER: Final = "cloud"
_PRIMITIVES: Final = frozenset({"string", "integer", "number", "boolean"})


def cluster_tokens() -> dict[str, str]:
    """Return the clouds by the tokens of the resources that are one cluster: `AksCluster` for AKS."""
    return {token(f"{cloud.capitalize()}Cluster"): cloud for cloud in clouds.BUILT_IN}


@cache
def schema() -> dict[str, Any]:
    """Return the package's schema: a fleet, any cluster, and a cluster of each cloud, with typed inputs."""
    fleet = FleetSettings.model_json_schema(by_alias=True)
    types = Types(cast("Mapping[str, Mapping[str, Any]]", fleet["$defs"]))
    meanings = {key.name: key.meaning for key in sections()[FLEET].keys}
    declared = {key: value for key, value in fleet["properties"].items() if key != EXTENDS}
    keys: dict[str, dict[str, Any]] = {
        key: {**types.of(value, key.capitalize()), "description": meanings[key]}
        for key, value in declared.items()
    }
    required = [key for key in fleet["required"] if key in keys]
    alone = [key for key in required if key != CLUSTERS]
    of_cluster = {key: value for key, value in keys.items() if key != CLUSTERS}
    any_cluster: dict[str, Any] = {
        **cast("Mapping[str, Any]", keys[CLUSTERS]["additionalProperties"]),
        "plain": True,
        "description": "The cluster, as under `clusters` of a fleet",
    }
    resources = {
        token("Fleet"): _resource(str(FleetSettings.__doc__), {**keys, KUBECONFIGS: _SECRETS}, required),
        token("Cluster"): _resource(
            "One cluster with its pools and drivers.",
            {**of_cluster, CLUSTER: any_cluster, KUBECONFIGS: _SECRETS},
            [*alone, CLUSTER],
        ),
    }
    for resource, cloud in cluster_tokens().items():
        model = types.model(clouds.named(cloud).settings.__name__)
        own = {key: value for key, value in model["properties"].items() if key != _OF_CLUSTER}
        optional = {"drivers", "pools"} if KUBECONFIG in own else {"drivers"}
        needed = [key for key in model["required"] if key in own and key not in optional]
        if KUBECONFIG in own:
            own[KUBECONFIG] = _SECRET
        inputs = {**own, **{key: value for key, value in of_cluster.items() if key not in own}}
        resources[resource] = _resource(str(model["description"]), inputs, [*alone, *needed])
    references: dict[type, list[str]] = {Cluster: list(cluster_tokens())}
    for part in PARTS.values():
        references[part] = [found for found, other in PARTS.items() if issubclass(other, part)]
    arguments = Arguments(types, references)
    for found, part in PARTS.items():
        inputs, needed = arguments.of(part)
        resources[found] = _resource(arguments.meaning(part), inputs, needed) | _outputs_of(part)
    return {
        "name": PACKAGE,
        "version": VERSION,
        "description": "GPU fleets with Dynamic Resource Allocation, proved at preview.",
        "types": types.written,
        "resources": resources,
        "language": {name: {"respectSchemaVersion": True, **more} for name, more in LANGUAGES.items()},
    }


_SECRET: Final[Mapping[str, Any]] = {
    "type": "string",
    "secret": True,
    "description": "Content of the cluster's kubeconfig, also as an output of another resource",
}
_SECRETS: Final[Mapping[str, Any]] = {
    "type": "object",
    "additionalProperties": {"type": "string"},
    "secret": True,
    "description": "Kubeconfigs by the names that clusters give them: kubeconfig: {secret: NAME}",
}
_OUTPUTS: Final[Mapping[str, Any]] = {
    CLUSTERS: {**_MAP, "description": "By name: pools, drivers, classes, templates, claims, workloads"},
    KUBECONFIGS: {**_SECRETS, "description": "Kubeconfigs of the clusters that have one, by name"},
}


def _resource(description: str, inputs: Mapping[str, Any], required: Sequence[str]) -> dict[str, Any]:
    return {
        "isComponent": True,
        "description": description,
        "inputProperties": inputs,
        "requiredInputs": sorted(required),
        "properties": _OUTPUTS,
        "required": sorted(_OUTPUTS),
    }


def _outputs_of(part: type) -> dict[str, Any]:
    outputs = OUTPUTS.get(part, ())
    return {
        "properties": {key: {"type": "string", "description": meaning} for key, meaning, _ in outputs},
        "required": [key for key, *_ in outputs],
    }


class Types:
    """Types of the package, written when a property first refers to them.

    Args:
        models: Definitions of the settings models' JSON Schema.

    Attributes:
        written: Types of the package by token.
    """

    def __init__(self, models: Mapping[str, Mapping[str, Any]]) -> None:
        self._models = models
        self.written: dict[str, Any] = {}

    def model(self, name: str) -> dict[str, Any]:
        """Return the object type of a settings model."""
        self._refer(name)
        return self.written[token(name)]

    def settings(self, models: Sequence[str]) -> dict[str, dict[str, Any]]:
        """Return the JSON Schema of the keys of models. A key of several models has the types of all."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for model in models:
            for key, value in self._models[model]["properties"].items():
                found.setdefault(key, []).append(value)
        return {key: {**_merged(kinds), **_meaning(*kinds)} for key, kinds in found.items()}

    def item(self, model: str, key: str) -> str:
        """Return the model of the values of a model's mapping."""
        return str(self._models[model]["properties"][key]["additionalProperties"]["$ref"]).removeprefix(
            _REFERENCE
        )

    def of(self, value: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return the type of a property: a plain value, if the proof reads it.

        Args:
            value: JSON Schema of the property.
            name: Name for an enum of the property.
        """
        return {"plain": True, **self._of(value, name)}

    def _of(self, value: Mapping[str, Any], name: str) -> dict[str, Any]:
        if "$ref" in value:
            return self._refer(str(value["$ref"]).removeprefix(_REFERENCE))
        if "enum" in value:
            return self.enum(value["enum"], name)
        options = [one for one in value.get("anyOf", value.get("oneOf", ())) if one.get("type") != "null"]
        if _OUTPUT in options and any(one.get("type") == "string" for one in options):
            return {"type": "string", "plain": False}  # of other resources, other stacks' outputs among them
        if options:
            return self._union(value, options, name)
        return self._value(value, name)

    def _value(self, value: Mapping[str, Any], name: str) -> dict[str, Any]:
        kind = value.get("type")
        if isinstance(kind, list):
            return self._union(value, [{"type": one} for one in cast("list[str]", kind)], name)
        if isinstance(kind, str) and kind in _PRIMITIVES:
            return {"type": kind}
        if kind == "array" and "items" in value:
            return {"type": "array", "items": self.of(value["items"], name)}
        items = value.get("additionalProperties")
        if "patternProperties" in value:
            (items,) = value["patternProperties"].values()
        if kind == "object" and isinstance(items, Mapping):
            return {"type": "object", "additionalProperties": self.of(cast("Mapping[str, Any]", items), name)}
        return {**_MAP} if kind == "object" else {**_ANY}

    def _union(
        self, value: Mapping[str, Any], options: Sequence[Mapping[str, Any]], name: str
    ) -> dict[str, Any]:
        members = {str(one): one for one in (self.of(option, name) for option in options)}
        if len(members) == 1:
            return next(iter(members.values()))
        union: dict[str, Any] = {"oneOf": [*members.values()]}
        if "discriminator" in value:
            found = value["discriminator"]["mapping"]
            mapping = {word: local(str(one).removeprefix(_REFERENCE)) for word, one in found.items()}
            union["discriminator"] = {
                "propertyName": value["discriminator"]["propertyName"],
                "mapping": mapping,
            }
        return union

    def enum(self, words: Sequence[object], name: str) -> dict[str, Any]:
        """Return the type of one of several words."""
        if not all(isinstance(word, str) for word in words):
            return {**_ANY}
        self.written[token(name)] = {"type": "string", "enum": [_word(word) for word in words]}
        return {"$ref": local(name)}

    def _refer(self, name: str) -> dict[str, Any]:
        model = self._models[name]
        if "properties" not in model:
            return self._of(model, name)
        if token(name) not in self.written:
            self.written[token(name)] = {}  # a model may refer to itself
            self.written[token(name)] = {
                "type": "object",
                "description": str(model.get("description", "")),
                "properties": {
                    key: self.property(value, f"{name}{key[:1].upper()}{key[1:]}")
                    for key, value in model["properties"].items()
                },
                # The resource of one cluster is the cluster of its workloads.
                "required": [key for key in model.get("required", ()) if key != CLUSTER],
            }
        return {"$ref": local(name)}

    def property(self, value: Mapping[str, Any], name: str) -> dict[str, Any]:
        """Return a property of an object, with its description."""
        found = self.of({"type": "string"} if "const" in value else value, name)
        if "const" in value:
            found["const"] = value["const"]
        return {**found, **_meaning(value)}


def _meaning(*kinds: Mapping[str, Any]) -> dict[str, str]:
    """Return the first description."""
    every = (one for kind in kinds for one in (kind, *kind.get("anyOf", ())))
    texts = [{"description": str(one["description"])} for one in every if "description" in one]
    return texts[0] if texts else {}


_NOTES: Final = frozenset({"default", "description", "title"})


def _merged(kinds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the JSON Schema of values that one of several schemas accepts."""
    plain = [{word: item for word, item in kind.items() if word not in _NOTES} for kind in kinds]
    distinct = [kind for at, kind in enumerate(plain) if kind not in plain[:at]]
    if len(distinct) == 1:
        return dict(distinct[0])
    options = [one for kind in distinct for one in kind.get("anyOf", kind.get("oneOf", [kind]))]
    enums = [one for one in options if "enum" in one]
    words = [word for one in enums for word in one["enum"]]
    others = [one for one in options if "enum" not in one]
    return {"anyOf": [*([{"enum": [*dict.fromkeys(words)], "type": "string"}] if words else []), *others]}


def _word(word: object) -> dict[str, object]:
    return {"value": word} if word else {"value": word, "name": "Default"}


def local(name: str) -> str:
    """Return the reference to a type of the package."""
    return f"#/types/{token(name)}"


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

_NAMES_OF_TYPES: Final[Mapping[object, str]] = {
    str: "string",
    int: "integer",
    bool: "boolean",
    float: "number",
}
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
        if hint in _NAMES_OF_TYPES:
            return {"type": _NAMES_OF_TYPES[hint], "plain": True}
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
