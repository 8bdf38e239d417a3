"""A cluster has no local accounts beside the cloud's identities.

AKS issues a certificate with all rights to users who may list the cluster's admin credentials, GKE a client
certificate or legacy roles on request. None of them can be taken back from a person who leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.policy.reading.clouds import CLUSTERS, declared_by
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource
    from dra_fleet.policy.rule import Settings


def check(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find clusters with local accounts."""
    del settings
    cloud = declared_by(resource.type)
    for fault in cloud.local_accounts(resource) if cloud is not None else ():
        yield Finding(resource, fault.at, fault.problem, fault.allowed, fault.fix)


RULE = ResourceRule(
    name="cluster-forbid-local-accounts",
    description=(
        "Clusters accept only identities of the cloud, because access by a local account cannot be "
        "revoked for one person."
    ),
    fix="Disable local accounts, and grant permissions to identities of the cloud.",
    link="https://learn.microsoft.com/azure/aks/manage-local-accounts-managed-azure-ad",
    severity="high",
    standard="advisory",
    production="mandatory",
    types=CLUSTERS,
    check=check,
)
