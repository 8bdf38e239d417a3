"""A team's own rules, the same that judge a stack in the gate, on the objects of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.check import OwnRules
from dra_fleet.core.declared.resources import Resource, Stack
from dra_fleet.core.declared.values import Secret
from dra_fleet.core.findings.finding import FileFinding, dotted
from dra_fleet.policy.exemptions import exemption_of, today
from dra_fleet.policy.judging import accepted_by_all
from dra_fleet.policy.own import load
from dra_fleet.policy.rule import ResourceRule, Settings, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found
    from dra_fleet.policy.asked_policies import AskedPolicies
    from dra_fleet.policy.own import Policies
    from dra_fleet.policy.rule import Finding, Rule

PRESET: Final = "standard"
"""By which rules have their levels, as in a gate that names none."""
_HIDDEN: Final = ("data", "stringData")
"""What a Secret keeps: https://kubernetes.io/docs/concepts/configuration/secret/"""


def own_rules(asked: AskedPolicies) -> OwnRules:
    """A team's own rules for a check.

    Args:
        asked: where they are.

    Raises:
        RuleFileError: a rule cannot be had.
        ExemptionsError: the exemptions cannot.
    """
    policies = load(asked)
    about = {rule.name: rule.description for rule in policies.own}
    return OwnRules(about=about, judge=lambda objects: _found(policies, objects))


def _found(policies: Policies, objects: Sequence[FileObject]) -> Found:
    """What a team's own rules find in the objects of files, which are what a program would declare.

    A rule that needs a resource's options finds nothing: files have none.
    """
    by_urn = {f"{number}::{item.name}": item for number, item in enumerate(objects)}
    resources = [_resource(urn, item) for urn, item in by_urn.items()]
    rules = [rule for rule in policies.own if rule.level(PRESET) != "disabled" and not rule.needs_options]
    settings = accepted_by_all({rule.name: rule.settings({}) for rule in rules})
    return {
        _told(rule, finding, by_urn[finding.resource.urn], policies): None
        for rule in rules
        for finding in _judged(rule, resources, settings[rule.name])
    }


def _judged(rule: Rule, resources: Sequence[Resource], settings: Settings) -> Iterable[Finding]:
    if isinstance(rule, StackRule):
        yield from rule.judge(Stack(resources=resources), settings)
    elif isinstance(rule, ResourceRule):
        for resource in resources:
            if rule.types.fullmatch(resource.type) is not None:
                yield from rule.judge(resource, settings)


def _resource(urn: str, item: FileObject) -> Resource:
    """An object as a program in any language declares it, by the engine's names of types."""
    group = item.api_version if "/" in item.api_version else f"core/{item.api_version}"
    hidden = _HIDDEN if (group, item.kind) == ("core/v1", "Secret") else ()
    shown = {name: Secret(value) if name in hidden else value for name, value in item.value.items()}
    return Resource(type=f"kubernetes:{group}:{item.kind}", name=item.name, urn=urn, read=lambda: shown)


def _told(rule: Rule, finding: Finding, item: FileObject, policies: Policies) -> FileFinding:
    subject, path = item.subject, finding.value.path
    exemption = exemption_of(policies.exemptions, rule.name, finding.resource.urn)
    holds = exemption is not None and exemption.holds(today())
    told = "" if exemption is None else exemption.told(today())
    place = subject.document.place((*subject.base, *path))
    return FileFinding(
        file=subject.document.file,
        line=place.line,
        column=place.column,
        severity="error" if rule.level(PRESET) == "mandatory" and not holds else "warning",
        object=subject.name,
        path=dotted(path),
        what=finding.problem if holds or not told else f"{finding.problem}; {told}",
        allowed=finding.allowed,
        fix=finding.fix,
        rule=rule.name,
        exempted=told.removeprefix("exempted ") if holds else "",
    )
