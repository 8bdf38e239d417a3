"""A control plane runs a minor that is still supported, by its cloud's dates, else by the project's own.

EKS supports every minor for another year at a higher price, unless the cluster opts out; AKS where the
cluster opts in. A date that nothing public says is not guessed: upstream's then holds.
"""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING

from dra_fleet import hardware as catalogue
from dra_fleet.policy.reading.versions import FIELDS, KubernetesVersion, any_type
from dra_fleet.policy.rule import TODAY, Finding, Parameter, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

FACTS = catalogue.load()
DAYS = Parameter(
    name="daysLeft",
    schema={"type": "integer", "minimum": 0},
    default=0,
    description="How many days of support a version must still have.",
)


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find control planes on a minor whose support has ended or is about to end."""
    latest = settings.today + dt.timedelta(days=settings.number(DAYS.name))
    for field in FIELDS:
        if not field.required or not field.types.fullmatch(resource.type):
            continue
        version = resource.get(*field.path)
        read = KubernetesVersion.read(version.text)
        end = None if read is None else _end(resource, field.cloud, read.minor)
        if end is not None and end < latest:
            newer = [minor.minor for minor in FACTS.kubernetes.minors if minor.end_of_life >= latest]
            yield Finding(
                resource,
                version,
                f"is {version.shown}, whose support {'ended' if end < settings.today else 'ends'} on {end}",
                f"a minor that is supported on {latest}",
                f"upgrade, one minor at a time, to {newer[0] if newer else 'a newer one'} or newer",
            )


def _end(resource: Resource, cloud: str, minor: str) -> dt.date | None:
    """The last day of support for a minor on a cluster; None if nothing says it."""
    upstream = FACTS.kubernetes.minor(minor)
    end = None if upstream is None else upstream.end_of_life
    if cloud == "aks" and (azure := FACTS.aks.minor(minor)) is not None:
        long_term = resource.get("supportPlan").text == "AKSLongTermSupport"
        return (azure.long_term_support_end if long_term else azure.standard_support_end) or end
    if cloud == "eks" and (amazon := FACTS.eks.minor(minor)) is not None:
        standard = resource.get("upgradePolicy", "supportType").text == "STANDARD"
        if standard:
            return amazon.standard_support_end or end
        return amazon.extended_support_end or amazon.standard_support_end or end
    return end


RULE = ResourceRule(
    name="cluster-limit-end-of-life",
    description="Control planes run a supported minor, because others get no fixes and are upgraded anyhow.",
    fix="Upgrade, one minor at a time, to a minor that is supported long enough.",
    link="https://kubernetes.io/releases/patch-releases/",
    severity="medium",
    standard="advisory",
    production="mandatory",
    types=any_type(),
    parameters=(TODAY, DAYS),
    judge=judge,
)
