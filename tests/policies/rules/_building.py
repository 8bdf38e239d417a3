"""Short forms of cases for rules."""

from collections.abc import Mapping
from typing import Any

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase


def passes(
    passing: tuple[Declared, ...], *breaks: Break, settings: Mapping[str, Any] | None = None
) -> RuleCase:
    """Return a case of a passing program and its breaks."""
    return RuleCase(passing=passing, breaks=breaks, settings=settings or {})


def breaking(
    resource: str, path: tuple[str | int, ...], value: object, *messages: str, unknown: str | None = None
) -> Break:
    """Return a break of one property of a resource."""
    return Break(resource=resource, path=path, value=value, messages=messages, unknown=unknown)
