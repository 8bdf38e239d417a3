"""The programs of cluster-require-protection."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said

TYPES = (
    "azure-native:containerservice:ManagedCluster",
    "gcp:container/cluster:Cluster",
    "aws:eks/cluster:Cluster",
    "aws-native:eks:Cluster",
    "alicloud:cs/managedKubernetes:ManagedKubernetes",
)


def case(token: str) -> RuleCase:
    cluster = Declared(type=token, name="c", protect=True)
    message = said(
        cluster,
        "is not protected",
        "protect=True",
        "pass opts=pulumi.ResourceOptions(protect=True) to the cluster or to the component that holds it",
    )
    return RuleCase(
        passing=(cluster,),
        breaks=(Break(resource="c", options={"protect": False}, messages=(message,)),),
    )


CASES = tuple(case(token) for token in TYPES)
