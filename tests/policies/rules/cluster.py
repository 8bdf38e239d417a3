"""Programs of the rules on managed clusters and their Kubernetes versions."""

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said
from policies.rules.cluster import FACTS
from tests.policies.rules._building import breaking, passes

LOCAL_ACCOUNTS_AKS = Declared(
    type="azure-native:containerservice:ManagedCluster", name="c", properties={"disableLocalAccounts": True}
)
LOCAL_ACCOUNTS_GKE = Declared(
    type="gcp:container/cluster:Cluster", name="c", properties={"enableLegacyAbac": False}
)
FIX = "set disableLocalAccounts: true, with an aadProfile that names who may enter"


def listed(shown: str) -> str:
    return said(
        LOCAL_ACCOUNTS_AKS,
        f"disableLocalAccounts is {shown}, so a certificate with all rights can be listed",
        "true",
        FIX,
    )


def ungoverned(*path: str) -> Break:
    place = ".".join(path)
    message = said(
        LOCAL_ACCOUNTS_GKE,
        f"{place} is True, so there are rights that Google's identities do not govern",
        "false",
        f"remove {path[0]}, and grant rights by IAM and RBAC",
    )
    return breaking("c", path, True, message, unknown=place)


FORBID_LOCAL_ACCOUNTS = (
    passes(
        (LOCAL_ACCOUNTS_AKS,),
        breaking("c", ("disableLocalAccounts",), False, listed("False"), unknown="disableLocalAccounts"),
        breaking("c", ("disableLocalAccounts",), REMOVED, listed("absent")),
    ),
    passes(
        (LOCAL_ACCOUNTS_GKE,),
        ungoverned("enableLegacyAbac"),
        ungoverned("masterAuth", "clientCertificateConfig", "issueClientCertificate"),
    ),
)


