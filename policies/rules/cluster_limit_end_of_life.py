"""A control plane runs a minor that is still supported, by its cloud's dates, else by the project's own.

A cloud may support a minor for longer, where the cluster opts in or unless it opts out. A date that nothing
public says is not guessed: upstream's then holds.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.policy.reading.clouds import declared_by
from dra_fleet.policy.reading.versions import FIELDS, VERSIONED, KubernetesVersion
from dra_fleet.policy.rule import TODAY, Finding, Parameter, StackRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.policy.rule import Settings

FACTS = kubernetes_facts()
DAYS = Parameter(
    name="daysLeft",
    schema={"type": "integer", "minimum": 0},
    default=0,
    description="Minimum number of days until support of a version ends.",
)


def check(stack: Stack, settings: Settings) -> Iterator[Finding]:
    """Find control planes on a minor whose support has ended or is about to end."""
    for resource in stack.of(VERSIONED):
        yield from _check(resource, settings)


def _check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    latest = settings.today + dt.timedelta(days=settings.number(DAYS.name))
    for field in FIELDS:
        if not field.required or not field.types.fullmatch(resource.type):
            continue
        version = resource.get(*field.path)
        read = KubernetesVersion.read(version.text)
        end = None if read is None else _end(resource, read.minor)
        if end is not None and end < latest:
            newer = [minor.minor for minor in FACTS.minors if minor.end_of_life >= latest]
            yield Finding(
                resource,
                version,
                f"is {version.shown}, whose support {'ended' if end < settings.today else 'ends'} on {end}",
                f"a minor that is supported on {latest}",
                f"upgrade, one minor at a time, to {newer[0] if newer else 'a newer one'} or newer",
            )


def _end(resource: Resource, minor: str) -> dt.date | None:
    """Return the last day of support for a minor on a cluster; None if unknown."""
    cloud = declared_by(resource.type)
    own = None if cloud is None or cloud.support is None else cloud.support.end(resource, minor)
    upstream = FACTS.minor(minor)
    return own or (None if upstream is None else upstream.end_of_life)


RULE = StackRule(
    name="cluster-limit-end-of-life",
    description=(
        "Control planes run a supported Kubernetes version, because other versions get no fixes and the "
        "cloud upgrades them at a time of its choice."
    ),
    fix="Upgrade one version at a time to a version that is supported long enough.",
    link="https://kubernetes.io/releases/patch-releases/",
    severity="medium",
    standard="advisory",
    production="mandatory",
    parameters=(TODAY, DAYS),
    check=check,
)
