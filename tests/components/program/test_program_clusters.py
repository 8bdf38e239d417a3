import importlib.util
from collections.abc import Callable
from typing import Any

import pulumi
import pulumi_kubernetes as kubernetes
import pytest

import dra_fleet as dra
from components.fleet import build
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder, Secret
from tests.components.clouds.gke.gke_declared import GET_CLUSTER, answered
from tests.components.program.cluster_programs import H100, KUBECONFIG, lab, template

PROVIDER = "pulumi:providers:kubernetes"
RELEASE = "kubernetes:helm.sh/v3:Release"
NAMESPACE = "kubernetes:core/v1:Namespace"
POOL = "dra-fleet:clouds:GpuNodePool"


def aks(**more: Any) -> dra.AksCluster:
    arguments: dict[str, Any] = {
        "region": "westeurope",
        "kubernetes_version": "1.36",
        "access": {"authorized_ranges": ["203.0.113.0/24"]},
        "pools": {"a10": {"machine": "Standard_NV6ads_A10_v5", "min": 1, "max": 1}},
        **more,
    }
    return dra.AksCluster("studio", **arguments)


def gke(**more: Any) -> dra.GkeCluster:
    arguments: dict[str, Any] = {
        "project": "ml-render",
        "location": "us-central1",
        "kubernetes_version": "1.35",
        "access": {"external": True},
        "pools": {"l4": {"machine": "g2-standard-24", "min": 1, "max": 2, "zones": ["us-central1-a"]}},
        **more,
    }
    return dra.GkeCluster("render", **arguments)


def eks(**more: Any) -> dra.EksCluster:
    arguments: dict[str, Any] = {
        "region": "us-east-1",
        "account": "000000000000",
        "kubernetes_version": "1.35",
        "access": {"public_ranges": ["203.0.113.0/24"]},
        "network": {"zones": ["us-east-1a", "us-east-1b"]},
        "pools": {"h100": {"machine": "p5.4xlarge", "min": 1, "max": 1}},
        **more,
    }
    return dra.EksCluster("train", **arguments)


def ack(**more: Any) -> dra.AckCluster:
    arguments: dict[str, Any] = {
        "region": "ap-southeast-1",
        "account": "0000000000000000",
        "kubernetes_version": "1.36",
        "version": "1.36.2-aliyun.1",
        "access": {"public": False},
        "network": {"zones": ["ap-southeast-1a"]},
        "pools": {"a10": {"machine": "ecs.gn7i-c8g1.2xlarge", "min": 1, "max": 1}},
        **more,
    }
    return dra.AckCluster("asia", **arguments)


def nvidia(cluster: dra.ExistingCluster) -> dra.NvidiaDriver:
    return dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")


CLOUDS: dict[str, tuple[Callable[..., Any], dict[str, Any], dict[str, Any], str]] = {
    "aks": (
        aks,
        {
            "region": "westeurope",
            "create": {"resourceGroup": "studio"},
            "access": {"authorizedRanges": ["203.0.113.0/24"]},
            "pools": {"a10": {"machine": "Standard_NV6ads_A10_v5", "nodes": {"min": 1, "max": 1}}},
        },
        {"machine": "Standard_NC24ads_A100_v4"},
        "azure-native:containerservice:AgentPool",
    ),
    "gke": (
        gke,
        {
            "project": "ml-render",
            "location": "us-central1",
            "create": {},
            "access": {"external": True},
            "pools": {
                "l4": {"machine": "g2-standard-24", "nodes": {"min": 1, "max": 2}, "zones": ["us-central1-a"]}
            },
        },
        {"machine": "a2-highgpu-1g", "zones": ["us-central1-a"], "gpu_driver": "external"},
        "gcp:container/nodePool:NodePool",
    ),
    "eks": (
        eks,
        {
            "region": "us-east-1",
            "account": "000000000000",
            "create": {"network": {"zones": ["us-east-1a", "us-east-1b"]}},
            "access": {"publicRanges": ["203.0.113.0/24"]},
            "pools": {"h100": {"machine": "p5.4xlarge", "nodes": {"min": 1, "max": 1}}},
        },
        {"machine": "p4de.24xlarge"},
        "aws:eks/nodeGroup:NodeGroup",
    ),
    "ack": (
        ack,
        {
            "region": "ap-southeast-1",
            "account": "0000000000000000",
            "version": "1.36.2-aliyun.1",
            "create": {"network": {"zones": ["ap-southeast-1a"]}},
            "access": {"public": False},
            "pools": {"a10": {"machine": "ecs.gn7i-c8g1.2xlarge", "nodes": {"min": 1, "max": 1}}},
        },
        {"machine": "ecs.gn7i-c16g1.4xlarge"},
        "alicloud:cs/nodePool:NodePool",
    ),
}


