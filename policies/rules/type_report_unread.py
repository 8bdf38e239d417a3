"""What may hold clusters, pools or workloads, and no rule reads, is said.

The other rules know resources by their types. Of a type that none of them knows they say nothing, and a gate
that passes would seem to have judged it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.unread import unread
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.policy.rule import Settings

NAME: Final = "type-report-unread"
TYPES: Final = Parameter(
    name="types",
    schema=TEXTS,
    default=(),
    description="Types of resources that are judged otherwise, such as `command:local:Command`.",
)


def judge(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find resources of such types."""
    for resource, what in unread(stack):
        if resource.type not in settings.texts(TYPES.name):
            yield Finding(
                resource,
                resource.properties,
                f"may be {what}, and no rule reads its type",
                "types that rules read",
                f"judge it otherwise, and list {resource.type} in {TYPES.name} of {NAME}",
            )


RULE = StackRule(
    name=NAME,
    description=(
        "Resources that may hold clusters, pools or workloads are of types that rules read, "
        "because nothing is judged of the others."
    ),
    fix="Judge the resource otherwise, and list its type in the policy config.",
    link="https://www.pulumi.com/docs/iac/concepts/resources/names/#types",
    severity="low",
    standard="advisory",
    production="mandatory",
    parameters=(TYPES,),
    judge=judge,
)
