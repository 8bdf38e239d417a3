"""The programs of cluster-require-minimum-kubernetes: every cloud, in its own grammar."""

from __future__ import annotations

from typing import Any

from dra_fleet.policy.rule_cases import REMOVED, Break, Declared, RuleCase, said

ALLOWED = "1.34 or newer (claims of devices need resource.k8s.io/v1, which is served from 1.34)"
UPGRADE = "upgrade, one minor at a time, to 1.34 or newer"
AKS = "azure-native:containerservice:ManagedCluster"

SAMPLES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("dra-fleet:clouds:ExistingCluster", {"cloud": "existing", "kubernetes": "1.36"}),
    (AKS, {"kubernetesVersion": "1.35.2"}),
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
        Break(
            resource="c",
            path=(field,),
            value=version,
            messages=(said(cluster, f"{field} is {version!r}", ALLOWED, UPGRADE),),
            unknown=field,
        )
        for version in OLD
    ]
    unreadable = said(
        cluster, f"{field} is 1.34, no Kubernetes version", ALLOWED, 'write it as text, such as "1.34"'
    )
    number = Break(resource="c", path=(field,), value=1.34, messages=(unreadable,), unknown=field)
    return RuleCase(passing=(cluster,), breaks=(*too_old, number))


def nested(token: str, properties: dict[str, Any], *path: str | int) -> RuleCase:
    cluster = Declared(type=token, name="c", properties=properties)
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    message = said(cluster, f"{place} is '1.33'", ALLOWED, UPGRADE)
    broken = Break(resource="c", path=path, value="1.33", messages=(message,), unknown=place)
    return RuleCase(passing=(cluster,), breaks=(broken,))


GKE = Declared(
    type="gcp:container/cluster:Cluster",
    name="c",
    properties={"minMasterVersion": "1.36.1-gke.1", "nodeVersion": "1.34.1-gke.1829001"},
)
POOLS = Declared(
    type=AKS,
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
CASES = (
    *(sample(*each) for each in SAMPLES),
    RuleCase(passing=(POOL,), breaks=()),
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
    RuleCase(
        passing=(GKE,),
        breaks=(
            Break(
                resource="c",
                path=("minMasterVersion",),
                value=REMOVED,
                messages=(
                    said(
                        GKE,
                        ABSENT,
                        ALLOWED,
                        'set it, for example "1.34"',
                    ),
                ),
                unknown="minMasterVersion",
            ),
            Break(
                resource="c",
                path=("nodeVersion",),
                value="1.33",
                messages=(said(GKE, "nodeVersion is '1.33'", ALLOWED, UPGRADE),),
                unknown="nodeVersion",
            ),
        ),
    ),
    RuleCase(
        passing=(POOLS,),
        breaks=(
            Break(
                resource="c",
                path=("agentPoolProfiles", 2, "orchestratorVersion"),
                value="1.33",
                messages=(said(POOLS, f"{LAST} is '1.33'", ALLOWED, UPGRADE),),
                unknown=LAST,
            ),
            Break(
                resource="c",
                path=("agentPoolProfiles",),
                value=[{"orchestratorVersion": "1.30"}],
                messages=(
                    said(POOLS, "agentPoolProfiles[0].orchestratorVersion is '1.30'", ALLOWED, UPGRADE),
                ),
                unknown="agentPoolProfiles",
            ),
        ),
    ),
    RuleCase(
        passing=(ROCKS,),
        breaks=(
            Break(
                resource="c",
                path=("releaseVersion",),
                value="1.33.5-20251112",
                messages=(said(ROCKS, "releaseVersion is '1.33.5-20251112'", ALLOWED, UPGRADE),),
                unknown="releaseVersion",
            ),
        ),
    ),
    RuleCase(
        passing=(CLASSIC,),
        breaks=(
            Break(
                resource="c",
                path=("defaultNodePool", "orchestratorVersion"),
                value="1.33",
                messages=(said(CLASSIC, "defaultNodePool.orchestratorVersion is '1.33'", ALLOWED, UPGRADE),),
                unknown="defaultNodePool.orchestratorVersion",
            ),
        ),
    ),
    *(
        RuleCase(
            passing=(template,),
            breaks=(
                Break(
                    resource="c",
                    path=path,
                    value=IMAGE.format("1.33"),
                    messages=(said(template, f"{'.'.join(path)} is '1.33'", ALLOWED, UPGRADE),),
                ),
            ),
        )
        for template, path in (
            (TEMPLATE, ("imageId",)),
            (NATIVE_TEMPLATE, ("launchTemplateData", "imageId")),
        )
    ),
)
