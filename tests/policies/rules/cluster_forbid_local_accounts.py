"""The programs of cluster-forbid-local-accounts."""

from __future__ import annotations

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

AKS = Declared(
    type="azure-native:containerservice:ManagedCluster",
    name="c",
    properties={"disableLocalAccounts": True},
)
GKE = Declared(type="gcp:container/cluster:Cluster", name="c", properties={"enableLegacyAbac": False})
FIX = "set disableLocalAccounts: true, with an aadProfile that names who may enter"


def listed(shown: str) -> str:
    return said(
        AKS,
        f"disableLocalAccounts is {shown}, so a certificate with all rights can be listed",
        "true",
        FIX,
    )


def ungoverned(*path: str) -> Break:
    place = ".".join(path)
    message = said(
        GKE,
        f"{place} is True, so there are rights that Google's identities do not govern",
        "false",
        f"remove {path[0]}, and grant rights by IAM and RBAC",
    )
    return Break(resource="c", path=path, value=True, messages=(message,), unknown=place)


CASES = (
    RuleCase(
        passing=(AKS,),
        breaks=(
            Break(
                resource="c",
                path=("disableLocalAccounts",),
                value=False,
                messages=(listed("False"),),
                unknown="disableLocalAccounts",
            ),
            Break(
                resource="c",
                path=("disableLocalAccounts",),
                value=REMOVED,
                messages=(listed("absent"),),
            ),
        ),
    ),
    RuleCase(
        passing=(GKE,),
        breaks=(
            ungoverned("enableLegacyAbac"),
            ungoverned("masterAuth", "clientCertificateConfig", "issueClientCertificate"),
        ),
    ),
)
