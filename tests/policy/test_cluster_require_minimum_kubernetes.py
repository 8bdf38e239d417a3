from pathlib import Path

import pulumi
import pytest
from msgspec.structs import replace

from components.clouds import resolve
from dra_fleet import clouds
from dra_fleet.core.declared.values import Missing
from dra_fleet.policy.gate import preset
from dra_fleet.policy.reading.clouds import FIELDS
from dra_fleet.policy.rule_cases import Declared
from policies.rules.cluster import FLOOR
from policies.rules.cluster import REQUIRE_MINIMUM_KUBERNETES as RULE
from tests.policy.every_rule import check_all

TOKENS = {
    "pulumi_azure_native/containerservice/managed_cluster.py": "azure-native:containerservice:ManagedCluster",
    "pulumi_azure_native/containerservice/agent_pool.py": "azure-native:containerservice:AgentPool",
    "pulumi_gcp/container/cluster.py": "gcp:container/cluster:Cluster",
    "pulumi_gcp/container/node_pool.py": "gcp:container/nodePool:NodePool",
    "pulumi_aws/eks/cluster.py": "aws:eks/cluster:Cluster",
    "pulumi_aws/eks/node_group.py": "aws:eks/nodeGroup:NodeGroup",
    "pulumi_alicloud/cs/managed_kubernetes.py": "alicloud:cs/managedKubernetes:ManagedKubernetes",
    "pulumi_alicloud/cs/serverless_kubernetes.py": "alicloud:cs/serverlessKubernetes:ServerlessKubernetes",
    "pulumi_alicloud/cs/edge_kubernetes.py": "alicloud:cs/edgeKubernetes:EdgeKubernetes",
    "pulumi_alicloud/cs/kubernetes.py": "alicloud:cs/kubernetes:Kubernetes",
}
"""Files in which each SDK writes the token of a type that the floor checks."""


def output(token: str, properties: dict[str, object]) -> list[str]:
    resource = Declared(type=token, name="c", properties=properties).resource()
    return [found.message for found in check_all([RULE], [resource], {RULE.name: RULE.settings({})})]


@pytest.mark.parametrize(
    "version", ["1.34", "v1.34.9", "1.35.8-gke.1036000", "1.34.1-aliyun.1", "1.100", "2.0"]
)
def test_every_clouds_grammar_is_read(version: str) -> None:
    assert output("aws:eks/cluster:Cluster", {"version": version}) == []


@pytest.mark.parametrize("version", ["latest", "", "-", "1", "1.34; rm", 1.34, True, {"a": "b"}])
def test_rejects_values_that_are_no_version(version: object) -> None:
    (message,) = output("aws:eks/cluster:Cluster", {"version": version})
    assert f"is {version!r}, no Kubernetes version" in message
    assert message.endswith('fix: write it as text, such as "1.34"')


@pytest.mark.parametrize(
    "token",
    [
        "azure-native:containerservice:AgentPool",
        "gcp:container/nodePool:NodePool",
        "aws:eks/nodeGroup:NodeGroup",
    ],
)
def test_a_pool_without_a_version_takes_its_clusters(token: str) -> None:
    assert output(token, {}) == []


@pytest.mark.parametrize(
    "token", ["aws:eks/addon:Addon", "kubernetes:core/v1:Namespace", "kubernetes:batch/v1:Job"]
)
def test_other_resources_are_not_its_business(token: str) -> None:
    assert output(token, {"version": "1.1", "kubernetes": "1.1"}) == []


def test_every_place_is_checked_in_a_case() -> None:
    from tests.policies.rules.cluster import REQUIRE_MINIMUM_KUBERNETES as CASES  # noqa: PLC0415

    checked = {(case.passing[0].type, broken.path[0]) for case in CASES for broken in case.breaks}
    for field in FIELDS:
        assert any(field.types.fullmatch(token) and path == field.path[0] for token, path in checked), field


def test_the_floor_checks_every_platform_of_this_program() -> None:
    for cloud in clouds.names():
        assert any(field.types.fullmatch(resolve(cloud).TOKEN) for field in FIELDS), cloud


@pytest.mark.parametrize(("file", "token"), TOKENS.items())
def test_the_tokens_checked_are_the_sdks_own(file: str, token: str) -> None:
    source = (Path(pulumi.__file__).parents[1] / file).read_text(encoding="utf-8")
    assert f"'{token}'" in source
    assert any(field.types.fullmatch(token) for field in FIELDS)


def test_the_floor_is_the_catalogues() -> None:
    assert FLOOR == "1.34"
    assert "Kubernetes 1.34 or newer" in RULE.description


GPUS = Declared(
    type="aws:eks/nodeGroup:NodeGroup", name="gpus", properties={"instanceTypes": ["p5.48xlarge"]}
)
PLAIN = Declared(
    type="aws:eks/nodeGroup:NodeGroup", name="plain", properties={"instanceTypes": ["m6i.large"]}
)
OLD = Declared(type="aws:eks/cluster:Cluster", name="old", properties={"version": "1.30"})
ABSENT = replace(OLD, properties={})


def advised(*program: Declared, **settings: object) -> set[bool]:
    """Return True for each finding of a program that is advice."""
    given = {RULE.name: RULE.settings(settings)}
    found = check_all([RULE], [declared.resource() for declared in program], given)
    assert found
    return {one.advice for one in found}


@pytest.mark.parametrize("cluster", [OLD, ABSENT, replace(OLD, properties={"version": Missing.UNKNOWN})])
def test_a_program_that_surely_has_no_accelerator_is_advised(cluster: Declared) -> None:
    assert advised(cluster, PLAIN) == {True}
    assert advised(cluster, PLAIN, everywhere=True) == {False}


@pytest.mark.parametrize(
    "more",
    [
        (),
        (PLAIN, GPUS),
        (replace(PLAIN, properties={"instanceTypes": Missing.UNKNOWN}),),
        (replace(PLAIN, properties={"instanceTypes": [Missing.UNKNOWN]}),),
        (replace(PLAIN, properties={"launchTemplate": {"id": Missing.UNKNOWN}}),),
        (
            PLAIN,
            Declared(
                type="aws:ec2/launchTemplate:LaunchTemplate",
                name="t",
                properties={"instanceType": "g6.xlarge"},
            ),
        ),
        (PLAIN, Declared(type="kubernetes:resource.k8s.io/v1:DeviceClass", name="class")),
        (
            PLAIN,
            Declared(type="kubernetes:helm.sh/v3:Release", name="d", properties={"chart": "gpu-operator"}),
        ),
        (
            PLAIN,
            Declared(type="kubernetes:helm.sh/v3:Release", name="d", properties={"chart": Missing.UNKNOWN}),
        ),
        (
            PLAIN,
            Declared(
                type="kubernetes:core/v1:Pod",
                name="p",
                properties={"spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": 1}}}]}},
            ),
        ),
    ],
)
def test_a_program_that_has_or_may_have_accelerators_is_stopped(more: tuple[Declared, ...]) -> None:
    assert advised(OLD, *more) == {False}


def test_only_programs_with_a_preset_for_production_hold_everybody_to_it() -> None:
    assert preset.config("production")[RULE.name] == {"enforcementLevel": "mandatory", "everywhere": True}
    assert preset.config("standard")[RULE.name] == {"enforcementLevel": "mandatory"}