RANGES = ["203.0.113.0/24"]
PUBLIC_API_SERVER_AKS = "azure-native:containerservice:ManagedCluster"
PUBLIC_API_SERVER_GKE = "gcp:container/cluster:Cluster"
EKS = "aws:eks/cluster:Cluster"
ACK = "alicloud:cs/managedKubernetes:ManagedKubernetes"
FIXES = {
    PUBLIC_API_SERVER_AKS: "set apiServerAccessProfile.authorizedIPRanges, or enablePrivateCluster: true",
    PUBLIC_API_SERVER_GKE: (
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


def case_public_api_server(
    declared: Declared, *path: str | int, value: object, at: tuple[str | int, ...] = (), shown: str = ""
) -> RuleCase:
    output = shown or ("absent" if value is REMOVED else repr(value))
    message = opened(declared.type, dotted(at or path), output)
    unknown = dotted(path)
    broken = breaking("c", path, value, message, unknown=unknown)
    return passes((declared,), broken)


LISTED_AKS = cluster(PUBLIC_API_SERVER_AKS, apiServerAccessProfile={"authorizedIPRanges": RANGES})
PRIVATE_AKS = cluster(PUBLIC_API_SERVER_AKS, apiServerAccessProfile={"enablePrivateCluster": True})
CLOSED_AKS = cluster(PUBLIC_API_SERVER_AKS, publicNetworkAccess="Disabled")
LISTED_GKE = cluster(
    PUBLIC_API_SERVER_GKE, masterAuthorizedNetworksConfig={"cidrBlocks": [{"cidrBlock": RANGES[0]}]}
)
DNS_GKE = cluster(
    PUBLIC_API_SERVER_GKE,
    controlPlaneEndpointsConfig={
        "dnsEndpointConfig": {"allowExternalTraffic": False},
        "ipEndpointsConfig": {"enabled": False},
    },
)
PRIVATE_GKE = cluster(PUBLIC_API_SERVER_GKE, privateClusterConfig={"enablePrivateEndpoint": True})
LISTED_EKS = cluster(EKS, vpcConfig={"publicAccessCidrs": RANGES})
PRIVATE_EKS = cluster(EKS, vpcConfig={"endpointPublicAccess": False})
NATIVE_EKS = cluster("aws-native:eks:Cluster", resourcesVpcConfig={"publicAccessCidrs": RANGES})
PRIVATE_ACK = cluster(ACK, slbInternetEnabled=False)

PROFILE = "apiServerAccessProfile"
AUTHORIZED = (PROFILE, "authorizedIPRanges")
HALVES = ("64.0.0.0/2", "128.0.0.0/2", "192.0.0.0/3")
NETWORKS = "masterAuthorizedNetworksConfig"
BLOCK = (NETWORKS, "cidrBlocks", 0, "cidrBlock")

FORBID_PUBLIC_API_SERVER = (
    case_public_api_server(LISTED_AKS, *AUTHORIZED, value=REMOVED),
    case_public_api_server(LISTED_AKS, *AUTHORIZED, 0, value="0.0.0.0/0"),
    case_public_api_server(
        PRIVATE_AKS, PROFILE, "enablePrivateCluster", value=False, at=AUTHORIZED, shown="absent"
    ),
    case_public_api_server(CLOSED_AKS, "publicNetworkAccess", value="Enabled", at=AUTHORIZED, shown="absent"),
    case_public_api_server(LISTED_GKE, NETWORKS, value=REMOVED),
    *(
        case_public_api_server(LISTED_GKE, *BLOCK, value=everybody)
        for everybody in ("::/0", "2000::/3", "10.0.0.0/0", "0.0.0.0/1")
    ),
    passes(
        (LISTED_GKE,),
        breaking("c", BLOCK, "all", unread(LISTED_GKE, dotted(BLOCK), "'all'")),
        breaking(
            "c",
            BLOCK[:2],
            [{"cidrBlock": each} for each in HALVES],
            together(LISTED_GKE, dotted(BLOCK), HALVES[0]),
            unknown=dotted(BLOCK[:2]),
        ),
    ),
    passes((cluster(PUBLIC_API_SERVER_GKE, masterAuthorizedNetworksConfig={}),)),
    passes(
        (LISTED_EKS,),
        breaking(
            "c",
            ("vpcConfig", "publicAccessCidrs"),
            ["203.0.113.7", *HALVES],
            together(LISTED_EKS, "vpcConfig.publicAccessCidrs[1]", HALVES[0]),
            unknown="vpcConfig.publicAccessCidrs",
        ),
    ),
    case_public_api_server(
        DNS_GKE,
        "controlPlaneEndpointsConfig",
        "ipEndpointsConfig",
        "enabled",
        value=True,
        at=(NETWORKS,),
        shown="absent",
    ),
    case_public_api_server(
        PRIVATE_GKE,
        "privateClusterConfig",
        "enablePrivateEndpoint",
        value=False,
        at=(NETWORKS,),
        shown="absent",
    ),
    case_public_api_server(LISTED_EKS, "vpcConfig", "publicAccessCidrs", value=[]),
    case_public_api_server(
        PRIVATE_EKS,
        "vpcConfig",
        "endpointPublicAccess",
        value=True,
        at=("vpcConfig", "publicAccessCidrs"),
        shown="absent",
    ),
    case_public_api_server(PRIVATE_ACK, "slbInternetEnabled", value=True),
    passes((NATIVE_EKS,)),
)


END_OF_LIFE_AKS = "azure-native:containerservice:ManagedCluster"


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
    broken = breaking("c", (field,), "1.34", message, unknown=field)
    return passes((cluster,), broken, settings={"today": day})


LONG_TERM = Declared(
    type=END_OF_LIFE_AKS,
    name="c",
    properties={"kubernetesVersion": "1.34", "supportPlan": "AKSLongTermSupport"},
)
SOON = Declared(type="dra-fleet:clouds:ExistingCluster", name="c", properties={"kubernetes": "1.36"})

LIMIT_END_OF_LIFE = (
    ended("2026-11-21", "dra-fleet:clouds:ExistingCluster", "kubernetes", "2026-10-27", "1.35"),
    ended("2026-12-01", END_OF_LIFE_AKS, "kubernetesVersion", "2026-11-30", "1.35"),
    ended("2027-12-03", "aws:eks/cluster:Cluster", "version", "2027-12-02", "a newer one", good="1.99"),
    ended(
        "2026-12-03",
        "aws:eks/cluster:Cluster",
        "version",
        "2026-12-02",
        "1.35",
        upgradePolicy={"supportType": "STANDARD"},
    ),
    passes(
        (LONG_TERM,),
        breaking(
            "c",
            ("supportPlan",),
            "KubernetesOfficial",
            said(
                LONG_TERM,
                "kubernetesVersion is '1.34', whose support ended on 2026-11-30",
                "a minor that is supported on 2026-12-01",
                "upgrade, one minor at a time, to 1.35 or newer",
            ),
        ),
        settings={"today": "2026-12-01"},
    ),
    passes(
        (SOON,),
        breaking(
            "c",
            ("kubernetes",),
            "1.35",
            said(
                SOON,
                "kubernetes is '1.35', whose support ends on 2027-02-28",
                "a minor that is supported on 2027-04-11",
                "upgrade, one minor at a time, to 1.36 or newer",
            ),
            unknown="kubernetes",
        ),
        settings={"today": "2027-01-01", "daysLeft": 100},
    ),
)


ALLOWED = "1.34 or newer (claims of devices need resource.k8s.io/v1, which is served from 1.34)"
UPGRADE = "upgrade, one minor at a time, to 1.34 or newer"
MINIMUM_KUBERNETES_AKS = "azure-native:containerservice:ManagedCluster"

SAMPLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("dra-fleet:clouds:ExistingCluster", {"cloud": "existing", "kubernetes": "1.36"}),
    (MINIMUM_KUBERNETES_AKS, {"kubernetesVersion": "1.35.2"}),
    ("azure-native:containerservice/v20250801:ManagedCluster", {"kubernetesVersion": "1.35"}),
    (
        "azure-native_containerservice_v20260101:containerservice:ManagedCluster",
        {"kubernetesVersion": "1.35"},
    ),
    ("azure-native:containerservice:AgentPool", {"orchestratorVersion": "1.34"}),
    ("gcp:container/cluster:Cluster", {"minMasterVersion": "1.35.8-gke.1036000"}),
    (
        "azure:containerservice/kubernetesClusterNodePool:KubernetesClusterNodePool",
        {"orchestratorVersion": "1.34"},
    ),
    ("gcp:container/nodePool:NodePool", {"version": "1.35.8-gke.1036000"}),
    ("aws:eks/cluster:Cluster", {"version": "1.34"}),
    ("aws:eks/nodeGroup:NodeGroup", {"version": "1.34"}),
    ("aws-native:eks:Cluster", {"version": "1.36"}),
    ("eks:index:Cluster", {"version": "1.35"}),
    ("eks:index:NodeGroup", {"version": "1.34"}),
    ("aws-native:eks:Nodegroup", {"version": "1.36"}),
    ("alicloud:cs/managedKubernetes:ManagedKubernetes", {"version": "1.34.1-aliyun.1"}),
    ("alicloud:cs/serverlessKubernetes:ServerlessKubernetes", {"version": "1.36.2-aliyun.1"}),
)
OLD = ("1.33", "v1.33.9", "1.9", "0.40", "1.33.8-gke.1036000", "1.33.1-aliyun.1")


def sample(token: str, properties: dict[str, Any]) -> RuleCase:
    cluster = Declared(type=token, name="c", properties=properties)
    field = next(key for key in properties if "ersion" in key or key == "kubernetes")
    too_old = [
        breaking(
            "c", (field,), version, said(cluster, f"{field} is {version!r}", ALLOWED, UPGRADE), unknown=field
        )
        for version in OLD
    ]
    unreadable = said(
        cluster, f"{field} is 1.34, no Kubernetes version", ALLOWED, 'write it as text, such as "1.34"'
    )
    number = breaking("c", (field,), 1.34, unreadable, unknown=field)
    return passes((cluster,), *too_old, number)


def nested(token: str, properties: dict[str, Any], *path: str | int) -> RuleCase:
    cluster = Declared(type=token, name="c", properties=properties)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    message = said(cluster, f"{place} is '1.33'", ALLOWED, UPGRADE)
    broken = breaking("c", path, "1.33", message, unknown=place)
    return passes((cluster,), broken)


MINIMUM_KUBERNETES_GKE = Declared(
    type="gcp:container/cluster:Cluster",
    name="c",
    properties={"minMasterVersion": "1.36.1-gke.1", "nodeVersion": "1.34.1-gke.1829001"},
)
POOLS = Declared(
    type=MINIMUM_KUBERNETES_AKS,
    name="c",
    properties={
        "kubernetesVersion": "1.36",
        "agentPoolProfiles": [{"orchestratorVersion": "1.34"}, {}, {"orchestratorVersion": "1.35"}],
    },
)
ROCKS = Declared(
    type="aws:eks/nodeGroup:NodeGroup",
    name="c",
    properties={"amiType": "BOTTLEROCKET_x86_64_NVIDIA", "releaseVersion": "1.20.3-5d9ac849"},
)
ABSENT = (
    "minMasterVersion is absent, so the cloud chooses the default version of the cluster's release channel"
)
CLASSIC = Declared(
    type="azure:containerservice/kubernetesCluster:KubernetesCluster",
    name="c",
    properties={"kubernetesVersion": "1.36", "defaultNodePool": {"orchestratorVersion": "1.35"}},
)
LAST = "agentPoolProfiles[2].orchestratorVersion"

IMAGE = "resolve:ssm:/aws/service/eks/optimized-ami/{}/amazon-linux-2023/x86_64/standard/recommended/image_id"
TEMPLATE = Declared(
    type="aws:ec2/launchTemplate:LaunchTemplate", name="c", properties={"imageId": IMAGE.format("1.36")}
)
NATIVE_TEMPLATE = Declared(
    type="aws-native:ec2:LaunchTemplate",
    name="c",
    properties={"launchTemplateData": {"imageId": IMAGE.format("1.36")}},
)
POOL = Declared(type="dra-fleet:clouds:GpuNodePool", name="pool", properties={"machine": "hgx-h100-8"})
REQUIRE_MINIMUM_KUBERNETES = (
    *(sample(*each) for each in SAMPLES),
    passes((POOL,)),
    nested(
        "azure-native:resources:Resource",
        {"resourceType": "agentPools", "properties": {"orchestratorVersion": "1.34"}},
        "properties",
        "orchestratorVersion",
    ),
    nested(
        "eks:index:Cluster",
        {"version": "1.35", "nodeGroupOptions": {"version": "1.35"}},
        "nodeGroupOptions",
        "version",
    ),
    nested(
        "gcp:container/cluster:Cluster",
        {"minMasterVersion": "1.36", "nodePools": [{"version": "1.35"}]},
        "nodePools",
        0,
        "version",
    ),
    passes(
        (MINIMUM_KUBERNETES_GKE,),
        breaking(
            "c",
            ("minMasterVersion",),
            REMOVED,
            said(MINIMUM_KUBERNETES_GKE, ABSENT, ALLOWED, 'set it, for example "1.34"'),
            unknown="minMasterVersion",
        ),
        breaking(
            "c",
            ("nodeVersion",),
            "1.33",
            said(MINIMUM_KUBERNETES_GKE, "nodeVersion is '1.33'", ALLOWED, UPGRADE),
            unknown="nodeVersion",
        ),
    ),
    passes(
        (POOLS,),
        breaking(
            "c",
            ("agentPoolProfiles", 2, "orchestratorVersion"),
            "1.33",
            said(POOLS, f"{LAST} is '1.33'", ALLOWED, UPGRADE),
            unknown=LAST,
        ),
        breaking(
            "c",
            ("agentPoolProfiles",),
            [{"orchestratorVersion": "1.30"}],
            said(POOLS, "agentPoolProfiles[0].orchestratorVersion is '1.30'", ALLOWED, UPGRADE),
            unknown="agentPoolProfiles",
        ),
    ),
    passes(
        (ROCKS,),
        breaking(
            "c",
            ("releaseVersion",),
            "1.33.5-20251112",
            said(ROCKS, "releaseVersion is '1.33.5-20251112'", ALLOWED, UPGRADE),
            unknown="releaseVersion",
        ),
    ),
    passes(
        (CLASSIC,),
        breaking(
            "c",
            ("defaultNodePool", "orchestratorVersion"),
            "1.33",
            said(CLASSIC, "defaultNodePool.orchestratorVersion is '1.33'", ALLOWED, UPGRADE),
            unknown="defaultNodePool.orchestratorVersion",
        ),
    ),
    *(
        passes(
            (template,),
            breaking(
                "c",
                path,
                IMAGE.format("1.33"),
                said(template, f"{'.'.join(path)} is '1.33'", ALLOWED, UPGRADE),
            ),
        )
        for template, path in ((TEMPLATE, ("imageId",)), (NATIVE_TEMPLATE, ("launchTemplateData", "imageId")))
    ),
)


TYPES = (
    "azure-native:containerservice:ManagedCluster",
    "gcp:container/cluster:Cluster",
    "aws:eks/cluster:Cluster",
    "aws-native:eks:Cluster",
    "alicloud:cs/managedKubernetes:ManagedKubernetes",
)


def case_protection(token: str) -> RuleCase:
    cluster = Declared(type=token, name="c", protect=True)
    message = said(
        cluster,
        "is not protected",
        "protect=True",
        "pass opts=pulumi.ResourceOptions(protect=True) to the cluster or to the component that holds it",
    )
    return passes((cluster,), Break(resource="c", options={"protect": False}, messages=(message,)))


REQUIRE_PROTECTION = tuple(case_protection(token) for token in TYPES)


SAFE_PATCH_GKE = Declared(
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
    return breaking("c", (field,), version, message, unknown=field)


REQUIRE_SAFE_PATCH = (
    passes(
        (SAFE_PATCH_GKE,),
        too_old(SAFE_PATCH_GKE, "minMasterVersion", "1.35.5-gke.1", "1.35"),
        too_old(SAFE_PATCH_GKE, "minMasterVersion", "1.34.3-gke.99", "1.34"),
    ),
    passes((MINOR_ONLY, NODE_IMAGE), too_old(MINOR_ONLY, "version", "v1.36.1", "1.36")),
)

CASES = {
    "cluster-forbid-local-accounts": FORBID_LOCAL_ACCOUNTS,
    "cluster-forbid-public-api-server": FORBID_PUBLIC_API_SERVER,
    "cluster-limit-end-of-life": LIMIT_END_OF_LIFE,
    "cluster-require-minimum-kubernetes": REQUIRE_MINIMUM_KUBERNETES,
    "cluster-require-protection": REQUIRE_PROTECTION,
    "cluster-require-safe-patch": REQUIRE_SAFE_PATCH,
}
