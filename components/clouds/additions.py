"""Tags and further provider arguments of a cluster's resources, and values that other stacks export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import Parameter, isawaitable, signature
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, cast, get_args, get_origin

import pulumi
from pulumi import _types as pulumi_types  # pyright: ignore[reportPrivateUsage] - names of arguments

from dra_fleet.core.findings.errors import choices, mistyped
from dra_fleet.model.settings import StackOutput

from ..core.identity import logical

if TYPE_CHECKING:
    from dra_fleet.model.plan import Additions
    from dra_fleet.model.settings import TextOrOutput


THIS_PROGRAM: Final = "this program"
"""The stack of a value that a resource of this program returns."""


class StackOutputs:
    """The outputs that one cluster is declared with; each other stack is referenced once."""

    def __init__(
        self, cluster: str, parent: pulumi.Resource, of_program: Mapping[str, pulumi.Output[str]]
    ) -> None:
        self._cluster, self._parent, self._of_program = cluster, parent, of_program
        self._references: dict[str, pulumi.StackReference] = {}

    def text(self, value: TextOrOutput, holds: str) -> pulumi.Input[str]:
        """Return a value as written, or as the other stack exports it.

        Args:
            value: value of the plan.
            holds: expected content, such as "a kubeconfig", for the error if the output is something else.
        """
        if isinstance(value, str):
            return value
        if value.stack == THIS_PROGRAM:
            return self._of_program[value.output]
        cluster = self._cluster
        exported = self._reference(value.stack).get_output(value.output)
        return exported.apply(lambda found: exported_text(found, cluster, value, holds))

    def given(self, value: TextOrOutput | None, holds: str) -> pulumi.Input[str] | None:
        """Such a value, None where there is none."""
        return None if value is None else self.text(value, holds)

    def texts(self, values: Mapping[str, TextOrOutput], holds: str) -> dict[str, pulumi.Input[str]]:
        """Several such values by their keys."""
        return {key: self.text(value, holds) for key, value in values.items()}

    def _reference(self, stack: str) -> pulumi.StackReference:
        if stack not in self._references:
            number = len(self._references)
            self._references[stack] = pulumi.StackReference(
                logical(self._cluster, f"reference-{number + 1}" if number else "reference"),
                stack_name=stack,
                opts=pulumi.ResourceOptions(parent=self._parent),
            )
        return self._references[stack]


def exported_text(found: object, cluster: str, requested: StackOutput, holds: str) -> str:
    """Another stack's output, or what that has under a key, which must be text.

    Raises:
        pulumi.RunError: it is not there, or it is something else.
    """
    if (text := requested.text_in(found)) is not None:
        return text
    named = requested.output if requested.key is None else f"{requested.output} with the key {requested.key}"
    raise pulumi.RunError(
        f"cluster {cluster}: stack {requested.stack} exports no text named {named}; "
        f"allowed: the name of an output that holds {holds}; "
        f"fix: look with `pulumi stack output --stack {requested.stack}`"
    )


Resources = tuple[type[pulumi.CustomResource], type]
"""The main resource of a cluster or a pool, and the SDK's class of its arguments."""

_LABELS: Final = ("tags", "resource_labels")
_INSTANCES: Final = ("instance", "volume", "network-interface")
"""Resources of a node that a launch template tags:
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_LaunchTemplateTagSpecificationRequest.html"""
_PLAIN: Final[Mapping[type, str]] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def addition(
    cluster: str, where: str, added: Additions, main: Resources, outputs: StackOutputs
) -> pulumi.ResourceTransformation:
    """Return the transformation that adds tags and arguments to resources.

    Args:
        cluster: The cluster's name, for errors.
        where: Path of the arguments below the cluster, for errors, such as `pools.a100.extra`.
        added: What is added.
        main: The resource that gets the arguments, and the class of its arguments.
        outputs: Reads values that other stacks or this program return.
    """
    kind, arguments = main
    place = _Place(cluster, where, outputs)

    def transform(args: pulumi.ResourceTransformationArgs) -> None:
        fields = cast("dict[str, Any]", args.props if isinstance(args.props, dict) else vars(args.props))
        if not isinstance(args.resource, pulumi.CustomResource) or args.type_.startswith("kubernetes:"):
            return
        if added.tags:
            _tag(fields, added.tags)
        if isinstance(args.resource, kind):
            _merge(fields, added.arguments, arguments, place)
        elif isinstance(fields.get("properties"), dict):
            # The same resource in a newer API version: its arguments are in `properties`, in the API's names.
            _merge(fields["properties"], added.arguments, arguments, place, is_api=True)

    return cast("pulumi.ResourceTransformation", transform)


def in_api(fields: Mapping[str, Any], of: type) -> dict[str, Any]:
    """Return fields under the provider's names, without those that are not set.

    Args:
        fields: Fields under Python's names.
        of: The SDK's class of the fields.
    """
    names = pulumi_types.input_type_py_to_pulumi_names(of)
    types = pulumi_types.input_type_types(of)
    found: dict[str, Any] = {}
    for key, value in fields.items():
        name = names.get(key, key)
        kind = types.get(name)
        if isinstance(kind, type) and pulumi_types.is_input_type(kind) and value is not None:
            nested = cast("Mapping[str, Any]", value if isinstance(value, Mapping) else vars(value))
            found[name] = in_api(nested, kind)
        elif value is not None:
            found[name] = value
    return found


