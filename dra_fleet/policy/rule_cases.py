"""Test cases of a rule: programs that pass, and changes of one property that the rule reports."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, cast

from dra_fleet.core.declared.resources import Provider, Resource
from dra_fleet.core.declared.values import Missing, Secret

UNKNOWN: Final = Missing.UNKNOWN
REMOVED: Final = Missing.ABSENT


@dataclass(frozen=True, kw_only=True)
class Declared:
    """A resource of a test program."""

    type: str
    name: str
    properties: Mapping[str, Any] = field(default_factory=dict[str, Any])
    outputs: Mapping[str, Any] | None = None
    protect: bool = False
    delete_before_replace: bool | None = None
    parent: str = ""
    dependencies: tuple[str, ...] = ()
    provider: tuple[str, Mapping[str, Any]] | None = None

    @property
    def urn(self) -> str:
        """Return the URN as the engine would."""
        return f"urn:pulumi:dev::other::{self.type}::{self.name}"

    def resource(self) -> Resource:
        """Return the resource as rules read it."""
        properties = copy.deepcopy(self.properties)
        outputs = self.properties if self.outputs is None else self.outputs
        provider = None
        if self.provider is not None:
            kind, settings = self.provider
            provider = Provider(type=kind, name="default", urn=f"urn:{kind}", read=lambda: settings)
        return Resource(
            type=self.type,
            name=self.name,
            urn=self.urn,
            protect=self.protect,
            delete_before_replace=self.delete_before_replace,
            parent=self.parent,
            dependencies=self.dependencies,
            provider=provider,
            read=lambda: properties,
            read_outputs=lambda: outputs,
        )


@dataclass(frozen=True, kw_only=True)
class Break:
    """A change that makes one property of a passing program wrong.

    Attributes:
        resource: the name of the resource that is changed.
        path: the property, from the resource's properties; empty with `options`.
        value: what it becomes; `REMOVED` takes it out.
        messages: exactly what the rule then says, in order.
        unknown: the place that is reported when the same property is unknown instead; None for one that
            cannot be unknown or that the rule need not know (say why beside it).
        options: fields of `Declared` to change instead, such as `{"protect": False}`.
    """

    resource: str
    path: tuple[str | int, ...] = ()
    value: Any = None
    messages: tuple[str, ...]
    unknown: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, kw_only=True)
class RuleCase:
    """A program that passes a rule, and ways to break it. Settings are the policy config of the rule."""

    passing: tuple[Declared, ...]
    breaks: tuple[Break, ...]
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])


def said(declared: Declared, problem: str, allowed: str, fix: str) -> str:
    """Return a finding's message. `problem` begins with the place, as in `spec.count is 0`."""
    return f"{declared.name} ({declared.type}): {problem}; allowed: {allowed}; fix: {fix}"


def changed(case: RuleCase, broken: Break, value: object) -> list[Resource]:
    """Build the program of a case with one property changed."""
    return [declared.resource() for declared in declared_with(case, broken, value)]


def declared_with(case: RuleCase, broken: Break, value: object) -> list[Declared]:
    """Return the declarations of a case with one property changed."""
    names = [declared.name for declared in case.passing]
    if names.count(broken.resource) != 1:
        raise ValueError(f"a break names the resource {broken.resource!r}; allowed: {', '.join(names)}")
    found: list[Declared] = []
    for declared in case.passing:
        if declared.name != broken.resource:
            found.append(declared)
            continue
        properties = copy.deepcopy(dict(declared.properties))
        if broken.path:
            put(properties, broken.path, value)
        found.append(replace(declared, properties=properties, **dict(broken.options)))
    return found


def put(properties: Any, path: tuple[str | int, ...], value: object) -> None:  # noqa: ANN401 - any tree
    """Set or take out what is at a path; maps on the way are made."""
    for step in path[:-1]:
        properties = properties.setdefault(step, {}) if isinstance(step, str) else properties[step]
    if value is REMOVED:
        del properties[path[-1]]
    else:
        properties[path[-1]] = value


def all_secret(value: Any) -> Any:  # noqa: ANN401 - any tree
    """Make every scalar of a value secret."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        return {key: all_secret(item) for key, item in mapping.items()}
    if isinstance(value, list):
        return [all_secret(item) for item in cast("list[Any]", value)]
    return value if isinstance(value, Missing) else Secret(value)


def scalars(value: Any) -> list[str]:  # noqa: ANN401 - any tree
    """Every scalar as text."""
    if isinstance(value, Mapping):
        return [text for item in cast("Mapping[str, Any]", value).values() for text in scalars(item)]
    if isinstance(value, list):
        return [text for item in cast("list[Any]", value) for text in scalars(item)]
    return [] if value is None or isinstance(value, Missing) else [str(value)]
