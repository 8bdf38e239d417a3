"""A request asks for a bounded number of devices.

A claim is allocated on one node, so a count above what a machine holds waits for ever, and one slip of a
digit empties a pool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import clouds
from dra_fleet.policy.reading.claims import CLAIM_TYPES, requests
from dra_fleet.policy.rule import Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

NAME: Final = "claim-limit-count"
_LARGEST: Final = max(machine.gpus for machine in clouds.machines().values())
MOST: Final = Parameter(
    name="most",
    schema={"type": "integer", "minimum": 1, "maximum": 32},
    default=_LARGEST,
    description="The highest count of one request; unless given, the GPUs of the largest known machine.",
)


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find requests for more devices than allowed."""
    most = settings.number(MOST.name)
    for request in requests(resource):
        count = request.value.get("count")
        number = count.number
        if number is not None and number > most:
            yield Finding(
                resource,
                count,
                f"is {count.shown}",
                f"at most {most}",
                f"lower the count, or raise {MOST.name} of {NAME}",
            )


RULE = ResourceRule(
    name=NAME,
    description=(
        "Requests ask for no more devices than a machine can hold, "
        "because a claim is allocated on one node and a larger one waits for ever."
    ),
    fix="Lower the count.",
    link="https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-claim-v1/",
    severity="low",
    types=CLAIM_TYPES,
    parameters=(MOST,),
    judge=judge,
)
