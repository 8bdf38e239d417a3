import pytest

from dra_fleet.policy import docs, pack
from dra_fleet.policy.rule import Rule


@pytest.mark.parametrize("rule", pack.RULES, ids=lambda rule: rule.name)
def test_each_rule_says_its_level_why_fix_and_parameters(rule: Rule) -> None:
    page = docs.page()
    section = page[page.index(f"\n## {rule.name}\n") :].split("\n## ")[1]
    for said in (rule.description, rule.fix, rule.link, rule.severity, rule.level("standard")):
        assert said in section
    for parameter in rule.parameters:
        assert f"`{parameter.name}`" in section
        assert parameter.description in section
