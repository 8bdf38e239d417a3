"""Arguments of public components: checks of their form, and plain values for the settings models."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypedDict, TypeVar, cast

import pulumi

from dra_fleet.core.findings.errors import ExpectedError, choices, mistyped
from dra_fleet.kubernetes.devices.base import camel
from dra_fleet.kubernetes.devices.names import dns_label

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

P = ParamSpec("P")
S = TypeVar("S")

DATA: Final = frozenset(
    {
        "accept", "addons", "attributes", "borrowingLimit", "capacity", "computeClasses",
        "deviceClassMappings", "extra", "labels", "layout", "nodeSelector", "nominalQuota", "parameters",
        "pools", "requests", "subnets", "tags", "values", "vswitches",
    }
)  # fmt: skip
"""Arguments whose keys are data, such as label keys: they keep their spelling."""

VERBATIM: Final = re.compile(r"(^|\.)(extra|parameters|values)\.")
"""Arguments in which keys are data on every level."""


def checked(build: Callable[Concatenate[S, P], None]) -> Callable[Concatenate[S, P], None]:
    """Make a constructor report wrong arguments as one `pulumi.RunError` without a traceback.

    Args:
        build: The constructor. `inspect.signature` still shows its arguments.
    """
    signature = inspect.signature(build)

    @functools.wraps(build)
    def constructor(component: S, /, *args: P.args, **kwargs: P.kwargs) -> None:
        args, kwargs = _with_keywords(args, kwargs)
        subject = _check_form(type(component).__name__, signature, args, kwargs)
        try:
            build(component, *args, **kwargs)
        except (ExpectedError, pulumi.RunError) as wrong:
            raise pulumi.RunError(_named(subject, str(wrong))) from None

    return constructor


def _named(component: str, text: str) -> str:
    """Return an error with the component in place of the cluster's path in a stack file."""
    name = component.rpartition(" ")[2]
    own = rf"^(?:cluster \S+: |dra-fleet:fleet\.clusters\.[^.]+\.)(?:pools\.{re.escape(name)}\.)?"
    words = re.sub(own, f"{component}: ", text)
    return text if words == text else "; ".join(line.strip() for line in words.splitlines())


_OUTPUT: Final = "pulumi.Input["
_OUTPUTS: Final = (pulumi.Output, Awaitable)

_SENTENCES = ("unknown ", "invalid ", "this ", "a ")
"""Beginnings of problems that are complete sentences."""


def refused(
    component: str, argument: str, what: str, *, got: str = "", allowed: str = "", fix: str = ""
) -> pulumi.RunError:
    """Return the error of an argument.

    Args:
        component: Class and name, such as `DeviceClass big`.
        argument: Path of the argument, such as `memory.min`; "" for the component as a whole.
        what: What is wrong, as a sentence or as the end of one about the argument.
        got: The value.
        allowed: The values that are possible.
        fix: The next step.
    """
    joint = ": " if what.startswith(_SENTENCES) else " "
    subject = f"{component}: {argument}{joint}{what}" if argument else f"{component}: {what}"
    details = (("got", got), ("allowed", allowed), ("fix", fix))
    return pulumi.RunError("; ".join([subject, *(f"{name}: {text}" for name, text in details if text)]))


