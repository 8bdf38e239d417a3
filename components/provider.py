"""The components for programs in any language: what an engine may ask this package for, and what comes of it.

A program in TypeScript, Go or YAML declares `dra-fleet:index:Fleet`, with a stack file's keys as inputs, or a
cluster with its pools as `dra-fleet:index:Cluster`. What our own program does happens in that call: settings,
plan, proof, resources; what does not fit is an error at preview.
https://www.pulumi.com/docs/iac/packages-and-automation/pulumi-packages/
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from typing import Any, Final, cast

import pulumi
from pulumi.output import Unknown

from dra_fleet.core.findings.errors import KEY, ExpectedError
from dra_fleet.fleet import FleetSettings, parse
from dra_fleet.fleet.extending import EXTENDS
from dra_fleet.fleet.parsing import FLEET, sections
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import DoesNotFit

from .fleet_component import FleetComponent, FleetComponentArgs

PACKAGE: Final = KEY.partition(":")[0]
VERSION: Final = version("dra-fleet")
_KUBECONFIGS: Final = "kubeconfigs"
_CLUSTER: Final = "cluster"
_MAP: Final[Mapping[str, Any]] = {"type": "object", "additionalProperties": {"$ref": "pulumi.json#/Any"}}
_OF_ALL: Final = ("owner", "environment", "kubernetes", "budget")
"""What a cluster takes of a fleet's own keys."""


def made(
    name: str, resource_type: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None = None
) -> FleetComponent:
    """Make the component that an engine asks for.

    Args:
        name: the component's.
        resource_type: one of the schema's.
        inputs: as a program of any language gives them.
        options: of the component.

    Raises:
        pulumi.InputPropertiesError: an input is wrong, or the fleet does not fit; nothing is registered.
    """
    given = dict(inputs)
    kubeconfigs = cast("pulumi.Input[Mapping[str, pulumi.Input[str]]]", given.pop(_KUBECONFIGS, {}))
    settings = {key: _plain(value, key) for key, value in given.items()}
    if resource_type == _token("Cluster"):
        settings["clusters"] = {name: settings.pop(_CLUSTER, {})}
    try:
        plan = make_plan(parse(settings))
        proof = prove(plan)
        proof.require()
        args = FleetComponentArgs(
            plan=plan, secret=lambda key: _kubeconfig(kubeconfigs, key), token=resource_type
        )
        fleet = FleetComponent(name, args, options)
    except (ExpectedError, DoesNotFit) as wrong:
        raise pulumi.InputPropertiesError(str(wrong), []) from None  # without a list the SDK breaks
    for warning in (*plan.warnings, *proof.warnings):
        pulumi.log.warn(warning, fleet)
    return fleet


def schema() -> dict[str, Any]:
    """The package's schema: a fleet's keys with their descriptions, all of them plain values.

    https://www.pulumi.com/docs/iac/extending-pulumi/schema/
    """
    fleet = FleetSettings.model_json_schema(by_alias=True)
    meanings = {key.name: key.meaning for key in sections()[FLEET].keys}
    declared = {key: told for key, told in fleet["properties"].items() if key != EXTENDS}
    keys = {
        key: {**_value(key, told), "plain": True, "description": meanings[key]}
        for key, told in declared.items()
    }
    secret = {
        "type": "object",
        "additionalProperties": {"type": "string"},
        "secret": True,
        "description": "Kubeconfigs by the names that clusters give them: kubeconfig: {secret: NAME}",
    }
    outputs: dict[str, Any] = {
        "clusters": {**_MAP, "description": "By name: pools, drivers, classes, templates, claims, workloads"},
        _KUBECONFIGS: {**secret, "description": "Of the clusters whose kubeconfig is held, by name"},
    }
    required = [key for key in fleet["required"] if key in keys]
    cluster = {key: keys[key] for key in _OF_ALL}
    cluster[_CLUSTER] = {**_MAP, "plain": True, "description": "The cluster, as under `clusters` of a fleet"}
    components = {
        "Fleet": (FleetSettings.__doc__, keys, required),
        "Cluster": ("One cluster with its pools and drivers.", cluster, ["owner", "environment", _CLUSTER]),
    }
    return {
        "name": PACKAGE,
        "version": VERSION,
        "description": "GPU fleets with Dynamic Resource Allocation, proved at preview.",
        "types": {
            _token(key.capitalize()): {"type": "string", "enum": [{"value": word} for word in told["enum"]]}
            for key, told in declared.items()
            if "enum" in told
        },
        "resources": {
            _token(name): {
                "isComponent": True,
                "description": told,
                "inputProperties": {**inputs, _KUBECONFIGS: secret},
                "requiredInputs": needed,
                "properties": outputs,
                "required": sorted(outputs),
            }
            for name, (told, inputs, needed) in components.items()
        },
        "language": {name: {"respectSchemaVersion": True} for name in ("nodejs", "python", "go", "csharp")},
    }


def _value(key: str, told: Mapping[str, Any]) -> Mapping[str, Any]:
    """The type of a key's value: one of some words, a text, or a mapping of whatever its schema says."""
    if "enum" in told:
        return {"$ref": f"#/types/{_token(key.capitalize())}"}
    kinds = {told.get("type"), *(one.get("type") for one in told.get("anyOf", ()))}
    return {"type": "string"} if "string" in kinds else _MAP


def _token(name: str) -> str:
    return f"{PACKAGE}:index:{name}"


def _plain(value: object, place: str) -> object:
    """A plain value; numbers come as floats, and 1.0 is written for 1.

    Raises:
        pulumi.InputPropertyError: it is not known at preview, or secret.
    """
    if isinstance(value, pulumi.Output | Unknown):
        raise pulumi.InputPropertyError(
            place,
            "is a value of a resource, or a secret; allowed: a plain value, because the fleet is proved at "
            f"preview; fix: write it out; a kubeconfig goes into {_KUBECONFIGS}",
        )
    if isinstance(value, Mapping):
        fields = cast("Mapping[str, object]", value)
        return {key: _plain(item, f"{place}.{key}") for key, item in fields.items()}
    if isinstance(value, list):
        return [_plain(item, f"{place}[{i}]") for i, item in enumerate(cast("list[object]", value))]
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _kubeconfig(given: pulumi.Input[Mapping[str, pulumi.Input[str]]], key: str) -> pulumi.Output[str]:
    if isinstance(given, Mapping) and key not in given:
        raise pulumi.InputPropertyError(
            f"{_KUBECONFIGS}.{key}", "is named by a cluster and not given; fix: give the kubeconfig's text"
        )
    return pulumi.Output.secret(given).apply(lambda held: held[key])
