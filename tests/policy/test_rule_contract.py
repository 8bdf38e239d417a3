"""What holds for every rule: its program passes, each break is told, unknown and secret are handled."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from dra_fleet.declared.values import REDACTED
from dra_fleet.policy import pack
from dra_fleet.policy.judging import SHORTEST_SECRET
from dra_fleet.policy.rule import ACCEPT_UNKNOWN, ResourceRule, StackRule
from policies import rules
from tests.policy.every_rule import judge_all
from tests.policy.rule_cases import REMOVED, UNKNOWN, all_secret, changed, declared_with, scalars

if TYPE_CHECKING:
    from dra_fleet.declared.resources import Resource
    from dra_fleet.policy.judging import Violation
    from dra_fleet.policy.rule import Rule
    from tests.policy.rule_cases import Break, RuleCase

    Breaks = list[tuple[RuleCase, Break]]

FILES = sorted(path.stem for path in Path(rules.__path__[0]).glob("*.py") if path.stem != "__init__")
JUDGING = [rule for rule in pack.RULES if rule is not pack.UNJUDGED]


def cases_of(rule: Rule) -> tuple[RuleCase, ...]:
    return importlib.import_module(f"tests.policies.rules.{rule.name.replace('-', '_')}").CASES


BREAKS = [
    pytest.param([(case, broken) for case in cases_of(rule) for broken in case.breaks], id=rule.name)
    for rule in JUDGING
]
UNKNOWN_BREAKS = [
    pytest.param(unknown, id=param.id)
    for param in BREAKS
    if (unknown := [each for each in cast("Breaks", param.values[0]) if each[1].unknown is not None])
]


def told(case: RuleCase, resources: list[Resource], **settings: object) -> list[Violation]:
    given = {case.rule.name: case.rule.settings({**case.settings, **settings})}
    return judge_all([case.rule], resources, given)


def test_every_file_of_rules_is_listed_by_name() -> None:
    assert [rule.name.replace("-", "_") for rule in pack.RULES] == FILES
    for file in FILES:
        assert importlib.import_module(f"policies.rules.{file}").RULE in pack.RULES


@pytest.mark.parametrize("rule", pack.RULES, ids=lambda rule: rule.name)
def test_a_rule_says_what_why_and_how_to_fix_it(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z0-9]+){2,}", rule.name)
    assert rule.description.endswith(".")
    assert "\n" not in rule.description
    assert rule.fix.endswith(".")
    assert rule.link.startswith("https://")
    assert isinstance(rule, ResourceRule | StackRule)
    for parameter in rule.parameters:
        assert re.fullmatch(r"[a-z][A-Za-z]+", parameter.name)
        assert parameter.description.endswith(".")


@pytest.mark.parametrize("rule", JUDGING, ids=lambda rule: rule.name)
def test_a_rule_has_cases_and_some_of_them_with_an_unknown_value(rule: Rule) -> None:
    cases = cases_of(rule)
    assert all(case.rule is rule for case in cases)
    assert any(case.breaks for case in cases)
    if rule.name not in NEVER_UNKNOWN:
        assert any(broken.unknown is not None for case in cases for broken in case.breaks)


NEVER_UNKNOWN = frozenset(
    {
        "claim-require-stable-api",
        "cluster-require-protection",
        "output-forbid-credentials",
        "provider-require-exec-credentials",
        "type-report-unread",
    }
)
"""Rules on options of resources, which are always known, on names and marks, and on what is listed only."""


@pytest.mark.parametrize("rule", JUDGING, ids=lambda rule: rule.name)
def test_the_passing_programs_pass(rule: Rule) -> None:
    for case in cases_of(rule):
        resources = [declared.resource() for declared in case.passing]
        assert [violation.message for violation in told(case, resources)] == []
        if isinstance(rule, ResourceRule):
            assert any(rule.types.fullmatch(resource.type) for resource in resources)


@pytest.mark.parametrize("breaks", BREAKS)
def test_each_break_is_told_exactly(breaks: Breaks) -> None:
    for case, broken in breaks:
        violations = told(case, changed(case, broken, broken.value))
        assert [violation.message for violation in violations] == list(broken.messages), broken
        assert not any(violation.unjudged for violation in violations), broken


@pytest.mark.parametrize("breaks", UNKNOWN_BREAKS)
def test_the_same_property_unknown_is_told_as_unknown(breaks: Breaks) -> None:
    for case, broken in breaks:
        resources = changed(case, broken, UNKNOWN)
        violations = told(case, resources)
        resource = next(resource for resource in resources if resource.name == broken.resource)
        entry = f"{resource.name}/{broken.unknown}"
        message = (
            f"{resource.title}: {broken.unknown} is unknown at preview; "
            "allowed: a value that is known at preview; "
            f'fix: give it as a plain value, or accept it by name: add "{entry}" to acceptUnknown of '
            f"{case.rule.name} in the policy config"
        )
        said = [(violation.message, violation.urn, violation.unjudged) for violation in violations]
        assert said == [(message, resource.urn, False)], broken


@pytest.mark.parametrize("breaks", UNKNOWN_BREAKS)
def test_an_unknown_value_that_is_accepted_by_name_is_told_as_accepted(breaks: Breaks) -> None:
    for case, broken in breaks:
        entry = f"{broken.resource}/{broken.unknown}"
        violations = told(case, changed(case, broken, UNKNOWN), **{ACCEPT_UNKNOWN: [entry]})
        assert [violation.unjudged for violation in violations] == [True], broken
        assert violations[0].message.endswith(
            f"is unknown at preview; accepted by name for {case.rule.name}"
        ), broken


@pytest.mark.parametrize("breaks", BREAKS)
def test_a_message_shows_no_secret_value(breaks: Breaks) -> None:
    for case, broken in breaks:
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
        for violation in told(case, [declared.resource() for declared in secret]):
            for text in hidden:
                if len(text) >= SHORTEST_SECRET and text not in REDACTED:
                    assert text not in violation.message, broken


@pytest.mark.parametrize("breaks", BREAKS)
def test_no_break_hides_behind_secrets(breaks: Breaks) -> None:
    for case, broken in breaks:
        program = declared_with(case, broken, broken.value)
        secret = [replace(declared, properties=all_secret(declared.properties)) for declared in program]
        open_, hidden = (told(case, [one.resource() for one in each]) for each in (program, secret))
        assert [violation.urn for violation in hidden] == [violation.urn for violation in open_], broken


def test_a_removed_property_was_there() -> None:
    for case in (case for rule in JUDGING for case in cases_of(rule)):
        for broken in case.breaks:
            if broken.value is REMOVED and broken.path:
                changed(case, broken, REMOVED)  # a KeyError if it was not
