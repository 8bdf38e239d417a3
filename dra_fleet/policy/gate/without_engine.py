"""Evaluates the resources of saved events if the pack did not run with the preview.

The events contain the resources of a program, but no dependencies, no options except `protect` and no secret
values. If a rule needs one of these, it counts as unknown, or the rule as not evaluated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from dra_fleet.core.declared.resources import Provider, Resource
from dra_fleet.core.findings.errors import ReportedViolation
from dra_fleet.policy import pack
from dra_fleet.policy.checking import accepted_by_all, check, merge_unknowns, with_exemptions
from dra_fleet.policy.decoding import from_plain
from dra_fleet.policy.exemptions import today
from dra_fleet.policy.gate.errors import GateError
from dra_fleet.policy.gate.record import Judgement
from dra_fleet.policy.pack import PACK_ONLY, Policies
from dra_fleet.policy.rule import ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.policy.checking import Violation
    from dra_fleet.policy.gate.record import Record
    from dra_fleet.policy.rule import Level, Rule, Settings


def was_checked(record: Record) -> bool:
    """Return whether the pack ran with the preview."""
    return any(item.pack == pack.NAME for item in (*record.judgements, *record.stack_judgements))


def check_record(
    record: Record,
    config: Mapping[str, Any],
    policies: Policies = PACK_ONLY,
    apart: Mapping[str, list[Violation]] | None = None,
) -> None:
    """Put into a record what the rules find in its resources, in the place of what a pack of this name found.

    Args:
        record: a preview.
        config: the policy config: levels and parameters by rule.
        policies: all rules, and the exemptions from them.
        apart: findings of custom rules from their separate process, by rule; they do not run here.

    Raises:
        GateError: The policy config names a parameter that its rule has not.
    """
    record.without_engine = True
    record.forget(pack.NAME)
    resources = resources_of(record)
    found_apart = apart or {}
    levels: dict[str, Level] = {rule.name: config[rule.name]["enforcementLevel"] for rule in policies.rules}
    here = [rule for rule in policies.rules if rule.name not in found_apart]
    found = {**found_by(here, resources, config, policies.rules), **found_apart}
    ran = [rule for rule in policies.rules if levels[rule.name] != "disabled"]
    violations: list[Violation] = []
    for rule in ran:
        if rule.needs_options and found[rule.name]:
            record.not_checked[rule.name] = found[rule.name][0].message
        else:
            violations += found[rule.name]
    violations = with_exemptions(violations, policies.exemptions, today())
    record.violations += [_reported(violation, levels) for violation in merge_unknowns(violations, levels)]
    on_resources = frozenset(rule.name for rule in ran if isinstance(rule, ResourceRule))
    on_stack = frozenset(rule.name for rule in ran if isinstance(rule, StackRule))
    record.judgements += [_judgement(resource.urn, on_resources) for resource in resources]
    record.stack_judgements.append(_judgement("", on_stack))


def resources_of(record: Record) -> list[Resource]:
    """Return the resources that a program requests, as rules read them."""
    return [_resource(record, urn) for urn in record.resources]


def found_by(
    rules: Iterable[Rule], resources: Sequence[Resource], config: Mapping[str, Any], all_rules: Iterable[Rule]
) -> dict[str, list[Violation]]:
    """Return what rules find, by rule; nothing for a disabled rule.

    Args:
        rules: the rules to run.
        resources: those of the program.
        config: the policy config, levels and parameters by rule.
        all_rules: every rule that checks: an unknown value that one of them accepts, each accepts.

    Raises:
        GateError: The policy config names a parameter that its rule has not.
    """
    settings = accepted_by_all({rule.name: _settings(rule, config[rule.name]) for rule in all_rules})
    return {
        rule.name: check(rule, resources, settings[rule.name])
        if config[rule.name]["enforcementLevel"] != "disabled"
        else []
        for rule in rules
    }


def _settings(rule: Rule, config: Mapping[str, object]) -> Settings:
    try:
        return rule.settings({key: value for key, value in config.items() if key != "enforcementLevel"})
    except ValueError as problem:
        raise GateError(str(problem)) from None


def _judgement(urn: str, rules: frozenset[str]) -> Judgement:
    return Judgement(urn=urn, pack=pack.NAME, version=pack.VERSION, rules=rules)


def _reported(violation: Violation, levels: Mapping[str, Level]) -> ReportedViolation:
    if violation.unjudged:
        violation = replace(violation, rule=pack.UNJUDGED)
    return ReportedViolation(
        rule=violation.rule.name,
        pack=pack.NAME,
        level=violation.level(levels),
        severity=violation.severity,
        message=violation.message,
        urn=violation.urn,
    )


def _resource(record: Record, urn: str) -> Resource:
    known = record.resources[urn]
    outputs = record.outputs.get(urn) or known.get("outputs") or {}
    return Resource(
        type=_type(urn),
        name=_name(urn),
        urn=urn,
        protect=bool(known.get("protect")),
        parent=known.get("parent", ""),
        provider=_provider(record, known.get("provider") or ""),
        read=lambda: _properties(known.get("inputs")),
        read_outputs=lambda: _properties(outputs),
    )


def _provider(record: Record, reference: str) -> Provider | None:
    """Return the provider that `<urn>::<id>` names."""
    urn = reference.rpartition("::")[0]
    if not urn:
        return None
    known = record.resources.get(urn, {})
    return Provider(type=_type(urn), name=_name(urn), urn=urn, read=lambda: _properties(known.get("inputs")))


def _properties(known: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", from_plain(known or {}))


def _type(urn: str) -> str:
    """Return the resource's own type: the last in `urn:pulumi:<stack>::<project>::<type>$<type>::<name>`."""
    return urn.split("::", 3)[2].rpartition("$")[2]


def _name(urn: str) -> str:
    return urn.split("::", 3)[3]
