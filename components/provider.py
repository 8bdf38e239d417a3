"""The components for programs in any language, a whole fleet among them: the engine's calls and results.

A program in TypeScript, Go or YAML declares `dra-fleet:index:Fleet`, with a stack file's keys as inputs, or
one cluster with everything in it: `dra-fleet:index:AksCluster` and so on, or `dra-fleet:index:Cluster`.
Pools, drivers, classes, claims and demand of a cluster of one cloud can also be resources: see `parts`.
Each call parses, plans, proves and declares. If a claim does not fit, the preview fails.
https://www.pulumi.com/docs/iac/packages-and-automation/pulumi-packages/
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

import pulumi
from msgspec.structs import replace
from pulumi.output import Unknown

from dra_fleet import clouds
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.fleet import FleetSettings, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import DoesNotFit

from .clouds import resolve
from .clouds.additions import THIS_PROGRAM
from .fleet import build
from .parts import PACKAGE, PARTS, Made, Part, References, made_part, token
from .program.cluster import Cluster
from .program.planning import NO_POOL, SECTIONS, ClusterProgram
from .schema import CLUSTER, KUBECONFIG, KUBECONFIGS, VERSION, cluster_tokens, schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from dra_fleet.model.plan import FleetPlan

    from .clouds.platform import Platform, SecretReader


__all__ = ["PACKAGE", "VERSION", "References", "made", "schema"]

_FLEET: Final = frozenset(field.alias or key for key, field in FleetSettings.model_fields.items())
_OF_CLUSTER: Final = ("workloads", "demand", "computeDomains")
"""Sections of a fleet whose entries name their cluster. The resource of one cluster sets the name."""
_QUEUES: Final = "clusterQueues"
_OPERATOR: Final = "gpuOperator"
_ARGUMENTS: Final[dict[str, Any]] = {"plain": False}
_ARGUMENTS.update(additionalProperties=_ARGUMENTS, items=_ARGUMENTS)


def made(
    name: str, resource_type: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions | None = None
) -> Made:
    """Make the component that an engine requests.

    Args:
        name: the component's.
        resource_type: one of the schema's.
        inputs: as a program of any language gives them.
        options: of the component.

    Raises:
        pulumi.InputPropertiesError: an input is wrong, or the fleet does not fit; nothing is registered.
    """
    if resource_type in PARTS:
        return made_part(name, resource_type, inputs, options or pulumi.ResourceOptions())
    given = dict(inputs)
    kubeconfigs = cast("pulumi.Input[Mapping[str, pulumi.Input[str]]]", given.pop(KUBECONFIGS, {}))
    cloud = cluster_tokens().get(resource_type)
    if cloud is not None and KUBECONFIG in given:
        kubeconfigs = {name: cast("pulumi.Input[str]", given.pop(KUBECONFIG))}
        given[KUBECONFIG] = {"secret": name}
    reader = _Reader()
    inputs_of = reader.schema["resources"][resource_type]["inputProperties"]
    settings = {key: reader.read(value, key, [_type_of(inputs_of, key)]) for key, value in given.items()}
    if cloud is not None:
        own = {key: settings.pop(key) for key in [*settings] if key not in _FLEET}
        pools = {} if clouds.named(cloud).makes_nodes else {"pools": NO_POOL}
        settings = {**settings, CLUSTER: {"cloud": cloud, "drivers": {}, **pools, **own}}
    if resource_type != token("Fleet"):
        settings["clusters"] = {name: settings.pop(CLUSTER, {})}
        settings = _in_cluster(name, settings)
    try:
        plan = make_plan(parse(settings))
        warnings = [*plan.warnings]
        if cloud is not None and "pools" not in given:
            plan = replace(plan, clusters=(replace(plan.clusters[0], pools=()),))
        else:
            proof = prove(plan)
            proof.require()
            warnings += proof.warnings
        args = FleetComponentArgs(
            plan=plan,
            secret=lambda key: _kubeconfig(kubeconfigs, key),
            outputs=reader.outputs,
            token=resource_type,
            component=resolve if cloud is None else _open,
        )
        fleet = FleetComponent(name, args, options)
    except (ExpectedError, DoesNotFit) as wrong:
        raise pulumi.InputPropertiesError(str(wrong), []) from None  # without a list the SDK breaks
    for warning in warnings:
        pulumi.log.warn(warning, fleet)
    outputs = {"clusters": fleet.clusters, "kubeconfigs": fleet.kubeconfigs}
    if cloud is None:
        return Made(urn=fleet.urn, outputs=outputs)
    cluster = cast("Cluster", fleet.platforms[name])
    cluster.open(
        _program(resource_type, name, settings, plan.clusters[0].kubernetes, warnings), plan.clusters[0]
    )
    return Made(
        urn=Part(kind=Cluster, name=name, component=cluster, cluster=cluster).keep(fleet), outputs=outputs
    )


def _open(cloud: str) -> type[Platform]:
    """Return the component class of a cloud, in whose clusters further components can be declared."""
    found = resolve(cloud)
    return cast("type[Platform]", type(found.__name__, (Cluster, found), {"CLOUD": cloud}))


def _program(
    resource_type: str, name: str, settings: Mapping[str, Any], kubernetes: str, warnings: Iterable[str]
) -> ClusterProgram:
    """Return what a cluster's inputs declare in it, for the proofs of further components."""
    fleet = dict(settings)
    cluster = dict(fleet.pop("clusters")[name])
    queues = dict(fleet.pop("queues", {}))
    operator = {_OPERATOR: cluster.pop(_OPERATOR)} if _OPERATOR in cluster else {}
    pools = cluster.pop("pools")
    return ClusterProgram(
        component=f"{resource_type.rpartition(':')[2]} {name}",
        name=name,
        owner=fleet["owner"],
        environment=fleet["environment"],
        kubernetes=fleet.get("kubernetes", kubernetes),
        pools={} if pools is NO_POOL else dict(pools),
        drivers=dict(cluster.pop("drivers")),
        settings=cluster,
        operators=operator,
        namespace=fleet.get("namespace"),
        declared={_QUEUES: dict(queues.pop(_QUEUES, {}))}
        | {key: dict(fleet.pop(key, {})) for key in SECTIONS if key != _QUEUES},
        queues=queues,
        fleet=fleet,
        warned={*warnings},
    )


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


