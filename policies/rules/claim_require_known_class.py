"""A claim names a DeviceClass that exists.

The API server takes any name. A pod whose claim names a class that is not there waits, and nothing says that
it will wait for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.charts import RELEASE_TYPES, release
from dra_fleet.policy.reading.claims import CLAIM_TYPES, CLASS_TYPES, requests
from dra_fleet.policy.rule import TEXTS, Finding, Parameter, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Stack
    from dra_fleet.policy.rule import Settings

NAME: Final = "claim-require-known-class"
ELSEWHERE: Final = Parameter(
    name="elsewhere",
    schema=TEXTS,
    default=(),
    description="DeviceClasses that exist outside the program.",
)


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find class names that neither the program nor a chart of it provides."""
    claims = stack.of(CLAIM_TYPES)
    if not claims:
        return
    known = {*settings.texts(ELSEWHERE.name), *_declared(stack), *_installed(stack)}
    for resource in claims:
        for request in requests(resource):
            name = request.value.get("deviceClassName")
            if name.text is not None and name.text not in known:
                yield Finding(
                    resource,
                    name,
                    f"is {name.shown}, which neither this program nor a chart of it provides",
                    ", ".join(sorted(known)) or "none; the program provides no DeviceClass",
                    f"correct the name, or list it in {ELSEWHERE.name} of {NAME}",
                )


def _declared(stack: Stack) -> Iterator[str]:
    for resource in stack.of(CLASS_TYPES):
        name = resource.get("metadata", "name").text or resource.outputs.get("metadata", "name").text
        if name is not None:
            yield name


def _installed(stack: Stack) -> Iterator[str]:
    for resource in stack.of(RELEASE_TYPES):
        installed = release(resource)
        if installed is not None and installed.driver is not None:
            version = installed.driver_version
            yield from installed.driver.owned_classes if version is None else version.classes


RULE = StackRule(
    name=NAME,
    description=(
        "Claims name a DeviceClass that the program or one of its charts creates, because a pod whose "
        "claim names an unknown class waits forever."
    ),
    fix="Correct the name, or list classes that exist outside the program in the policy config.",
    link="https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#deviceclass",
    severity="medium",
    standard="advisory",
    production="mandatory",
    parameters=(ELSEWHERE,),
    check=check,
)