def plain(component: str, argument: str, value: object) -> Any:  # noqa: ANN401 - JSON
    """Return an argument as JSON with the keys of the settings models.

    Args:
        component: Class and name, for the error.
        argument: Path of the argument.
        value: Plain values, mappings, sequences and the argument classes of this package.

    Raises:
        pulumi.RunError: The value, or a part of it, is an Output or another object.
    """
    if isinstance(value, pulumi.Output | pulumi.Resource) or inspect.isawaitable(value):
        raise _not_plain(component, argument, cast("object", value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(
            component, argument, {key: item for key, item in vars(value).items() if item is not None}
        )
    if isinstance(value, Mapping):
        fields = cast("Mapping[object, object]", value)
        as_data = key_of(argument.rpartition(".")[2]) in DATA or VERBATIM.search(argument)
        return {
            str(key) if as_data else key_of(str(key)): plain(component, f"{argument}.{key}", item)
            for key, item in fields.items()
        }
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return [plain(component, f"{argument}[{index}]", item) for index, item in enumerate(items)]
    if value is None or isinstance(value, str | int | float):
        return value
    raise refused(component, argument, f"is {article(value)}", allowed="a plain value, a mapping or a list")


def settings_of(component: str, given: Mapping[str, object]) -> dict[str, Any]:
    """Return the arguments that are given, as JSON by their settings keys.

    Raises:
        pulumi.RunError: A value, or a part of it, is an Output or another object.
    """
    return {key_of(key): plain(component, key, value) for key, value in given.items() if value is not None}


def key_of(argument: str) -> str:
    """Return the settings key of an argument: `nodeSelector` of `node_selector`."""
    return camel(argument) if "_" in argument else argument


def snake(key: str) -> str:
    """Return the argument of a settings key: `node_selector` of `nodeSelector`."""
    return re.sub("(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", key)


def named(component: object, name: object) -> str:
    """Return class and name of a component, such as `DeviceClass big`.

    Raises:
        pulumi.RunError: The name is not a string.
    """
    kind = type(component).__name__
    if not isinstance(name, str) or not name:
        raise refused(kind, "name", "must be a string that is not empty", got=article(name) if name else '""')
    return f"{kind} {name}"


def label(component: str, argument: str, value: object) -> str:
    """Return an argument that must be a DNS label.

    Raises:
        pulumi.RunError: It is another text, or no text.
    """
    if not isinstance(value, str):
        raise refused(component, argument, "must be a string", got=article(value))
    problem = dns_label(value)
    if problem is not None:
        raise refused(component, argument, problem, got=f'"{value}"')
    return value


def checked_fields(kind: type[S]) -> type[S]:
    """Make a dataclass report wrong arguments as `checked` does."""
    build, signature = kind.__init__, inspect.signature(kind.__init__)
    known = list(signature.parameters)[1:]
    required = [key for key in known if signature.parameters[key].default is inspect.Parameter.empty]

    @functools.wraps(build)
    def constructor(fields: S, /, *args: object, **kwargs: object) -> None:
        for key in kwargs:
            if key not in known:
                raise choices_error(kind.__name__, key, key, known)
        if args:
            raise refused(kind.__name__, "", "takes keywords only", allowed=", ".join(known))
        _check_present(kind.__name__, [key for key in required if key not in kwargs])
        build(fields, **kwargs)

    kind.__init__ = constructor  # pyright: ignore[reportAttributeAccessIssue]
    return kind


@checked_fields
@dataclasses.dataclass(frozen=True, kw_only=True)
class GpuNodePoolArgs:
    """A pool of equal nodes.

    Attributes:
        machine: Machine type of the catalogue, or a description with `gpu`, `gpus`, `cpus` and `memory`.
        min: Nodes at least.
        max: Nodes at most.
        sharing: How the GPUs are shared, such as `{"strategy": "mig", "layout": {"1g.10gb": 7}}`. Default:
            whole GPUs.
        labels: Labels of the nodes of a created pool.
        taints: Taints of the nodes: `{"key": …, "value": …, "effect": …}`.
        node_selector: Labels that select the nodes of a pool in an existing cluster.
        gpu_driver: Component that installs the GPU driver. Default: the cloud's, see the cloud's page.
        advertise: Component that advertises the devices. Default: the DRA driver.
        devices: Devices of drivers that dra-fleet does not know.
        zones: Zones of the nodes.
        spot: Use spot machines.
        tags: Tags of its resources in the cloud; labels on Google Cloud.
        extra: Further arguments of the provider's pool resource, which no rule checks.
        options: Further settings of the cloud's pools under their stack file names, such as
            `{"os_sku": "AzureLinux3"}`.
    """

    machine: str | Mapping[str, Any]
    min: int
    max: int
    sharing: Mapping[str, Any] | None = None
    labels: Mapping[str, str] | None = None
    taints: Sequence[Mapping[str, str]] | None = None
    node_selector: Mapping[str, str] | None = None
    gpu_driver: str | None = None
    advertise: str | None = None
    devices: Sequence[Mapping[str, Any]] | None = None
    zones: Sequence[str] | None = None
    spot: bool | None = None
    tags: Mapping[str, str] | None = None
    extra: Mapping[str, Any] | None = None
    options: Mapping[str, Any] | None = None


class GpuNodePoolArgsDict(TypedDict, total=False):
    """`GpuNodePoolArgs` as a dict literal."""

    machine: str | Mapping[str, Any]
    min: int
    max: int
    sharing: Mapping[str, Any]
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    node_selector: Mapping[str, str]
    gpu_driver: str
    advertise: str
    devices: Sequence[Mapping[str, Any]]
    zones: Sequence[str]
    spot: bool
    tags: Mapping[str, str]
    extra: Mapping[str, Any]
    options: Mapping[str, Any]


POOL_ARGUMENTS: Final = tuple(field.name for field in dataclasses.fields(GpuNodePoolArgs))


def pool_settings(
    component: str, argument: str, pool: object, resolved: Callable[[str, str, object], Any]
) -> dict[str, Any]:
    """Return the settings of a pool.

    Args:
        component: Class and name of the component that has the pool.
        argument: Path of the pool; "" if the component is the pool.
        pool: `GpuNodePoolArgs` or a dict literal.
        resolved: Returns an argument that may have Outputs.

    Raises:
        pulumi.RunError: The pool is neither, has unknown arguments, or lacks one.
    """
    if isinstance(pool, GpuNodePoolArgs):
        pool = {key: value for key, value in vars(pool).items() if value is not None}
    if not isinstance(pool, Mapping):
        raise refused(component, argument, "must be GpuNodePoolArgs or a dict", got=article(pool))
    given = dict(cast("Mapping[str, object]", pool))
    under = f"{argument}." if argument else ""
    for key in given:
        if key not in POOL_ARGUMENTS:
            raise choices_error(component, f"{under}{key}", key, POOL_ARGUMENTS)
    for key in ("machine", "min", "max"):
        if key not in given:
            raise refused(component, f"{under}{key}", "is required")
    nodes = {key: plain(component, f"{under}{key}", given.pop(key)) for key in ("min", "max")}
    found = given.pop("options", None)
    example = 'settings of the cloud, such as {"os_sku": "AzureLinux3"}'
    options = plain(component, f"{under}options", mapping_of(component, f"{under}options", found, example))
    for key in options:
        if key in {"nodes", *map(key_of, POOL_ARGUMENTS)}:
            own = "min=… and max=…" if key == "nodes" else f"{snake(key)}=…"
            raise refused(component, f"{under}options.{key}", "has its own argument", fix=f"write {own}")
    settings = {
        key_of(key): (resolved if key == "extra" else plain)(component, f"{under}{key}", value)
        for key, value in given.items()
    }
    return {**settings, **options, "nodes": nodes}


def _with_keywords(args: Any, kwargs: Any) -> tuple[Any, Any]:  # noqa: ANN401 - any constructor's
    """Return `(name, args, opts)`, Pulumi's usual form, as a name and keywords."""
    if len(args) not in {2, 3} or not (isinstance(args[1], Mapping) or dataclasses.is_dataclass(args[1])):
        return args, kwargs
    given = cast("Mapping[str, Any]", args[1] if isinstance(args[1], Mapping) else vars(args[1]))
    opts = {"opts": args[2]} if len(args) > len(("name", "args")) else {}
    return args[:1], {**{key: value for key, value in given.items() if value is not None}, **opts, **kwargs}


def _check_present(component: str, missing: Sequence[str]) -> None:
    if missing:
        fix = f"add {', '.join(f'{key}=…' for key in missing)}"
        raise refused(component, missing[0], "is required", fix=fix)


_RESOURCE_OPTIONS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "parent": pulumi.Resource,
    "provider": pulumi.ProviderResource,
    "providers": (Mapping, list, tuple, pulumi.ProviderResource),
    "aliases": (list, tuple),
    "ignore_changes": (list, tuple),
    "replace_on_changes": (list, tuple),
    "additional_secret_outputs": (list, tuple),
    "transforms": (list, tuple),
    "transformations": (list, tuple),
    "protect": bool,
    "retain_on_delete": bool,
    "delete_before_replace": bool,
    "custom_timeouts": pulumi.CustomTimeouts,
    "deleted_with": pulumi.Resource,
    "version": str,
    "plugin_download_url": str,
    "import_": str,
}
"""Types of the options, which the SDK does not check."""
_ITEMS: Final[Mapping[str, type | tuple[type, ...]]] = {
    "providers": pulumi.ProviderResource,
    "aliases": (str, pulumi.Alias, pulumi.Output),
    "ignore_changes": str,
    "replace_on_changes": str,
    "additional_secret_outputs": str,
}
_KINDS: Final = {Mapping: "a mapping", list: "a list", bool: "True or False", str: "a string"}


def _check_form(
    kind: str, signature: inspect.Signature, args: Sequence[object], kwargs: Mapping[str, object]
) -> str:
    """Refuse unknown, missing and positional arguments, which Python answers with a traceback.

    Returns:
        Class and name of the component.
    """
    first, *others = list(signature.parameters.values())[1:]
    name = args[0] if args else kwargs.get(first.name)
    component = f"{kind} {name}" if isinstance(name, str) else kind
    known = [one.name for one in (first, *others)]
    for key in kwargs:
        if key not in known:
            raise choices_error(component, key, key, known)
    if len(args) > 1:
        raise refused(
            component,
            "",
            f"takes one argument without a keyword, its {first.name}, this is {len(args)}",
            fix=f"write the others with their keywords: {', '.join(one.name for one in others)}; "
            "or write (name, {…}, opts)",
        )
    required = [one.name for one in (first, *others) if one.default is inspect.Parameter.empty]
    _check_present(component, [one for one in required[bool(args) :] if kwargs.get(one) is None])
    opts = kwargs.get("opts")
    if opts is not None and not isinstance(opts, pulumi.ResourceOptions):
        raise refused(component, "opts", "must be pulumi.ResourceOptions", got=article(opts))
    for key, expected in _RESOURCE_OPTIONS.items():
        value = getattr(opts, key, None)
        if value is not None:
            _check_option(component, f"opts.{key}", value, expected)
            items = cast("Sequence[object]", value if isinstance(value, list | tuple) else ())
            for index, item in enumerate(items if key in _ITEMS else ()):
                _check_option(component, f"opts.{key}[{index}]", item, _ITEMS[key])
    for key, value in (*zip(known, args, strict=False), *kwargs.items()):
        _check_output(component, key, value, str(signature.parameters[key].annotation))
        if key == "namespace" and isinstance(value, str):
            label(component, key, value)
    return component


def _check_option(component: str, argument: str, value: object, expected: type | tuple[type, ...]) -> None:
    if not isinstance(value, expected):
        first = expected[0] if isinstance(expected, tuple) else expected
        what = f"must be {_KINDS.get(first) or f'a pulumi.{first.__name__}'}"
        raise refused(component, argument, what, got=article(value))


def _check_output(component: str, argument: str, value: object, annotation: str) -> None:
    """Refuse an Output for an argument that the proof reads, and objects where an Output or text is needed.

    Args:
        component: Class and name, for the error.
        argument: Name of the argument.
        value: The value.
        annotation: The argument's type as the signature writes it.
    """
    kind: type = type(value)
    if not annotation.startswith(_OUTPUT):
        if issubclass(kind, _OUTPUTS):
            raise _not_plain(component, argument, value, values=_OUTPUT in annotation)
    elif not (value is None or issubclass(kind, (str, *_OUTPUTS))):
        raise refused(component, argument, "must be a string or an Output of one", got=article(value))


def _not_plain(component: str, argument: str, value: object, *, values: bool = False) -> pulumi.RunError:
    """Return the error of an Output; `values`: the values of the mapping can be Outputs."""
    return refused(
        component,
        argument,
        f"is {article(value)}",
        allowed="a plain value, because dra-fleet reads it during the preview"
        if not values
        else "a mapping, whose values can be Outputs",
        fix="write the value, or read it from the stack's configuration",
    )


def mapping_of(component: str, argument: str, value: object, allowed: str) -> Mapping[str, object]:
    """Return an argument that must be a mapping.

    Args:
        component: Class and name, for the error.
        argument: Path of the argument.
        value: The value; None is an empty mapping.
        allowed: An example.

    Raises:
        pulumi.RunError: The value is another object.
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return cast("Mapping[str, object]", value)
    raise refused(component, argument, "must be a mapping", got=article(value), allowed=allowed)


def choices_error(component: str, argument: str, key: str, known: Sequence[str]) -> pulumi.RunError:
    """Return the error of an unknown argument, with the nearest known ones."""
    return refused(
        component, argument, "is not an argument", allowed=choices(key, known), fix=mistyped(key, known)
    )


def article(value: object) -> str:
    """Return the type of a value with its article, such as `an int`."""
    kind = type(value).__name__
    if value is None:
        return "None"
    return f"{'an' if kind[:1] in 'AEIOUaeiou' else 'a'} {kind}"
