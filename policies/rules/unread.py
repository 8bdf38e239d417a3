"""Rules on what no rule can read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.custom_types import holds_script, installing_pods
from dra_fleet.policy.reading.pods import POD_TYPES
from dra_fleet.policy.reading.unread import unknown_types, unread
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, ResourceRule, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.rule import Settings


# The other rules know resources by their types. They report nothing about other types, so a gate that passes
# would seem to have checked them.

RESOURCES: Final = Parameter(
    name="resources",
    schema=TEXTS,
    default=(),
    description="Pulumi names of resources that are checked in another way, such as `install-agents`.",
)
_SHOWN: Final = 3
_INSTALLING: Final = (
    (POD_TYPES, installing_pods, "runs a command"),
    (re.compile(r"kubernetes:core/v1:(ConfigMap|Secret)(Patch)?"), holds_script, "holds a script"),
)


def _type_report_unread(stack: Stack, settings: Settings) -> Iterator[Finding]:
    checked = settings.texts(RESOURCES.name)
    for resource, what in unread(stack):
        if resource.name not in checked:
            yield _finding(resource, f"may be {what}, and no rule reads its type", resource.name)
    for types, installs, what in _INSTALLING:
        for resource in stack.of(types):
            if resource.name not in checked and installs(resource):
                yield _finding(
                    resource, f"{what} that installs objects, and no preview shows them", resource.name
                )
    for first, what, others in unknown_types(stack):
        left = [each for each in (first, *others) if each.name not in checked]
        if left:
            names = [each.name for each in left]
            more = f", like {len(left) - 1} more of its type" if left[1:] else ""
            listed = ", ".join(names[:_SHOWN]) + (", …" if names[_SHOWN:] else "")
            yield _finding(left[0], f"may hold {what}, and no rule knows its type{more}", listed)


def _finding(resource: Resource, problem: str, names: str) -> Finding:
    return Finding(
        resource,
        resource.properties,
        problem,
        "types that rules read",
        f"check it in another way, and list {names} in {RESOURCES.name} of type-report-unread",
    )


TYPE_REPORT_UNREAD = StackRule(
    name="type-report-unread",
    description=(
        "Rules can read the types of all resources that may contain clusters, pools or workloads, because"
        " no rule checks other types."
    ),
    fix="Check the resource in another way, and list its name in the policy config.",
    link="https://www.pulumi.com/docs/iac/concepts/resources/names/#types",
    severity="low",
    standard="advisory",
    production="mandatory",
    parameters=(RESOURCES,),
    check=_type_report_unread,
)


# Names the unknown values that stop nothing at preview, so that none passes silently. These are the values
# that the policy config accepts by name, and those that their rule checks when they are known, before the
# resource is made. It checks nothing itself: the runner of the rules reports under its name.
def _unknown_report_unjudged(_resource: Resource, _settings: Settings) -> Iterable[Finding]:
    return ()


UNKNOWN_REPORT_UNJUDGED = ResourceRule(
    name="unknown-report-unjudged",
    description="All values that were unknown at preview are listed, also accepted ones.",
    fix="Use a value that is known at preview, and remove it from acceptUnknown.",
    link="https://www.pulumi.com/docs/iac/concepts/inputs-outputs/",
    severity="low",
    standard="advisory",
    types=re.compile(r"(?!)"),
    check=_unknown_report_unjudged,
)

RULES = (TYPE_REPORT_UNREAD, UNKNOWN_REPORT_UNJUDGED)