@pytest.fixture
def cloud(recorder: Recorder) -> Recorder:
    """A recorded preview in which Google Cloud knows its cluster."""
    recorder.preview = True
    recorder.answers[GET_CLUSTER] = answered()
    return recorder


@pytest.mark.parametrize("name", CLOUDS)
def test_cluster_is_declared_exactly_as_by_a_stack_file(name: str, cloud: Recorder) -> None:
    program, settings, _, _ = CLOUDS[name]
    made = cloud.run(program)
    of_program = cloud.declared()
    cloud.registrations.clear()
    fleet: dict[str, Any] = {
        "owner": "dra-fleet",
        "environment": "development",
        "kubernetes": made.program.kubernetes,
        "clusters": {made.program.name: {"cloud": name, "drivers": {}, **settings}},
    }
    cloud.run(lambda: build(make_plan(parse(fleet)), lambda _: pulumi.Output.secret("")))
    assert of_program == cloud.declared()


@pytest.mark.parametrize("name", CLOUDS)
def test_further_pool_is_a_child_of_its_component_and_before_drivers(name: str, cloud: Recorder) -> None:
    program, _, pool, token = CLOUDS[name]

    def with_pool() -> None:
        cluster = program()
        dra.GpuNodePool("more", cluster=cluster, min=1, max=1, **pool)
        dra.NvidiaDriver("nvidia", cluster=cluster, version="0.5.0")

    cloud.run(with_pool)
    component = cloud.only(POOL)
    (made,) = [
        entry for entry in cloud.registrations.values() if entry.type == token and "more" in entry.name
    ]
    assert made.parent == component.urn
    assert component.name == made.name
    assert made.urn in cloud.only(RELEASE).dependencies


def test_pool_that_changes_more_than_pools_is_refused(cloud: Recorder) -> None:
    def program() -> None:
        dra.GpuNodePool("more", cluster=gke(), machine="a2-highgpu-1g", zones=["us-central1-a"], min=1, max=1)

    with pytest.raises(pulumi.RunError) as refused:
        cloud.run(program)
    assert str(refused.value) == (
        "GpuNodePool more: changes more of GkeCluster render than its pools; "
        "fix: declare it in pools={…} of GkeCluster render"
    )


def test_pool_of_an_existing_cluster_is_selected_and_proved(recorder: Recorder) -> None:
    def program() -> None:
        cluster = lab(pools=None)
        dra.GpuNodePool("h100", cluster=cluster, **H100)
        dra.Demand(template(cluster), replicas=8)

    recorder.run(program)
    component = recorder.only(POOL)
    assert component.inputs == {"machine": "hgx-h100-8", "min": 1, "max": 1}
    assert recorder.children(component.urn) == set()


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (template, "is declared after classes or claims of ExistingCluster lab"),
        (nvidia, "changes the chart values of release dra-driver-nvidia-gpu, which is declared before it"),
    ],
)
def test_pool_after_what_depends_on_it_is_refused(
    declare: Callable[[dra.ExistingCluster], object], words: str, recorder: Recorder
) -> None:
    def program() -> None:
        cluster = lab(pools={"h100": {**H100, "advertise": "dra"}})
        declare(cluster)
        dra.GpuNodePool(
            "plain", cluster=cluster, machine="hgx-a100-40-4", min=1, max=1, advertise="device-plugin",
            node_selector={"example.com/p": "b"},
        )  # fmt: skip

    with pytest.raises(pulumi.RunError, match=f"^GpuNodePool plain: {words}"):
        recorder.run(program)


def test_kubeconfig_of_another_resource_orders_everything_after_it(recorder: Recorder) -> None:
    def program() -> None:
        other = kubernetes.core.v1.Namespace("cluster-of-another-package")
        dra.NvidiaDriver(
            "nvidia", cluster=lab(kubeconfig=other.id.apply(lambda _: KUBECONFIG)), version="0.5.0"
        )

    recorder.run(program)
    other = recorder.only(NAMESPACE, "cluster-of-another-package")
    assert recorder.only(PROVIDER, "lab-kubernetes").inputs["kubeconfig"] == Secret(KUBECONFIG)
    assert other.urn in recorder.only(RELEASE).dependencies


def test_unknown_kubeconfig_is_previewed(recorder: Recorder) -> None:
    recorder.preview = True

    def program() -> None:
        other = kubernetes.core.v1.Namespace("cluster-of-another-package")
        dra.NvidiaDriver("nvidia", cluster=lab(kubeconfig=other.id), version="0.5.0")

    recorder.run(program)
    assert recorder.only(RELEASE).inputs["version"] == "0.5.0"


