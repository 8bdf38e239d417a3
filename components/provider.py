"""The components for programs in any language: the engine's calls to this package, and their results.

A program in TypeScript, Go or YAML declares `dra-fleet:index:Fleet`, with a stack file's keys as inputs, or
one cluster with everything in it: `dra-fleet:index:AksCluster` and so on, or `dra-fleet:index:Cluster`.
One call parses, plans, proves and declares. If a claim does not fit, the preview fails.
https://www.pulumi.com/docs/iac/packages-and-automation/pulumi-packages/
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

import pulumi
from pulumi.output import Unknown

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.fleet import FleetSettings, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import DoesNotFit

from .fleet_component import FleetComponent, FleetComponentArgs
from .schema import CLUSTER, KUBECONFIG, KUBECONFIGS, VERSION, cluster_tokens, schema, token

__all__ = ["VERSION", "made", "schema"]

_FLEET: Final = frozenset(field.alias or key for key, field in FleetSettings.model_fields.items())
_OF_CLUSTER: Final = ("workloads", "demand", "computeDomains")
"""Sections of a fleet whose entries name their cluster. The resource of one cluster sets the name."""
_QUEUES: Final = "clusterQueues"


def made(
    name: str, resource_type: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None = None
) -> FleetComponent:
    """Make the component that an engine requests.

    Args:
        name: the component's.
        resource_type: one of the schema's.
        inputs: as a program of any language gives them.
        options: of the component.

    Raises:
        pulumi.InputPropertiesError: an input is wrong, or the fleet does not fit; nothing is registered.
    """
    given = dict(inputs)
    kubeconfigs = cast("pulumi.Input[Mapping[str, pulumi.Input[str]]]", given.pop(KUBECONFIGS, {}))
    cloud = cluster_tokens().get(resource_type)
    if cloud is not None and KUBECONFIG in given:
        kubeconfigs = {name: cast("pulumi.Input[str]", given.pop(KUBECONFIG))}
        given[KUBECONFIG] = {"secret": name}
    settings = {key: _plain(value, key) for key, value in given.items()}
    if cloud is not None:
        own = {key: settings.pop(key) for key in [*settings] if key not in _FLEET}
        settings = {**settings, CLUSTER: {"cloud": cloud, **own}}
    if resource_type != token("Fleet"):
        settings["clusters"] = {name: settings.pop(CLUSTER, {})}
        settings = _in_cluster(name, settings)
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


def _in_cluster(name: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings in which everything of the cluster names it."""
    queues = settings.get("queues")
    named = {
        key: {entry: _named(name, value) for entry, value in settings[key].items()}
        for key in _OF_CLUSTER
        if isinstance(settings.get(key), Mapping)
    }
    found: dict[str, Any] = {}
    if isinstance(queues, Mapping):
        found.update(cast("Mapping[str, Any]", queues))
    if isinstance(found.get(_QUEUES), Mapping):
        entries = cast("Mapping[str, object]", found[_QUEUES])
        found[_QUEUES] = {entry: _named(name, value) for entry, value in entries.items()}
        named["queues"] = found
    return {**settings, **named}


def _named(cluster: str, value: object) -> object:
    return {CLUSTER: cluster, **cast("Mapping[str, Any]", value)} if isinstance(value, Mapping) else value


def _plain(value: object, place: str) -> object:
    """Return a plain value. Numbers are received as floats, and 1.0 is converted to 1.

    Raises:
        pulumi.InputPropertyError: it is not known at preview, or secret.
    """
    if isinstance(value, pulumi.Output | Unknown):
        raise pulumi.InputPropertyError(
            place,
            "is a value of a resource, or a secret; allowed: a plain value, because the fleet is proved at "
            f"preview; fix: write the value; pass a kubeconfig as {KUBECONFIGS}",
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
            f"{KUBECONFIGS}.{key}", "is named by a cluster and not given; fix: give the kubeconfig's text"
        )
    return pulumi.Output.secret(given).apply(lambda secrets: secrets[key])
