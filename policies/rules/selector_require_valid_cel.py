"""Every CEL expression of a class, claim or template compiles.

An expression that does not is rejected by the API server when the stack is updated, half-way through; one
that the program composes is not seen by any linter of YAML.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, environment
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.claims import SELECTING_TYPES, all_selectors
from dra_fleet.policy.reading.minors import KUBERNETES, Minors
from dra_fleet.policy.rule import Finding, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.policy.rule import Settings

KNOWN: Final = tuple(entry.minor for entry in kubernetes_facts().minors)
NEWEST: Final = KNOWN[-1]
"""The minor of checks for clusters without a known minor; it has every function of older ones."""


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find expressions that the API server would refuse."""
    minors = Minors(stack, settings)
    for resource in stack.of(SELECTING_TYPES):
        for selector in all_selectors(resource):
            expression = selector.text
            if expression is None:
                continue
            minor = minors.of(resource) or NEWEST
            minor = minor if minor in KNOWN else NEWEST
            reason = _refusal(expression, minor)
            if reason is not None:
                reported = "" if selector.secret else f": {reason}"  # it quotes the expression
                yield Finding(
                    resource,
                    selector,
                    f"is rejected by Kubernetes {minor}{reported}",
                    "an expression that compiles to true or false there",
                    "correct the expression",
                )


def _refusal(expression: str, minor: str) -> str | None:
    try:
        environment(minor).compile(expression)
    except CelInvalid as error:
        return " ".join(str(error).split(" | ")[0].split())
    except CelUnsupported:
        return None  # it may be right; the API server is asked when the resource is previewed
    return None


RULE = StackRule(
    name="selector-require-valid-cel",
    description=(
        "CEL expressions compile in the Kubernetes version of their cluster, because the API server "
        "otherwise rejects them in the middle of an update."
    ),
    fix="Correct the expression. The message names the position.",
    link="https://kubernetes.io/docs/reference/using-api/cel/",
    severity="high",
    parameters=(KUBERNETES,),
    check=check,
)
