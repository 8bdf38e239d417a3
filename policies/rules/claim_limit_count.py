"""A claim asks for a bounded number of devices.

A claim is allocated on one node, so a count above what a machine holds waits for ever, and one slip of a
digit empties a pool. Requests of one claim are allocated together: what they ask of one driver adds up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet import clouds, drivers
from dra_fleet.policy.reading.claims import CLAIM_TYPES, devices, requests
from dra_fleet.policy.rule import Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.reading.claims import ClassDemand
    from dra_fleet.policy.rule import Settings

NAME: Final = "claim-limit-count"
_LARGEST: Final = max(machine.gpus for machine in clouds.machines().values())
MOST: Final = Parameter(
    name="most",
    schema={"type": "integer", "minimum": 1, "maximum": 32},
    default=_LARGEST,
    description="The highest count of a claim per driver; unless given, the GPUs of the largest machine.",
)


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find requests for more devices than allowed."""
    most = settings.number(MOST.name)
    allowed, fix = f"at most {most}", f"lower the count, or raise {MOST.name} of {NAME}"
    together: dict[str, dict[str, int | float]] = {}
    for request in requests(resource):
        count = request.value.get("count")
        number = count.number
        if number is not None and number > most:
            yield Finding(resource, count, f"is {count.shown}", allowed, fix)
            continue
        asked = together.setdefault(_driver(request), {})
        outer = request.name.partition("/")[0]
        asked[outer] = max(asked.get(outer, 0), 1 if number is None else number)  # one alternative is taken
    for of, asked in together.items():
        total = sum(asked.values())
        if total > most and len(asked) > 1:
            problem = f"ask for {total} devices of {of} together, all of one node"
            yield Finding(resource, devices(resource).get("requests"), problem, allowed, fix)


def _driver(request: ClassDemand) -> str:
    """The driver of a class that a chart installs, else the class."""
    name = request.value.get("deviceClassName").peek
    driver = drivers.of_class(name) if isinstance(name, str) else None
    return str(name) if driver is None else driver.facts.driver


RULE = ResourceRule(
    name=NAME,
    description=(
        "Claims ask for no more devices than a machine can hold, "
        "because a claim is allocated on one node and a larger one waits for ever."
    ),
    fix="Lower the count.",
    link="https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/resource-claim-v1/",
    severity="low",
    types=CLAIM_TYPES,
    parameters=(MOST,),
    judge=judge,
)
