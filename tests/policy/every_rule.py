"""Rules on resources without an engine: each on every resource, or on the stack of them."""

from collections.abc import Iterable, Sequence

from dra_fleet.core.declared.resources import Resource
from dra_fleet.policy.checking import Violation, check
from dra_fleet.policy.rule import Rule, Settings


def check_all(
    rules: Iterable[Rule], resources: Sequence[Resource], settings: dict[str, Settings]
) -> list[Violation]:
    """Every rule on every resource and on the stack of them."""
    return [found for rule in rules for found in check(rule, resources, settings[rule.name])]
