"""Runs rules, and sees to what every rule owes: unknown values are reported, secrets are not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.core.declared.resources import Stack
from dra_fleet.core.declared.values import REDACTED
from dra_fleet.policy.exemptions import exemption_of
from dra_fleet.policy.reading.contents import changed, contents, expanded
from dra_fleet.policy.rule import ACCEPT_UNKNOWN, ResourceRule, Settings, StackRule

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.exemptions import Exemption
    from dra_fleet.policy.rule import Finding, Level, Rule, Severity

SHORTEST_SECRET = 4
"""Shorter ones are hidden where they stand alone; taken out of the middle of words they would say more."""


class Violation(Struct, frozen=True, kw_only=True):
    """A violation of a rule by a resource.

    Attributes:
        rule: the rule.
        message: one line, without secrets.
        urn: the resource.
        unjudged: it is an unknown value that stops nothing: accepted by name, or checked when known.
        unknown: the place of the unknown value; empty for what the rule found.
        advice: it stops nothing in this program, whatever the rule's level.
        exempted: a valid exemption covers it, so that it stops nothing either.
    """

    rule: Rule
    message: str
    urn: str
    unjudged: bool = False
    unknown: str = ""
    advice: bool = False
    exempted: bool = False

    def level(self, levels: Mapping[str, Level]) -> Level:
        """Its level, by those of the rules."""
        level = levels[self.rule.name]
        stops = level in ("mandatory", "remediate")
        return ("advisory" if self.advice or self.exempted else "mandatory") if stops else level

    @property
    def severity(self) -> Severity:
        """That of its rule; low for advice."""
        return "low" if self.advice else self.rule.severity


def accepted_by_all(settings: Mapping[str, Settings]) -> dict[str, Settings]:
    """Accept each unknown value that one rule accepts for all rules."""
    named = [entry for one in settings.values() for entry in one.texts(ACCEPT_UNKNOWN)]
    accepted = {ACCEPT_UNKNOWN: tuple(dict.fromkeys(named))}
    return {rule: Settings({**one.values, **accepted}) for rule, one in settings.items()}


def merge_unknowns(violations: Iterable[Violation], levels: Mapping[str, Level]) -> list[Violation]:
    """Merge the violations of each unknown value into one: that of the rule with the strictest level."""
    merged: dict[object, Violation] = {}
    for number, violation in enumerate(violations):
        key = (violation.urn, violation.unknown) if violation.unknown else number
        present = merged.get(key)
        if present is None or weight(violation, levels) > weight(present, levels):
            merged[key] = violation
    return list(merged.values())


def weight(violation: Violation, levels: Mapping[str, Level]) -> int:
    """Return how much a violation stops: 0 nothing, 1 nothing although it is a finding, 2 the run."""
    if violation.unjudged:
        return 0
    return 2 if violation.level(levels) == "mandatory" else 1


def with_exemptions(
    violations: Iterable[Violation], exemptions: Sequence[Exemption], today: dt.date
) -> list[Violation]:
    """Violations that say which exemption is about them; one that holds has them stop nothing."""
    return [_exempted(violation, exemptions, today) for violation in violations]


def _exempted(violation: Violation, exemptions: Sequence[Exemption], today: dt.date) -> Violation:
    found = exemption_of(exemptions, violation.rule.name, violation.urn)
    if found is None or violation.unjudged:
        return violation
    message = f"{violation.message}; {found.describe(today)}"
    return replace(violation, message=message, exempted=found.holds(today))


def check(rule: Rule, resources: Sequence[Resource], settings: Settings) -> list[Violation]:
    """Return the violations of one rule by all resources of a program."""
    if isinstance(rule, ResourceRule):
        found = [found for resource in resources for found in check_resource(rule, resource, settings)]
        return [*found, *check_patched(rule, resources, settings)]
    return check_stack(rule, Stack(resources=resources), settings) if isinstance(rule, StackRule) else []


def check_resource(rule: ResourceRule, resource: Resource, settings: Settings) -> list[Violation]:
    """Return the violations of one rule by one resource, with the unknown values that the rule read."""
    about = [each for each in (resource, *contents(resource).objects) if rule.types.fullmatch(each.type)]
    if not about:
        return []
    resource.unknowns.clear()
    findings = [finding for each in about for finding in rule.check(each, settings)]
    return _violations(rule, findings, [resource], settings)


def check_whole(rule: Rule, stack: Stack, settings: Settings) -> list[Violation]:
    """Return the violations of one rule that only all resources together show."""
    if isinstance(rule, ResourceRule):
        return check_patched(rule, stack.resources, settings)
    return check_stack(rule, stack, settings) if isinstance(rule, StackRule) else []


def check_patched(rule: ResourceRule, resources: Sequence[Resource], settings: Settings) -> list[Violation]:
    """Return the violations of one rule by resources with their patches that neither has alone."""
    merged = [each for each in changed(resources) if rule.types.fullmatch(each.type)]
    if not merged:
        return []
    alone = {
        _problem(found)
        for resource in resources
        if resource.type.startswith("kubernetes:") and rule.types.fullmatch(resource.type)
        for found in check_resource(rule, resource, settings)
    }
    return [
        found
        for resource in merged
        for found in check_resource(rule, resource, settings)
        if not found.unknown and _problem(found) not in alone
    ]


def _problem(violation: Violation) -> str:
    return violation.message.partition("): ")[2]


def check_stack(rule: StackRule, stack: Stack, settings: Settings) -> list[Violation]:
    """Return the violations of one rule by the stack, with the unknown values that the rule read."""
    advises = rule.advises is not None and rule.advises(stack, settings)
    for resource in stack.resources:
        resource.unknowns.clear()
    findings = list(rule.check(expanded(stack), settings))
    found = _violations(rule, findings, stack.resources, settings)
    return [replace(violation, advice=True) for violation in found] if advises else found


def prepare(rules: Iterable[Rule], resource: Resource) -> None:
    """Have the rules on the stack work out what one resource alone reports."""
    for rule in rules:
        if isinstance(rule, StackRule) and rule.prepare is not None:
            rule.prepare(resource)


def _violations(
    rule: Rule, findings: Sequence[Finding], checked: Sequence[Resource], settings: Settings
) -> list[Violation]:
    violations = [
        Violation(rule=rule, message=finding.message, urn=finding.resource.urn) for finding in findings
    ]
    accepted = settings.texts(ACCEPT_UNKNOWN)
    violations += [
        _unknown(rule, resource, place, accepted) for resource in checked for place in resource.unknowns
    ]
    if not violations:
        return []
    secrets = _secrets(checked)
    return [_redacted(violation, secrets) for violation in violations]


def _unknown(rule: Rule, resource: Resource, place: str, accepted: Sequence[str]) -> Violation:
    entry = f"{resource.name}/{place}"
    if entry in accepted:
        message = f"{resource.title}: {place} is unknown at preview; accepted by name for {rule.name}"
        return Violation(rule=rule, message=message, urn=resource.urn, unjudged=True, unknown=place)
    if rule.checked_at_update:
        message = (
            f"{resource.title}: {place} is unknown at preview; "
            f"{rule.name} checks it when it is known, before the resource is made"
        )
        return Violation(rule=rule, message=message, urn=resource.urn, unjudged=True, unknown=place)
    message = (
        f"{resource.title}: {place} is unknown at preview; allowed: a value that is known at preview; "
        f'fix: give it as a plain value, or accept it by name: add "{entry}" to {ACCEPT_UNKNOWN} of '
        f"{rule.name} in the policy config; why: {rule.description}"
    )
    return Violation(rule=rule, message=message, urn=resource.urn, unknown=place)


def _secrets(resources: Iterable[Resource]) -> list[str]:
    found: set[str] = set()
    for resource in resources:
        places: tuple[Value, ...] = (resource.properties, resource.outputs, resource.provider_properties)
        for place in places:
            found.update(secret for secret in place.secrets() if len(secret) >= SHORTEST_SECRET)
    return sorted(found, key=len, reverse=True)


def _redacted(violation: Violation, secrets: Sequence[str]) -> Violation:
    if not secrets:
        return violation
    anything = re.compile("|".join(map(re.escape, secrets)))
    return replace(violation, message=anything.sub(REDACTED, violation.message))
