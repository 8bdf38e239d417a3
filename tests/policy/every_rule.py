"""Rules on resources without an engine: each on every resource, or on the stack of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.declared.resources import Stack
from dra_fleet.policy.judging import judge_resource, judge_stack
from dra_fleet.policy.rule import ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.declared.resources import Resource
    from dra_fleet.policy.judging import Violation
    from dra_fleet.policy.rule import Rule, Settings


def judge_all(
    rules: Iterable[Rule], resources: Sequence[Resource], settings: dict[str, Settings]
) -> list[Violation]:
    """Every rule on every resource and on the stack of them."""
    violations: list[Violation] = []
    for rule in rules:
        if isinstance(rule, ResourceRule):
            for resource in resources:
                violations += judge_resource(rule, resource, settings[rule.name])
        elif isinstance(rule, StackRule):
            violations += judge_stack(rule, Stack(resources=resources), settings[rule.name])
    return violations
