"""The programs of cluster-limit-end-of-life, on chosen days."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

AKS = "azure-native:containerservice:ManagedCluster"


def ended(
    day: str, token: str, field: str, ends: str, newer: str, *, good: str = "1.36", **more: Any
) -> RuleCase:
    cluster = Declared(type=token, name="c", properties={field: good, **more})
    message = said(
        cluster,
        f"{field} is '1.34', whose support ended on {ends}",
        f"a minor that is supported on {day}",
        f"upgrade, one minor at a time, to {newer} or newer",
    )
    broken = Break(resource="c", path=(field,), value="1.34", messages=(message,), unknown=field)
    return RuleCase(settings={"today": day}, passing=(cluster,), breaks=(broken,))


LONG_TERM = Declared(
    type=AKS, name="c", properties={"kubernetesVersion": "1.34", "supportPlan": "AKSLongTermSupport"}
)
SOON = Declared(type="dra-fleet:clouds:ExistingCluster", name="c", properties={"kubernetes": "1.36"})

CASES = (
    ended("2026-11-21", "dra-fleet:clouds:ExistingCluster", "kubernetes", "2026-10-27", "1.35"),
    ended("2026-12-01", AKS, "kubernetesVersion", "2026-11-30", "1.35"),
    ended("2027-12-03", "aws:eks/cluster:Cluster", "version", "2027-12-02", "a newer one", good="1.99"),
    ended(
        "2026-12-03",
        "aws:eks/cluster:Cluster",
        "version",
        "2026-12-02",
        "1.35",
        upgradePolicy={"supportType": "STANDARD"},
    ),
    RuleCase(
        settings={"today": "2026-12-01"},
        passing=(LONG_TERM,),
        breaks=(
            Break(
                resource="c",
                path=("supportPlan",),
                value="KubernetesOfficial",
                messages=(
                    said(
                        LONG_TERM,
                        "kubernetesVersion is '1.34', whose support ended on 2026-11-30",
                        "a minor that is supported on 2026-12-01",
                        "upgrade, one minor at a time, to 1.35 or newer",
                    ),
                ),
            ),
        ),
    ),
    RuleCase(
        settings={"today": "2027-01-01", "daysLeft": 100},
        passing=(SOON,),
        breaks=(
            Break(
                resource="c",
                path=("kubernetes",),
                value="1.35",
                messages=(
                    said(
                        SOON,
                        "kubernetes is '1.35', whose support ends on 2027-02-28",
                        "a minor that is supported on 2027-04-11",
                        "upgrade, one minor at a time, to 1.36 or newer",
                    ),
                ),
                unknown="kubernetes",
            ),
        ),
    ),
)
