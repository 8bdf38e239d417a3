"""The components of Python programs as resources for other languages: an engine's calls construct them.

One process serves one deployment. It keeps the components, because the inputs of later calls refer to them.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import pulumi
from pulumi.output import UNKNOWN, Unknown
from pulumi.runtime import rpc

from dra_fleet.core.findings.errors import KEY

from .program.arguments import key_of
from .program.claims import DeviceRequestArgs, ResourceClaim, ResourceClaimTemplate
from .program.cluster import Cluster
from .program.compute_domain import ComputeDomain
from .program.demand import Demand
from .program.device_class import DeviceClass
from .program.drivers import AmdDriver, DraDriver, GpuOperator, IntelDriver, NvidiaDriver
from .program.pool import GpuNodePool
from .program.queue import Queue

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

T = TypeVar("T")

PACKAGE: Final = KEY.partition(":")[0]


def token(name: str) -> str:
    """Return the type token of a resource or type of the package."""
    return f"{PACKAGE}:index:{name}"


PARTS: Final[Mapping[str, type]] = {
    token(part.__name__): part
    for part in (
        GpuNodePool, DraDriver, NvidiaDriver, AmdDriver, IntelDriver, GpuOperator, DeviceClass,
        ResourceClaimTemplate, ResourceClaim, ComputeDomain, Queue, Demand,
    )
}  # fmt: skip
"""Components by their type token."""

OUTPUTS: Final[Mapping[type, Sequence[tuple[str, str, Callable[[Any], pulumi.Input[str]]]]]] = {
    DeviceClass: [("name", "Name of the DeviceClass", lambda part: part.class_name)],
    ResourceClaimTemplate: [("name", "Name of the object, with a hash", lambda part: part.metadata["name"])],
    ResourceClaim: [("name", "Name of the object", lambda part: part.metadata["name"])],
    ComputeDomain: [("template", "Template of each pod's channel", lambda part: part.template)],
    Queue: [("name", "Value of the label of a Job", lambda part: part.queue_name)],
}
"""Outputs of components: key, meaning, and value."""

_STAGES: Final = (Cluster, GpuNodePool, GpuOperator, DraDriver)
"""Components that must be created in this order, and before all others: the others are proved with them."""

_INPUT: Final = "pulumi.Input["
_REQUEST: Final = {key_of(argument.name): argument.name for argument in fields(DeviceRequestArgs)}
_NOT_PLAIN: Final = (
    "is a secret, or an output of a resource that no preview knows; allowed: a plain value, because the "
    "component is proved at preview; fix: write the value"
)
_NO_REFERENCE: Final = "must refer to a component of this program; fix: write the resource, not its name"
_WORD: Final = re.compile(r"\b[a-z]+(_[a-z]+)+\b")


@dataclass(eq=False, kw_only=True)
class Part:
    """A component that a call constructed.

    Attributes:
        kind: Its class.
        name: Its name.
        cluster: The cluster that it is declared in.
        component: The component itself.
        after: Components that the engine created before it, because it refers to them or depends on them.
        words: Texts of its inputs, which can be names of classes.
        urn: URN of the resource; "" until the engine has registered it.
    """

    kind: type
    name: str
    cluster: Cluster
    component: object = None
    after: frozenset[Part] = frozenset()
    words: frozenset[str] = frozenset()
    urn: str = field(default="", init=False)

    def keep(self, resource: pulumi.Resource) -> pulumi.Output[str]:
        """Keep the component for later calls, and return the URN of its resource."""
        _kept.append(self)

        def registered(urn: str) -> str:
            self.urn = urn
            return urn

        return resource.urn.apply(registered)

    def __str__(self) -> str:
        return f"{self.kind.__name__} {self.name}"


@dataclass(frozen=True, kw_only=True)
class Made:
    """The answer to a call: the URN of the resource, and its outputs."""

    urn: pulumi.Output[str]
    outputs: Mapping[str, Any]


_kept: list[Part] = []


class References(rpc.ResourceModule):
    """Finds the component of a reference to a resource of this package."""

    def version(self) -> None:
        """Return None, because the references of one deployment have one version."""

    def construct(self, name: str, typ: str, urn: str) -> pulumi.Resource:
        """Return the component.

        Raises:
            pulumi.InputPropertiesError: This process did not construct it.
        """
        found = next((part.component for part in reversed(_kept) if part.urn == urn), None)
        if isinstance(found, pulumi.Resource):
            return found
        what = f"{typ} {name} is not declared in this deployment with the same provider"
        allowed = "a cluster, pool, driver, class, claim, domain or queue of this program"
        raise pulumi.InputPropertiesError(f"{what}; allowed: {allowed}", [])


def made_part(name: str, kind: str, inputs: pulumi.Inputs, options: pulumi.ResourceOptions) -> Made:
    """Construct the component of a type token, and prove its cluster.

    Args:
        name: Name of the resource, and of what it declares.
        kind: One of `PARTS`.
        inputs: As a program of any language gives them.
        options: Options of the resource.

    Raises:
        pulumi.InputPropertyError: The value of an input that the proof reads is not known.
        pulumi.InputPropertiesError: An input is wrong, something does not fit, or the order is not certain.
    """
    of = PARTS[kind]
    parameters = inspect.signature(of).parameters
    reader = _Reader()
    arguments = reader.arguments(inputs, parameters)
    cluster = arguments.get("cluster", getattr(arguments.get("template"), "cluster", None))
    if not isinstance(cluster, Cluster):
        raise pulumi.InputPropertyError("cluster" if "cluster" in parameters else "template", _NO_REFERENCE)
    part = Part(
        kind=of,
        name=name,
        cluster=cluster,
        after=frozenset(
            found for part in (*reader.found, *_dependencies(options)) for found in (part, *part.after)
        ),
        words=frozenset(reader.words),
    )
    _require_order(part)
    inside = pulumi.ResourceOptions(parent=cluster if _has_no_parent(options) else None)
    resource = pulumi.ComponentResource(kind, name, {}, pulumi.ResourceOptions.merge(options, inside))
    if "opts" in parameters:
        arguments["opts"] = pulumi.ResourceOptions(parent=resource, depends_on=options.depends_on)
    try:
        part.component = of(name=name, **arguments)
        cluster.program.finish()
    except pulumi.RunError as wrong:
        known = {*parameters, *_REQUEST.values()}
        text = _WORD.sub(lambda word: key_of(word[0]) if word[0] in known else word[0], str(wrong))
        raise pulumi.InputPropertiesError(text, []) from None  # without a list the SDK breaks
    outputs = {key: value(part.component) for key, _, value in OUTPUTS.get(of, ())}
    resource.register_outputs(outputs)
    return Made(urn=part.keep(resource), outputs=outputs)


def _has_no_parent(options: pulumi.ResourceOptions) -> bool:
    """Return whether the program declares a resource without the option parent."""
    urn = "" if options.parent is None else str(_arrived(options.parent.urn.future()))
    return not urn or "::pulumi:pulumi:Stack::" in urn


def _dependencies(options: pulumi.ResourceOptions) -> list[Part]:
    """Return the components that the option dependsOn names."""
    resources = cast("Iterable[pulumi.Resource]", options.depends_on or ())
    urns = {_arrived(resource.urn.future()) for resource in resources}
    return [part for part in _kept if part.urn and part.urn in urns]


def _require_order(new: Part) -> None:
    """Refuse a component whose proof depends on whether the engine creates another one before it.

    Raises:
        pulumi.InputPropertiesError: Neither a reference nor dependsOn defines the order.
    """
    for other in (part for part in _kept if part.cluster is new.cluster):
        for first, then in ((other, new), (new, other)):
            if _precedes(first, then) and first not in then.after:
                fix = f"add {first} to the option dependsOn of {then}"
                raise pulumi.InputPropertiesError(f"{then} must be created after {first}; fix: {fix}", [])


def _precedes(first: Part, then: Part) -> bool:
    """Return whether a component is proved, or declared, with another one that the engine creates first."""
    if first.kind is then.kind is Queue:
        return bool(first.urn)  # the first queue installs Kueue
    return _stage(first) < _stage(then) or (first.kind is DeviceClass and first.name in then.words)


def _stage(part: Part) -> int:
    return next((stage for stage, kind in enumerate(_STAGES) if issubclass(part.kind, kind)), len(_STAGES))


class _Reader:
    """Reads inputs as arguments of a component.

    Attributes:
        found: Components that the inputs refer to.
        words: Texts in the inputs.
    """

    def __init__(self) -> None:
        self.found: list[Part] = []
        self.words: set[str] = set()

    def arguments(
        self, inputs: Mapping[str, object], parameters: Mapping[str, inspect.Parameter]
    ) -> dict[str, Any]:
        """Return the arguments. Settings that only the pools of some clouds have are `options`."""
        names = {key_of(argument): argument for argument in parameters}
        found: dict[str, Any] = {}
        options: dict[str, Any] = {}
        for key, value in inputs.items():
            argument = names.get(key, "")
            if argument and str(parameters[argument].annotation).startswith(_INPUT):
                found[argument] = pulumi.Output.from_input(value) if isinstance(value, Unknown) else value
            else:
                (found if argument else options)[argument or key] = self._value(value, key)
        if isinstance(requests := found.get("requests"), Mapping):
            found["requests"] = {name: _request(one) for name, one in cast("Any", requests).items()}
        return found if not options else found | ({"options": options} if "options" in names else options)

    def _value(self, value: object, path: str) -> Any:  # noqa: ANN401 - JSON and components
        if isinstance(value, pulumi.Output) and not path.startswith("extra."):
            output = cast("pulumi.Output[object]", value)
            secret = _arrived(output.is_secret()) is not False
            value = UNKNOWN if secret else _arrived(output.future(with_unknowns=True))
        if isinstance(value, Unknown):
            raise pulumi.InputPropertyError(path, _NOT_PLAIN)
        if isinstance(value, pulumi.Resource):
            self.found += [part for part in _kept if part.component is value]
        if isinstance(value, str):
            self.words.add(value)
        if isinstance(value, Mapping):
            items = cast("Mapping[str, object]", value)
            return {key: self._value(item, f"{path}.{key}") for key, item in items.items()}
        if isinstance(value, list):
            return [self._value(item, f"{path}[{i}]") for i, item in enumerate(cast("list[object]", value))]
        return int(value) if isinstance(value, float) and value.is_integer() else cast("object", value)


def _request(request: object) -> object:
    """Return a request with the names of arguments."""
    if not isinstance(request, Mapping):
        return request
    found = {_REQUEST.get(key, key): item for key, item in cast("Mapping[str, object]", request).items()}
    if isinstance(alternatives := found.get("first_available"), list):
        found["first_available"] = [_request(one) for one in cast("list[object]", alternatives)]
    return found


def _arrived(coroutine: Coroutine[Any, Any, T]) -> T | Unknown:
    """Return the result of a coroutine of an input. An input of a call has arrived, so it does not wait."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    return UNKNOWN
