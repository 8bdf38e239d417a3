"""The programs of cluster-forbid-public-api-server: every cloud, by ranges and without an address."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

RANGES = ["203.0.113.0/24"]
AKS = "azure-native:containerservice:ManagedCluster"
GKE = "gcp:container/cluster:Cluster"
EKS = "aws:eks/cluster:Cluster"
ACK = "alicloud:cs/managedKubernetes:ManagedKubernetes"
FIXES = {
    AKS: "set apiServerAccessProfile.authorizedIPRanges, or enablePrivateCluster: true",
    GKE: (
        "set masterAuthorizedNetworksConfig.cidrBlocks, or turn the address off by "
        "controlPlaneEndpointsConfig.ipEndpointsConfig.enabled: false"
    ),
    EKS: "set publicAccessCidrs, or endpointPublicAccess: false",
    ACK: "set slbInternetEnabled: false",
}


def cluster(token: str, **properties: Any) -> Declared:
    return Declared(type=token, name="c", properties=properties)


def opened(token: str, place: str, shown: str) -> str:
    return said(
        cluster(token),
        f"{place} is {shown}, so every address of the Internet reaches the API server",
        "listed ranges, or no public address",
        FIXES[token],
    )


def together(declared: Declared, place: str, shown: str) -> str:
    output = "and together with the other ranges most of the Internet reaches the API server"
    return said(
        declared,
        f"{place} is {shown!r}, {output}",
        "listed ranges, or no public address",
        FIXES[declared.type],
    )


def unread(declared: Declared, place: str, shown: str) -> str:
    return said(
        declared,
        f"{place} is {shown}, no range of addresses, so nothing reports whom it lets in",
        "listed ranges, or no public address",
        "write an address or a range, such as 203.0.113.0/24",
    )


def dotted(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


def case(
    declared: Declared, *path: str | int, value: object, at: tuple[str | int, ...] = (), shown: str = ""
) -> RuleCase:
    output = shown or ("absent" if value is REMOVED else repr(value))
    message = opened(declared.type, dotted(at or path), output)
    unknown = dotted(path)
    broken = Break(resource="c", path=path, value=value, messages=(message,), unknown=unknown)
    return RuleCase(passing=(declared,), breaks=(broken,))


LISTED_AKS = cluster(AKS, apiServerAccessProfile={"authorizedIPRanges": RANGES})
PRIVATE_AKS = cluster(AKS, apiServerAccessProfile={"enablePrivateCluster": True})
CLOSED_AKS = cluster(AKS, publicNetworkAccess="Disabled")
LISTED_GKE = cluster(GKE, masterAuthorizedNetworksConfig={"cidrBlocks": [{"cidrBlock": RANGES[0]}]})
DNS_GKE = cluster(
    GKE,
    controlPlaneEndpointsConfig={
        "dnsEndpointConfig": {"allowExternalTraffic": False},
        "ipEndpointsConfig": {"enabled": False},
    },
)
PRIVATE_GKE = cluster(GKE, privateClusterConfig={"enablePrivateEndpoint": True})
LISTED_EKS = cluster(EKS, vpcConfig={"publicAccessCidrs": RANGES})
PRIVATE_EKS = cluster(EKS, vpcConfig={"endpointPublicAccess": False})
NATIVE_EKS = cluster("aws-native:eks:Cluster", resourcesVpcConfig={"publicAccessCidrs": RANGES})
PRIVATE_ACK = cluster(ACK, slbInternetEnabled=False)

PROFILE = "apiServerAccessProfile"
AUTHORIZED = (PROFILE, "authorizedIPRanges")
HALVES = ("64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/3")
NETWORKS = "masterAuthorizedNetworksConfig"
BLOCK = (NETWORKS, "cidrBlocks", 0, "cidrBlock")

CASES = (
    case(LISTED_AKS, *AUTHORIZED, value=REMOVED),
    case(LISTED_AKS, *AUTHORIZED, 0, value="0.0.0.0/0"),
    case(PRIVATE_AKS, PROFILE, "enablePrivateCluster", value=False, at=AUTHORIZED, shown="absent"),
    case(CLOSED_AKS, "publicNetworkAccess", value="Enabled", at=AUTHORIZED, shown="absent"),
    case(LISTED_GKE, NETWORKS, value=REMOVED),
    *(
        case(LISTED_GKE, *BLOCK, value=everybody)
        for everybody in ("::/0", "2000::/3", "10.0.0.0/0", "0.0.0.0/1")
    ),
    RuleCase(
        passing=(LISTED_GKE,),
        breaks=(
            Break(
                resource="c", path=BLOCK, value="all", messages=(unread(LISTED_GKE, dotted(BLOCK), "'all'"),)
            ),
            Break(
                resource="c",
                path=BLOCK[:2],
                value=[{"cidrBlock": each} for each in HALVES],
                messages=(together(LISTED_GKE, dotted(BLOCK), HALVES[0]),),
                unknown=dotted(BLOCK[:2]),
            ),
        ),
    ),
    RuleCase(passing=(cluster(GKE, masterAuthorizedNetworksConfig={}),), breaks=()),
    RuleCase(
        passing=(LISTED_EKS,),
        breaks=(
            Break(
                resource="c",
                path=("vpcConfig", "publicAccessCidrs"),
                value=["203.0.113.7", *HALVES],
                messages=(together(LISTED_EKS, "vpcConfig.publicAccessCidrs[1]", HALVES[0]),),
                unknown="vpcConfig.publicAccessCidrs",
            ),
        ),
    ),
    case(
        DNS_GKE,
        "controlPlaneEndpointsConfig",
        "ipEndpointsConfig",
        "enabled",
        value=True,
        at=(NETWORKS,),
        shown="absent",
    ),
    case(
        PRIVATE_GKE,
        "privateClusterConfig",
        "enablePrivateEndpoint",
        value=False,
        at=(NETWORKS,),
        shown="absent",
    ),
    case(LISTED_EKS, "vpcConfig", "publicAccessCidrs", value=[]),
    case(
        PRIVATE_EKS,
        "vpcConfig",
        "endpointPublicAccess",
        value=True,
        at=("vpcConfig", "publicAccessCidrs"),
        shown="absent",
    ),
    case(PRIVATE_ACK, "slbInternetEnabled", value=True),
    RuleCase(passing=(NATIVE_EKS,), breaks=()),
)
