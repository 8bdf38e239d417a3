"""Test cases of a rule, and the contract that every rule and its cases fulfil."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct, field
from msgspec.structs import replace

from dra_fleet.core.declared.resources import Provider, Resource
from dra_fleet.core.declared.values import REDACTED, Missing, Secret
from dra_fleet.policy.checking import SHORTEST_SECRET, check
from dra_fleet.policy.rule import ACCEPT_UNKNOWN, ResourceRule, Rule

if TYPE_CHECKING:
    from dra_fleet.policy.checking import Violation

Check = Callable[[Rule, Sequence["RuleCase"]], Iterator[str]]

UNKNOWN: Final = Missing.UNKNOWN
REMOVED: Final = Missing.ABSENT


class Declared(Struct, frozen=True, kw_only=True):
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


class Break(Struct, frozen=True, kw_only=True):
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


class RuleCase(Struct, frozen=True, kw_only=True):
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


# A rule passes the programs of its cases and reports each break in exactly the words that the case says; the
# same property unknown is reported as unknown, and can be accepted by name; no secret value is shown or
# hides a break.

_NAME: Final = re.compile(r"[a-z]+(-[a-z0-9]+){2,}")
_PARAMETER: Final = re.compile(r"[a-z][A-Za-z]+")


def broken_contract(rule: Rule, cases: Sequence[RuleCase]) -> list[str]:
    """Return a sentence for each broken part of the contract; of wrong cases, only the first."""
    found = [*explains_itself(rule, cases), *breaks_what_is_there(rule, cases)]
    return found or [reported for check in CHECKS for reported in check(rule, cases)]


def explains_itself(rule: Rule, cases: Sequence[RuleCase]) -> Iterator[str]:
    """Check that the rule has a description, a fix and a link, and that some case breaks it."""
    if not _NAME.fullmatch(rule.name):
        yield f"its name is {rule.name!r}; allowed: <resource>-<verb>-<object> in small letters"
    for name, text in (("description", rule.description), ("fix", rule.fix)):
        if not text.endswith(".") or "\n" in text:
            yield f"its {name} is {text!r}; allowed: one line that ends with a full stop"
    if not rule.link.startswith("https://"):
        yield f"its link is {rule.link!r}; allowed: an address that begins with https://"
    for parameter in rule.parameters:
        if not _PARAMETER.fullmatch(parameter.name):
            yield f"its parameter {parameter.name!r} must be named in camelCase"
        if not parameter.description.endswith("."):
            yield f"the description of its parameter {parameter.name} must end with a full stop"
    if not any(case.breaks for case in cases):
        yield "no case breaks it"


def breaks_what_is_there(rule: Rule, cases: Sequence[RuleCase]) -> Iterator[str]:
    """Each break names one of the resources, and what it takes out was there."""
    del rule
    for case in cases:
        for broken in case.breaks:
            try:
                changed(case, broken, broken.value)
            except (ValueError, KeyError, IndexError, TypeError) as problem:
                what = problem if isinstance(problem, ValueError) else "there is nothing to change"
                yield f"{_named(broken)}: {what}"


def passes(rule: Rule, cases: Sequence[RuleCase]) -> Iterator[str]:
    """Check that the rule finds nothing in the passing programs, which have resources of its types."""
    for case in cases:
        resources = [declared.resource() for declared in case.passing]
        for violation in _reported(rule, case, resources):
            yield f"a program that should pass does not: {violation.message}"
        if isinstance(rule, ResourceRule) and not any(rule.types.fullmatch(one.type) for one in resources):
            yield f"a program has no resource that it checks; allowed: {rule.types.pattern}"


def reports_each_break(rule: Rule, cases: Sequence[RuleCase]) -> Iterator[str]:
    """Check that the rule reports each break with exactly the messages of the case."""
    for case, broken in _breaks(cases):
        violations = _reported(rule, case, changed(case, broken, broken.value))
        said = [violation.message for violation in violations]
        if said != list(broken.messages):
            yield f"{_named(broken)} is reported as {said}; the case says {list(broken.messages)}"
        if any(violation.unjudged for violation in violations):
            yield f"{_named(broken)} stops nothing"


def reports_unknown(rule: Rule, cases: Sequence[RuleCase]) -> Iterator[str]:
    """Check that the rule reports the same property as unknown if preview does not know it."""
    for case, broken in _breaks(cases):
        if broken.unknown is None:
            continue
        resources = changed(case, broken, UNKNOWN)
        resource = next(resource for resource in resources if resource.name == broken.resource)
        entry = f"{resource.name}/{broken.unknown}"
        message = (
            f"{resource.title}: {broken.unknown} is unknown at preview; "
            "allowed: a value that is known at preview; "
            f'fix: give it as a plain value, or accept it by name: add "{entry}" to {ACCEPT_UNKNOWN} of '
            f"{rule.name} in the policy config; why: {rule.description}"
        )
        said = [(found.message, found.urn, found.unjudged) for found in _reported(rule, case, resources)]
        if said != [(message, resource.urn, False)]:
            reported = [text for text, _, _ in said]
            yield f"{_named(broken)}, unknown, is reported as {reported}; it must be {[message]}"


def accepts_unknown(rule: Rule, cases: Sequence[RuleCase]) -> Iterator[str]:
    """Check that an unknown value that is accepted by name stops nothing and is reported."""
    for case, broken in _breaks(cases):
        if broken.unknown is None:
            continue
        accepted = {ACCEPT_UNKNOWN: [f"{broken.resource}/{broken.unknown}"]}
        violations = _reported(rule, case, changed(case, broken, UNKNOWN), **accepted)
        ending = f"is unknown at preview; accepted by name for {rule.name}"
        if [found.unjudged for found in violations] != [True] or not violations[0].message.endswith(ending):
            reported = [found.message for found in violations]
            yield f"{_named(broken)}, unknown and accepted by name, is reported as {reported}"


def shows_no_secret(rule: Rule, cases: Sequence[RuleCase]) -> Iterator[str]:
    """Its messages show no secret value."""
    for case, broken in _breaks(cases):
        program = declared_with(case, broken, broken.value)
        secret = [
            replace(
                declared,
                properties=all_secret(declared.properties),
                outputs=None if declared.outputs is None else all_secret(declared.outputs),
            )
            for declared in program
        ]
        hidden = {text for declared in program for text in scalars(declared.properties)}
        hidden = {text for text in hidden if len(text) >= SHORTEST_SECRET and text not in REDACTED}
        for violation in _reported(rule, case, [declared.resource() for declared in secret]):
            if shown := sorted(text for text in hidden if text in violation.message):
                yield f"{_named(broken)} shows the secret {shown[0]!r}: {violation.message}"


def sees_through_secrets(rule: Rule, cases: Sequence[RuleCase]) -> Iterator[str]:
    """Check that the rule finds a break in secret values as in plain ones."""
    for case, broken in _breaks(cases):
        program = declared_with(case, broken, broken.value)
        secret = [replace(declared, properties=all_secret(declared.properties)) for declared in program]
        open_, hidden = (
            [found.urn for found in _reported(rule, case, [one.resource() for one in each])]
            for each in (program, secret)
        )
        if open_ != hidden:
            yield f"{_named(broken)} is found on {open_}, and on {hidden} where the values are secret"


CHECKS: Final[tuple[Check, ...]] = (
    passes,
    reports_each_break,
    reports_unknown,
    accepts_unknown,
    shows_no_secret,
    sees_through_secrets,
)
"""Checks of a rule's own cases."""


def _reported(rule: Rule, case: RuleCase, resources: Sequence[Resource], **more: object) -> list[Violation]:
    return check(rule, resources, rule.settings({**case.settings, **more}))


def _breaks(cases: Sequence[RuleCase]) -> Iterator[tuple[RuleCase, Break]]:
    return ((case, broken) for case in cases for broken in case.breaks)


def _named(broken: Break) -> str:
    if not broken.path:
        return f"{broken.resource} with {dict(broken.options)}"
    place = ".".join(str(step) for step in broken.path)
    return f"{broken.resource} {place} " + ("taken out" if broken.value is REMOVED else f"= {broken.value!r}")
