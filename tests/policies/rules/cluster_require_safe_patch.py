"""The programs of cluster-require-safe-patch."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import Break, Declared, RuleCase, said
from policies.rules.cluster_require_safe_patch import FACTS

GKE = Declared(
    type="gcp:container/cluster:Cluster", name="c", properties={"minMasterVersion": "1.35.8-gke.1036000"}
)
NODE_IMAGE = Declared(
    type="aws:eks/nodeGroup:NodeGroup", name="n", properties={"releaseVersion": "1.35.2-20260415"}
)
MINOR_ONLY = Declared(type="aws:eks/cluster:Cluster", name="c", properties={"version": "1.34"})


def too_old(declared: Declared, field: str, version: str, minor: str) -> Break:
    facts = FACTS.minor(minor)
    assert facts is not None
    message = said(
        declared,
        f"{field} is {version!r}",
        f"{facts.patch_floor} or newer in {minor} ({facts.patch_reason})",
        f"upgrade to {facts.patch_floor} or newer",
    )
    return Break(resource="c", path=(field,), value=version, messages=(message,), unknown=field)


CASES = (
    RuleCase(
        passing=(GKE,),
        breaks=(
            too_old(GKE, "minMasterVersion", "1.35.5-gke.1", "1.35"),
            too_old(GKE, "minMasterVersion", "1.34.3-gke.99", "1.34"),
        ),
    ),
    RuleCase(
        passing=(MINOR_ONLY, NODE_IMAGE),
        breaks=(too_old(MINOR_ONLY, "version", "v1.36.1", "1.36"),),
    ),
)
