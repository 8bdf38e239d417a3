import copy
from typing import Final

import pytest
from msgspec.structs import replace

from dra_fleet.core.declared.values import Secret
from dra_fleet.policy import pack
from dra_fleet.policy.rule import Rule
from dra_fleet.policy.rule_cases import UNKNOWN, Declared, all_secret, declared_with, put
from tests.json_places import places
from tests.policy.breaking_program import CHECKING, cases_of
from tests.policy.every_rule import check_all

pytestmark = pytest.mark.slow

WRONG: Final[tuple[object, ...]] = (
    UNKNOWN,
    None,
    7,
    1.5,
    True,
    "",
    "text",
    [],
    [7],
    ["a", UNKNOWN],
    {},
    {"a": 7},
    {"": [None]},
    Secret("text"),
    Secret({}),
)
CASES: Final = 3
"""Of each rule; the others break the same properties."""


def changed(declared: Declared, path: tuple[str | int, ...], value: object) -> Declared:
    properties = copy.deepcopy(dict(declared.properties))
    put(properties, path, value)
    return replace(declared, properties=properties)


@pytest.mark.parametrize("rule", CHECKING, ids=lambda rule: rule.name)
def test_a_rule_stands_any_value_at_any_place(rule: Rule) -> None:
    checked = 0
    for case in cases_of(rule)[:CASES]:
        settings = {rule.name: rule.settings(case.settings)}
        for number, declared in enumerate(case.passing):
            for path in places(declared.properties):
                for value in WRONG:
                    program = list(case.passing)
                    program[number] = changed(declared, path, value)
                    resources = [each.resource() for each in program]
                    found = check_all([rule], resources, settings)
                    assert all("Missing." not in each.message for each in found)
                    if rule.remedy is not None:
                        rule.remedy(resources[number], settings[rule.name])
                    checked += 1
    assert checked or rule.name in ONLY_OPTIONS


REMEDIES = [rule for rule in CHECKING if rule.remedy is not None]


@pytest.mark.parametrize("rule", REMEDIES, ids=lambda rule: rule.name)
def test_a_remedy_keeps_what_is_secret(rule: Rule) -> None:
    assert rule.remedy is not None
    for case in cases_of(rule):
        for broken in case.breaks:
            for declared in declared_with(case, broken, broken.value):
                secret = replace(declared, properties=all_secret(declared.properties)).resource()
                within = replace(
                    declared, properties={key: Secret(value) for key, value in declared.properties.items()}
                ).resource()
                for resource in (secret, within):
                    remedied = rule.remedy(resource, rule.settings(case.settings))
                    assert remedied is None or {
                        key for key, value in remedied.items() if isinstance(value, Secret)
                    } >= {key for key, value in resource.read().items() if isinstance(value, Secret)}


ONLY_OPTIONS: Final = frozenset(
    {"cluster-require-protection", "output-forbid-credentials", "type-report-unread"}
)
"""Rules whose programs have no properties."""


def test_the_names_of_rules_without_properties_are_rules() -> None:
    assert {rule.name for rule in pack.RULES} >= ONLY_OPTIONS
