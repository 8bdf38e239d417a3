"""The version floor: passes on the good sample of every cloud, fails once one thing is broken."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pulumi_policy.proxy import UNKNOWN_ARRAY_VALUE, UNKNOWN_STRING_VALUE, unknown_checking_proxy

from policies.resource_view import ResourceView
from policies.rules.cluster_require_minimum_kubernetes import FIELDS, FLOOR, RULE, judge

WHY = "1.34 or newer (resource.k8s.io/v1, which everything here uses, is served from 1.34)"
UPGRADE = "upgrade, one minor at a time, to 1.34 or newer"

SAMPLES: dict[str, tuple[str, dict[str, Any]]] = {
    "existing": ("dra-fleet:platforms:ExistingCluster", {"cloud": "existing", "kubernetes": "1.36"}),
    "aks": (
        "azure-native:containerservice:ManagedCluster",
        {"kubernetesVersion": "1.35.2", "agentPoolProfiles": [{"name": "system"}]},
    ),
    "aks versioned": (
        "azure-native:containerservice/v20250801:ManagedCluster",
        {"kubernetesVersion": "1.35"},
    ),
    "aks generated": (
        "azure-native_containerservice_v20260101:containerservice:ManagedCluster",
        {"kubernetesVersion": "1.35"},
    ),
    "aks pool": ("azure-native:containerservice:AgentPool", {"orchestratorVersion": "1.34"}),
    "gke": (
        "gcp:container/cluster:Cluster",
        {"minMasterVersion": "1.35.8-gke.1036000", "nodeVersion": "1.34.1-gke.1829001"},
    ),
    "gke pool": ("gcp:container/nodePool:NodePool", {"version": "1.35.8-gke.1036000"}),
    "eks": ("aws:eks/cluster:Cluster", {"version": "1.34"}),
    "eks group": ("aws:eks/nodeGroup:NodeGroup", {"version": "1.34"}),
    "eks native": ("aws-native:eks:Cluster", {"version": "1.36"}),
    "ack": ("alicloud:cs/managedKubernetes:ManagedKubernetes", {"version": "1.34.1-aliyun.1"}),
    "ack serverless": (
        "alicloud:cs/serverlessKubernetes:ServerlessKubernetes",
        {"version": "1.36.2-aliyun.1"},
    ),
}


def found(resource_type: str, properties: dict[str, Any]) -> list[str]:
    proxied = unknown_checking_proxy(copy.deepcopy(properties))
    return list(judge(ResourceView(resource_type=resource_type, name="c", properties=proxied)))


@pytest.mark.parametrize("sample", SAMPLES)
def test_the_good_sample_passes(sample: str) -> None:
    assert found(*SAMPLES[sample]) == []


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize(
    "version", ["1.33", "v1.33.9", "1.9", "0.40", "1.33.8-gke.1036000", "1.33.1-aliyun.1"]
)
def test_each_version_of_it_is_refused_below_the_floor(sample: str, version: str) -> None:
    token, good = SAMPLES[sample]
    for key in [key for key in good if key == "kubernetes" or "ersion" in key]:
        assert found(token, {**good, key: version}) == [
            f"c ({token}): {key} is {version!r}; allowed: {WHY}; fix: {UPGRADE}"
        ]


@pytest.mark.parametrize(
    "version", ["1.34", "v1.34.9", "1.35.8-gke.1036000", "1.34.1-aliyun.1", "1.100", "2.0"]
)
def test_every_clouds_grammar_is_read(version: str) -> None:
    assert found("aws:eks/cluster:Cluster", {"version": version}) == []


def test_an_unknown_version_is_refused() -> None:
    assert found("aws:eks/cluster:Cluster", {"version": UNKNOWN_STRING_VALUE}) == [
        (
            "c (aws:eks/cluster:Cluster): version is unknown at preview; "
            f'allowed: {WHY}; fix: give it as a plain value, such as "1.34"'
        )
    ]


def test_a_control_plane_without_a_version_is_refused() -> None:
    assert found("gcp:container/cluster:Cluster", {}) == [
        (
            "c (gcp:container/cluster:Cluster): minMasterVersion is absent; "
            f'allowed: {WHY}; fix: set it, for example "1.34"'
        )
    ]


@pytest.mark.parametrize(
    "token",
    [
        "azure-native:containerservice:AgentPool",
        "gcp:container/nodePool:NodePool",
        "aws:eks/nodeGroup:NodeGroup",
    ],
)
def test_a_pool_without_a_version_takes_its_clusters(token: str) -> None:
    assert found(token, {}) == []


@pytest.mark.parametrize("version", ["latest", "", "-", "1", "1.34; rm", 1.34, True, {"a": "b"}])
def test_what_is_no_version_is_refused(version: object) -> None:
    (message,) = found("aws:eks/cluster:Cluster", {"version": version})
    assert message.endswith(f'no Kubernetes version; allowed: {WHY}; fix: write it as text, such as "1.34"')


def test_inline_pools_are_judged_one_by_one() -> None:
    pools = [{"orchestratorVersion": "1.34"}, {}, {"orchestratorVersion": "1.33"}]
    good = {"kubernetesVersion": "1.36", "agentPoolProfiles": pools}
    (message,) = found("azure-native:containerservice:ManagedCluster", good)
    place = "c (azure-native:containerservice:ManagedCluster): agentPoolProfiles.2.orchestratorVersion"
    assert message == f"{place} is '1.33'; allowed: {WHY}; fix: {UPGRADE}"


def test_inline_pools_that_are_unknown_are_refused() -> None:
    unknown = {"kubernetesVersion": "1.36", "agentPoolProfiles": UNKNOWN_ARRAY_VALUE}
    (message,) = found("azure-native:containerservice:ManagedCluster", unknown)
    assert "agentPoolProfiles is unknown at preview" in message


@pytest.mark.parametrize(
    "token", ["aws:eks/addon:Addon", "kubernetes:core/v1:Namespace", "dra-fleet:devices:Claim"]
)
def test_other_resources_are_not_its_business(token: str) -> None:
    assert found(token, {"version": "1.1", "kubernetes": "1.1"}) == []


def test_every_place_is_covered_by_a_sample() -> None:
    for field in FIELDS:
        if field.path[0] != "agentPoolProfiles" and field.types.pattern != "aws-native:eks:Nodegroup":
            assert any(
                field.types.fullmatch(token) and field.path[0] in sample for token, sample in SAMPLES.values()
            ), field


def test_the_floor_is_the_catalogues() -> None:
    assert FLOOR == "1.34"
    assert RULE.description.startswith("Clusters run Kubernetes 1.34 or newer")