class _Reader:
    """Reads inputs as settings.

    Attributes:
        schema: The package's schema.
        outputs: Outputs of other resources by their references in the settings.
    """

    def __init__(self) -> None:
        self.schema = schema()
        self.outputs: dict[str, pulumi.Output[str]] = {}

    def read(self, value: object, place: str, types: Sequence[Mapping[str, Any]]) -> object:
        """Return the settings of an input. Numbers are received as floats, and 1.0 is converted to 1.

        Args:
            value: The input, or a part of it.
            place: Path of the value, for errors.
            types: Types in the schema that the value can have.

        Raises:
            pulumi.InputPropertyError: An Output where the proof needs a plain value.
        """
        if isinstance(value, pulumi.Output | Unknown):
            if all(kind.get("plain", True) for kind in types):
                raise pulumi.InputPropertyError(
                    place,
                    "is a value of a resource, or a secret; allowed: a plain value, because the fleet is "
                    f"proved at preview; fix: write the value; pass a kubeconfig as {KUBECONFIGS}",
                )
            self.outputs[place] = pulumi.Output.from_input(cast("pulumi.Input[str]", value))
            return {"stack": THIS_PROGRAM, "output": place}
        if isinstance(value, Mapping):
            fields = cast("Mapping[str, object]", value)
            return {
                key: self.read(item, f"{place}.{key}", [*self._below(types, key)])
                for key, item in fields.items()
            }
        if isinstance(value, list):
            items = [kind["items"] for kind in types if "items" in kind]
            return [
                self.read(item, f"{place}[{i}]", items) for i, item in enumerate(cast("list[object]", value))
            ]
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def _below(self, types: Iterable[Mapping[str, Any]], key: str) -> Iterator[Mapping[str, Any]]:
        """Yield the types of a value under a key."""
        for kind in types:
            if "oneOf" in kind:
                yield from self._below(kind["oneOf"], key)
            elif "additionalProperties" in kind:
                yield kind["additionalProperties"]
            elif found := self.schema["types"].get(str(kind.get("$ref")).removeprefix("#/types/")):
                yield _type_of(found.get("properties", {}), key)


def _type_of(properties: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the type of a property; Outputs can stand anywhere in arguments of the provider's resource."""
    return _ARGUMENTS if key == "extra" else properties.get(key, {})


def _kubeconfig(given: pulumi.Input[Mapping[str, pulumi.Input[str]]], key: str) -> pulumi.Output[str]:
    if isinstance(given, Mapping) and key not in given:
        raise pulumi.InputPropertyError(
            f"{KUBECONFIGS}.{key}", "is named by a cluster and not given; fix: give the kubeconfig's text"
        )
    return pulumi.Output.secret(given).apply(lambda secrets: secrets[key])


@dataclass(frozen=True, kw_only=True)
class FleetComponentArgs:
    """Arguments of `FleetComponent`.

    Attributes:
        plan: the clusters and what is in them.
        secret: reads a secret, such as a kubeconfig, by the key that the plan names.
        outputs: Outputs of other resources by the references that the plan's settings have for them.
        token: the registered type.
        component: returns the component class of a cloud.
    """

    plan: FleetPlan
    secret: SecretReader
    outputs: Mapping[str, pulumi.Output[str]] = field(default_factory=dict[str, pulumi.Output[str]])
    token: str = "dra-fleet:index:Fleet"  # noqa: S105 - Pulumi's word for a type's name
    component: Callable[[str], type[Platform]] = resolve


class FleetComponent(pulumi.ComponentResource):
    """Clusters, and the classes, claims and workloads in them.

    Attributes:
        clusters: exports of each cluster, by name.
        kubeconfigs: secret kubeconfigs of the clusters that have one.
        platforms: components of the clusters, by name.
    """

    clusters: Mapping[str, Any]
    kubeconfigs: pulumi.Output[Any]

    def __init__(
        self, name: str, args: FleetComponentArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Declare a fleet.

        Args:
            name: the component's.
            args: what it is made of.
            opts: of the component; what is in it waits for what it depends on.

        Raises:
            SettingsInvalid: a secret is missing.
        """
        inputs = {"owner": args.plan.owner, "environment": args.plan.environment}
        super().__init__(args.token, name, inputs, opts)
        # The engine passes a component's dependencies on to no one.
        after = None if opts is None else opts.depends_on
        opts = pulumi.ResourceOptions(parent=self, depends_on=after)
        made = build(args.plan, args.secret, opts, outputs=args.outputs, component=args.component)
        self.clusters = made.clusters
        self.platforms = dict(made.platforms)
        self.kubeconfigs = pulumi.Output.secret(dict(made.kubeconfigs))
        self.register_outputs({"clusters": self.clusters, "kubeconfigs": self.kubeconfigs})