def check(cluster: str, where: str, arguments: Mapping[str, Any], of: type) -> None:
    """Check the names and the plain types of arguments against the SDK's class.

    Args:
        cluster: The cluster's name, for errors.
        where: Path of the arguments below the cluster, for errors.
        arguments: Arguments under the provider's names.
        of: The SDK's class of the arguments.

    Raises:
        pulumi.RunError: A name is unknown, or a value has another type.
    """
    names = pulumi_types.input_type_py_to_pulumi_names(of)
    types = pulumi_types.input_type_types(of)
    known = {**names, **{name: name for name in names.values()}}
    for key, value in arguments.items():
        at = f"{where}.{key}"
        if key not in known:
            fix = mistyped(key, names.values())
            what = f"cluster {cluster}: {at} is not an argument of {of.__name__}"
            allowed = f"allowed: {choices(key, names.values())}"
            raise pulumi.RunError("; ".join((what, allowed, *([f"fix: {fix}"] if fix else []))))
        _check_value(cluster, at, value, types.get(known[key]))


def _check_value(cluster: str, at: str, value: object, kind: object) -> None:
    if _is_output(value):
        return
    if isinstance(kind, type) and pulumi_types.is_input_type(kind):
        if not isinstance(value, Mapping):
            raise pulumi.RunError(f"cluster {cluster}: {at} must be a mapping; got: {value!r}")
        check(cluster, at, cast("Mapping[str, Any]", value), kind)
    elif get_origin(kind) is Sequence:
        if not isinstance(value, list | tuple):
            raise pulumi.RunError(f"cluster {cluster}: {at} must be a list; got: {value!r}")
        of = pulumi_types.unwrap_type(get_args(kind)[0])
        for index, item in enumerate(cast("Sequence[object]", value)):
            _check_value(cluster, f"{at}[{index}]", item, of)
    elif (
        isinstance(kind, type)
        and kind in _PLAIN
        and type(value) is not kind
        and (kind, type(value)) != (float, int)
    ):
        raise pulumi.RunError(f"cluster {cluster}: {at} must be {_PLAIN[kind]}; got: {value!r}")


class _Place:
    """The place of arguments in a stack, for errors and for values of other stacks."""

    def __init__(self, cluster: str, where: str, outputs: StackOutputs) -> None:
        self.cluster, self.where, self._outputs = cluster, where, outputs

    def below(self, key: str) -> _Place:
        return _Place(self.cluster, f"{self.where}.{key}", self._outputs)

    def resolved(self, value: object) -> Any:  # noqa: ANN401 - a value of any argument
        if isinstance(value, StackOutput):
            return self._outputs.text(value, "the value of an argument")
        if _is_output(value):
            return self._outputs.text(StackOutput.model_validate(value), "the value of an argument")
        if isinstance(value, Mapping):
            return {key: self.resolved(item) for key, item in cast("Mapping[str, object]", value).items()}
        if isinstance(value, list | tuple):
            return [self.resolved(item) for item in cast("Sequence[object]", value)]
        return value


def _is_output(value: object) -> bool:
    if isinstance(value, StackOutput) or isawaitable(value):
        return True
    if not isinstance(value, Mapping):
        return False
    keys = set(cast("Mapping[str, object]", value))
    return {"stack", "output"} <= keys <= {"stack", "output", "key"}


def _merge(
    fields: dict[str, Any],
    arguments: Mapping[str, Any],
    of: type,
    place: _Place,
    defaults: Mapping[str, Any] = MappingProxyType({}),
    *,
    is_api: bool = False,
) -> None:
    """Add arguments under the provider's names to fields under Python's names, or under the API's.

    `defaults` are the SDK's.
    """
    names = pulumi_types.input_type_py_to_pulumi_names(of)
    types = pulumi_types.input_type_types(of)
    python = {pulumi_name: name for name, pulumi_name in names.items()}
    for key, value in arguments.items():
        name = names.get(key, key) if is_api else python.get(key, key)
        kind, present = types.get(names.get(name, name)), fields.get(name)
        if present is None or present == defaults.get(name):
            resolved = {name: place.resolved(value)}
            fields |= in_api(resolved, of) if is_api else resolved
        elif isinstance(value, Mapping) and isinstance(kind, type) and pulumi_types.is_input_type(kind):
            known = cast("object", present if isinstance(present, Mapping) else vars(present))
            nested = dict(cast("Mapping[str, Any]", known))
            inner = cast("Mapping[str, Any]", value)
            _merge(nested, inner, kind, place.below(key), _defaults(kind), is_api=is_api)
            fields[name] = nested
        else:
            raise pulumi.RunError(
                f"cluster {place.cluster}: {place.where}.{key} is an argument that dra-fleet sets itself; "
                "allowed: arguments that it does not set; "
                "fix: use the setting of that meaning, or a Pulumi transform in __main__.py"
            )


def _defaults(of: type) -> Mapping[str, Any]:
    """Return the values that the SDK's class of arguments sets itself, if none of them is required."""
    needed = [item for item in signature(of).parameters.values() if item.default is Parameter.empty]
    return {} if needed else cast("dict[str, Any]", vars(of()))


def _tag(fields: dict[str, Any], tags: Mapping[str, str]) -> None:
    if isinstance(properties := fields.get("properties"), dict):
        fields = cast("dict[str, Any]", properties)
        fields.setdefault("tags", None)
    for key in _LABELS:
        if key in fields:
            fields[key] = {**tags, **(fields[key] or {})}
    if "tag_specifications" in fields and not fields["tag_specifications"]:
        fields["tag_specifications"] = [{"resource_type": kind, "tags": dict(tags)} for kind in _INSTANCES]
    for node in (fields.get("node_config"), *(fields.get("agent_pool_profiles") or ())):
        _tag_node(node, tags)


def _tag_node(node: object, tags: Mapping[str, str]) -> None:
    if node is None or isinstance(node, Mapping):
        return  # a mapping is what a pool's own tags and arguments have become already
    fields = vars(node)
    key = "resource_labels" if hasattr(type(node), "resource_labels") else "tags"
    fields[key] = {**tags, **(fields.get(key) or {})}