def test_provider_of_the_program_is_used_for_everything(recorder: Recorder) -> None:
    def program() -> None:
        provider = kubernetes.Provider("mine", kubeconfig=KUBECONFIG)
        dra.NvidiaDriver("nvidia", cluster=lab(kubeconfig=None, provider=provider), version="0.5.0")

    recorder.run(program)
    mine = recorder.only(PROVIDER)
    assert mine.name == "mine"
    assert recorder.only(RELEASE).provider.startswith(f"{mine.urn}::")


def test_context_alone_leaves_the_kubeconfig_to_the_provider(recorder: Recorder) -> None:
    recorder.run(lambda: lab(kubeconfig=None, context="lab"))
    inputs = recorder.only(PROVIDER).inputs
    assert (inputs["kubeconfig"], inputs["context"]) == ("", "lab")


def test_adopted_cluster_is_named_by_outputs_of_the_program(cloud: Recorder) -> None:
    def program() -> None:
        group = kubernetes.core.v1.Namespace("group-of-another-package", metadata={"name": "ml"})
        aks(access=None, adopt={"resource_group": group.metadata.name, "name": group.id})

    cloud.run(program)
    pool = cloud.only("azure-native:containerservice:AgentPool")
    assert pool.inputs["resourceGroupName"] == "ml"
    assert not [entry for entry in cloud.registrations.values() if "StackReference" in entry.type]


def test_subnets_are_values_of_the_program(cloud: Recorder) -> None:
    def program() -> None:
        made = kubernetes.core.v1.Namespace("network", metadata={"name": "subnet-0123456789abcdef0"})
        zones = dict.fromkeys(("us-east-1a", "us-east-1b"), made.metadata.name)
        eks(network=None, subnets=zones)

    cloud.run(program)
    cluster = cloud.only("aws:eks/cluster:Cluster")
    assert cluster.inputs["vpcConfig"]["subnetIds"] == ["subnet-0123456789abcdef0"] * 2


def test_driver_gets_its_usual_namespace(recorder: Recorder) -> None:
    recorder.run(lambda: dra.NvidiaDriver("nvidia", cluster=lab(), version="0.5.0"))
    home, release = recorder.only(NAMESPACE), recorder.only(RELEASE, "lab-nvidia")
    assert release.inputs["namespace"] == home.inputs["metadata"]["name"] == "dra-driver-nvidia-gpu"
    assert home.inputs["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    assert home.urn in release.dependencies


def test_driver_uses_a_namespace_of_the_program(recorder: Recorder) -> None:
    def program() -> None:
        mine = kubernetes.core.v1.Namespace("mine", metadata={"name": "drivers"})
        dra.NvidiaDriver("nvidia", cluster=lab(), version="0.5.0", namespace=mine.metadata.name)

    recorder.run(program)
    release = recorder.only(RELEASE, "lab-nvidia")
    assert release.inputs["namespace"] == "drivers"
    assert recorder.only(NAMESPACE).urn in release.dependencies


def test_operator_of_a_cluster_is_before_its_drivers(cloud: Recorder) -> None:
    def program() -> None:
        cluster = aks(
            kubernetes_version="1.35",
            gpu_operator={"version": "v25.10.0"},
            pools={
                "mig": dra.GpuNodePoolArgs(
                    machine="Standard_ND96amsr_A100_v4",
                    min=1,
                    max=1,
                    gpu_driver="operator",
                    sharing={"strategy": "mig", "layout": {"1g.10gb": 7}},
                )
            },
        )
        dra.NvidiaDriver("nvidia", cluster=cluster, version="25.8.1")

    cloud.run(program)
    assert cloud.only(RELEASE, "studio-gpu-operator").urn in cloud.only(RELEASE, "studio-nvidia").dependencies


def test_installed_driver_is_proved_and_not_installed(recorder: Recorder) -> None:
    def program() -> None:
        dra.Demand(template(lab(installed_drivers={"nvidia": "0.5.0"})), replicas=8)

    recorder.run(program)
    assert not [entry for entry in recorder.registrations.values() if entry.type == RELEASE]


def test_tolerations_are_those_of_the_pools_taints(recorder: Recorder) -> None:
    taint = {"key": "sku", "value": "gpu", "effect": "NoSchedule"}
    cluster = recorder.run(lambda: lab(pools={"h100": {**H100, "taints": [taint]}}))
    (found,) = cluster.tolerations()
    assert (found.key, found.operator, found.value, found.effect) == ("sku", "Equal", "gpu", "NoSchedule")


def test_every_cloud_has_a_component() -> None:
    from dra_fleet import clouds  # noqa: PLC0415 - beside the public names

    for name in clouds.BUILT_IN:
        assert importlib.util.find_spec(f"components.program.{name}") is not None
