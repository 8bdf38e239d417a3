import importlib
from pathlib import Path

import pytest

from dra_fleet.policy import pack
from dra_fleet.policy.rule import ResourceRule, Rule, StackRule
from dra_fleet.policy.rule_cases import CHECKS, Check, breaks_what_is_there, explains_itself
from policies import rules
from tests.policy.breaking_program import CHECKING, cases_of

FILES = [path.stem for path in Path(rules.__path__[0]).glob("[!_]*.py")]


def test_every_rule_of_every_file_is_listed_by_name() -> None:
    found = [rule for file in FILES for rule in importlib.import_module(f"policies.rules.{file}").RULES]
    assert list(pack.RULES) == sorted(found, key=lambda rule: rule.name)


@pytest.mark.parametrize("rule", CHECKING, ids=lambda rule: rule.name)
def test_a_rule_says_what_why_and_how_to_fix_it(rule: Rule) -> None:
    assert isinstance(rule, ResourceRule | StackRule)
    assert list(explains_itself(rule, cases_of(rule))) == []


def test_the_rule_that_only_reports_says_so_too() -> None:
    assert list(explains_itself(pack.UNJUDGED, ())) == ["no case breaks it"]


@pytest.mark.parametrize("rule", CHECKING, ids=lambda rule: rule.name)
def test_some_of_its_cases_have_an_unknown_value(rule: Rule) -> None:
    if rule.name not in NEVER_UNKNOWN:
        assert any(broken.unknown is not None for case in cases_of(rule) for broken in case.breaks)


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


@pytest.mark.parametrize("check", [breaks_what_is_there, *CHECKS], ids=lambda check: check.__name__)
@pytest.mark.parametrize("rule", CHECKING, ids=lambda rule: rule.name)
def test_a_rule_holds_to_the_contract(rule: Rule, check: Check) -> None:
    assert list(check(rule, cases_of(rule))) == []
