"""A cluster has no accounts of its own beside the cloud's identities.

AKS issues a certificate with all rights to whoever may list the cluster's admin credentials, GKE a client
certificate or legacy roles where asked to. None of them can be taken back from a person who leaves.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet.policy.reading.versions import AZURE
from dra_fleet.policy.rule import Finding, ResourceRule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.declared.resources import Resource
    from dra_fleet.policy.rule import Settings

AKS: Final = re.compile(rf"{AZURE}:ManagedCluster")
GKE: Final = re.compile(r"gcp:container/cluster:Cluster")
_GKE_SWITCHES: Final = (
    ("masterAuth", "clientCertificateConfig", "issueClientCertificate"),
    ("enableLegacyAbac",),
)


def judge(resource: Resource, settings: Settings) -> Iterator[Finding]:
    """Find clusters with accounts of their own."""
    del settings
    if AKS.fullmatch(resource.type):
        disabled = resource.get("disableLocalAccounts")
        if not disabled.unknown and disabled.flag is not True:
            yield Finding(
                resource,
                disabled,
                f"is {disabled.shown}, so a certificate with all rights can be listed",
                "true",
                "set disableLocalAccounts: true, with an aadProfile that names who may enter",
            )
        return
    for path in _GKE_SWITCHES:
        switch = resource.get(*path)
        if switch.flag:
            yield Finding(
                resource,
                switch,
                f"is {switch.shown}, so there are rights that Google's identities do not govern",
                "false",
                f"remove {path[0]}, and grant rights by IAM and RBAC",
            )


RULE = ResourceRule(
    name="cluster-forbid-local-accounts",
    description=(
        "Clusters know the cloud's identities only, "
        "because an account of a cluster's own cannot be taken back from one person."
    ),
    fix="Turn local accounts off, and grant rights to the cloud's identities.",
    link="https://learn.microsoft.com/azure/aks/manage-local-accounts-managed-azure-ad",
    severity="high",
    standard="advisory",
    production="mandatory",
    types=re.compile(rf"{AKS.pattern}|{GKE.pattern}"),
    judge=judge,
)
