"""A team's own rules, the same that check a stack in the gate, on the objects of files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.check import OwnRules
from dra_fleet.core.findings.finding import FileFinding, dotted
from dra_fleet.policy.exemptions import exemption_of, today
from dra_fleet.policy.gate.apart import find_in_objects, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found
    from dra_fleet.policy.asked_policies import AskedPolicies
    from dra_fleet.policy.gate.apart import ObjectFinding, PlainObject
    from dra_fleet.policy.own import Policies

PRESET: Final = "standard"
"""Preset of the rules' levels, as in a gate that names none."""
_HIDDEN: Final = ("data", "stringData")
"""Hidden fields of a Secret: https://kubernetes.io/docs/concepts/configuration/secret/"""


def own_rules(asked: AskedPolicies, project: AskedPolicies | None = None) -> OwnRules:
    """Return a team's own rules for a check. They run in another process, as in the gate.

    Args:
        asked: the options of the command.
        project: what the stack file names, if `--project-policies` requests it.

    Raises:
        GateError: The rules cannot be loaded, or their process gives no answer.
        ExemptionsError: The exemptions cannot be used.
    """
    policies = load(asked, project)
    about = {rule.name: rule.description for rule in policies.own}
    return OwnRules(about=about, check=(lambda objects: _found(policies, objects)) if about else None)


def _found(policies: Policies, objects: Sequence[FileObject]) -> Found:
    by_urn = {f"{number}::{item.name}": item for number, item in enumerate(objects)}
    found = find_in_objects({urn: _plain(item) for urn, item in by_urn.items()}, policies)
    return {_finding(each, by_urn[each.urn], policies): None for each in found}


def _plain(item: FileObject) -> PlainObject:
    """Return an object as a program in any language declares it, by the engine's names of types."""
    group = item.api_version if "/" in item.api_version else f"core/{item.api_version}"
    hidden = _HIDDEN if (group, item.kind) == ("core/v1", "Secret") else ()
    return f"kubernetes:{group}:{item.kind}", item.name, item.value, hidden


def _finding(found: ObjectFinding, item: FileObject, policies: Policies) -> FileFinding:
    subject, rule = item.subject, found.rule
    exemption = exemption_of(policies.exemptions, rule.name, found.urn)
    holds = exemption is not None and exemption.holds(today())
    reported = "" if exemption is None else exemption.describe(today())
    place = subject.document.place((*subject.base, *found.path))
    return FileFinding(
        file=subject.document.file,
        line=place.line,
        column=place.column,
        severity="error" if rule.level(PRESET) == "mandatory" and not holds else "warning",
        object=subject.name,
        path=dotted(found.path),
        what=found.problem if holds or not reported else f"{found.problem}; {reported}",
        allowed=found.allowed,
        fix=found.fix,
        rule=rule.name,
        exempted=reported.removeprefix("exempted ") if holds else "",
    )
