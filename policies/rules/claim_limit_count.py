"""A claim requests a bounded number of devices.

A claim is allocated on one node, so a count above what a machine holds waits for ever, and one slip of a
digit empties a pool. Requests of one claim are allocated together: what they ask of one driver adds up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import clouds
from dra_fleet.policy.reading.claims import CLAIM_TYPES, CLASS_TYPES, devices, driver_of, requests
from dra_fleet.policy.rule import Finding, Parameter, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.rule import Settings

NAME: Final = "claim-limit-count"
_LARGEST: Final = max(machine.gpus for machine in clouds.machines().values())
MOST: Final = Parameter(
    name="most",
    schema={"type": "integer", "minimum": 1, "maximum": 32},
    default=_LARGEST,
    description="Maximum count of a claim by driver. Default: the GPUs of the largest machine.",
)


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find requests for more devices than allowed."""
    classes = stack.of(CLASS_TYPES)
    for resource in stack.of(CLAIM_TYPES):
        yield from _in_claim(resource, classes, settings)


def _in_claim(resource: Resource, classes: list[Resource], settings: Settings) -> Iterator[Finding]:
    most = settings.number(MOST.name)
    allowed, fix = f"at most {most}", f"lower the count, or raise {MOST.name} of {NAME}"
    together: dict[str, dict[str, int | float]] = {}
    for request in requests(resource):
        count = request.value.get("count")
        number = count.number
        if number is not None and number > most:
            yield Finding(resource, count, f"is {count.shown}", allowed, fix)
            continue
        name = str(request.value.get("deviceClassName").peek)
        asked = together.setdefault(driver_of(name, classes), {})
        outer = request.name.partition("/")[0]
        asked[outer] = max(asked.get(outer, 0), 1 if number is None else number)  # one alternative is taken
    for of, asked in together.items():
        total = sum(asked.values())
        if total > most and len(asked) > 1:
            problem = f"ask for {total} devices of {of} together, all of one node"
            yield Finding(resource, devices(resource).get("requests"), problem, allowed, fix)


RULE = StackRule(
    name=NAME,
    description=(
        "Claims request no more devices than a machine can have, because a claim is allocated on one node"
        " and a larger claim never gets devices."
    ),
    fix="Lower the count.",
    link="https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-claim-v1/",
    severity="low",
    parameters=(MOST,),
    check=check,
)
