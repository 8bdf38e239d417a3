import json
from pathlib import Path
from typing import Any

import pulumi
import pytest
from msgspec.structs import replace

from components.fleet import build
from dra_fleet.drivers.common.placement import any_linux_node, away_from
from dra_fleet.fleet import parse, read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.model.plan import FleetPlan
from dra_fleet.testing import Recorder, Registration, Secret
from tests.clouds.ack.ack_fleets import CLUSTER_ID, GIVEN, a10, adopted, cluster, pool
from tests.golden_files import Golden

EXAMPLE = Path(__file__).resolve().parents[4] / "examples" / "ack-whole-gpus.yaml"
CLUSTER = "alicloud:cs/managedKubernetes:ManagedKubernetes"
POOL = "alicloud:cs/nodePool:NodePool"
RELEASE = "kubernetes:helm.sh/v3:Release"
CREDENTIAL = "alicloud:cs/getClusterCredential:getClusterCredential"
LISTED = "alicloud:cs/getManagedKubernetesClusters:getManagedKubernetesClusters"
COMPONENT = "dra-fleet:clouds:AckCluster"
KUBERNETES = "pulumi:providers:kubernetes"
PRIVATE, PUBLIC = "https://10.40.0.7:6443", "https://203.0.113.7:6443"


def connections(public: str = "") -> list[dict[str, str]]:
    return [
        {"apiServerIntranet": PRIVATE, "apiServerInternet": public, "masterPublicIp": "", "serviceDomain": ""}
    ]


def listed() -> dict[str, Any]:
    return {
        "id": CLUSTER_ID,
        "name": "old",
        "availabilityZone": "ap-southeast-1a",
        "connections": connections(PUBLIC),
        "natGatewayId": "",
        "rrsaConfig": {},
        "securityGroupId": "",
        "state": "running",
        "vpcId": "",
        "workerNodes": [],
    }


@pytest.fixture
def alibaba(recorder: Recorder) -> Recorder:
    """A recorded engine whose Alibaba Cloud reports what a cluster's address and authority are."""
    recorder.outputs[CLUSTER] = {"connections": connections()}
    recorder.answers[LISTED] = {"clusters": [listed()]}
    recorder.answers[CREDENTIAL] = {
        "certificateAuthorities": [{"clusterCert": "Q0E=", "clientCert": "Q0VSVA==", "clientKey": "S0VZ"}],
        "kubeConfig": "client-key-data: S0VZ",
    }
    return recorder


def declare(alibaba: Recorder, plan: FleetPlan) -> None:
    def no_secret(key: str) -> pulumi.Output[str]:
        raise AssertionError(f"the program asked for the secret {key}")

    alibaba.run(lambda: build(plan, no_secret))


def fleet_plan(fleet: dict[str, Any]) -> FleetPlan:
    return make_plan(parse(fleet))


def gpu_pool(alibaba: Recorder) -> Registration:
    return alibaba.only(POOL, "asia-gpu")


def labels(registered: Registration) -> dict[str, str]:
    return {label["key"]: label["value"] for label in registered.inputs["labels"]}


def login(alibaba: Recorder) -> dict[str, Any]:
    secret = alibaba.only(KUBERNETES).inputs["kubeconfig"]
    assert isinstance(secret, Secret)
    return json.loads(secret.value)


def test_the_example_is_declared_exactly_as_before(alibaba: Recorder, golden: Golden) -> None:
    declare(alibaba, make_plan(read_stack_file(EXAMPLE).settings))
    golden("ack_whole_gpus.json", alibaba.declared())


def test_the_kubeconfig_is_a_login_and_holds_no_credential(alibaba: Recorder) -> None:
    declare(alibaba, fleet_plan(a10()))
    config = login(alibaba)
    assert config["clusters"][0]["cluster"] == {"server": PRIVATE, "certificate-authority-data": "Q0E="}
    called = config["users"][0]["user"]["exec"]
    assert (called["command"], called["args"]) == (
        "ack-ram-tool",
        [
            "credential-plugin",
            "get-token",
            "--cluster-id",
            "asia-id",
            "--region-id",
            "ap-southeast-1",
            "--api-version",
            "v1beta1",
            "--log-level",
            "error",
        ],
    )
    assert "S0VZ" not in json.dumps(alibaba.declared(), default=str)
    assert (
        alibaba.published[alibaba.only(COMPONENT).urn]["kubeconfig"]
        == alibaba.only(KUBERNETES).inputs["kubeconfig"]
    )


def test_no_client_key_of_the_cluster_gets_into_the_state(alibaba: Recorder) -> None:
    declare(alibaba, fleet_plan(a10()))
    assert alibaba.only(CLUSTER).inputs["skipSetCertificateAuthority"] is True


@pytest.mark.parametrize("public", [False, True])
def test_a_cluster_has_a_public_address_only_where_it_is_asked_for(public: bool, alibaba: Recorder) -> None:
    fleet = a10()
    cluster(fleet)["access"] = {"public": public}
    alibaba.outputs[CLUSTER] = {"connections": connections(PUBLIC if public else "")}
    declare(alibaba, fleet_plan(fleet))
    assert alibaba.only(CLUSTER).inputs["slbInternetEnabled"] is public
    assert login(alibaba)["clusters"][0]["cluster"]["server"] == (PUBLIC if public else PRIVATE)


def test_the_newest_version_of_the_minor_is_asked_for(alibaba: Recorder) -> None:
    declare(alibaba, fleet_plan(a10()))
    assert alibaba.only(CLUSTER).inputs["version"] == "1.36.2-aliyun.1"


def test_given_vswitches_make_no_network_and_no_gateway(alibaba: Recorder) -> None:
    fleet = a10()
    cluster(fleet)["create"] = {"vswitches": GIVEN}
    declare(alibaba, fleet_plan(fleet))
    assert not [entry for entry in alibaba.registrations.values() if entry.type.startswith("alicloud:vpc")]
    inputs = alibaba.only(CLUSTER).inputs
    assert inputs["vswitchIds"] == inputs["podVswitchIds"] == list(GIVEN.values())
    assert inputs["newNatGateway"] is False


def test_an_adopted_cluster_is_not_made_and_gets_its_node_pools(alibaba: Recorder) -> None:
    declare(alibaba, fleet_plan(adopted()))
    assert CLUSTER not in {entry.type for entry in alibaba.registrations.values()}
    assert gpu_pool(alibaba).inputs["clusterId"] == CLUSTER_ID
    assert login(alibaba)["clusters"][0]["cluster"]["server"] == PUBLIC
    assert sorted(name for name, _, _ in alibaba.calls) == sorted([CREDENTIAL, LISTED])


def test_a_cluster_that_is_not_there_is_said_in_one_error(alibaba: Recorder) -> None:
    alibaba.answers[LISTED] = {"clusters": []}
    with pytest.raises(pulumi.RunError, match="ACK has no such cluster in region ap-southeast-1") as caught:
        declare(alibaba, fleet_plan(adopted()))
    assert f"got: {CLUSTER_ID}" in str(caught.value)


def test_an_autoscaled_pool_is_given_bounds_and_no_number(alibaba: Recorder) -> None:
    declare(alibaba, fleet_plan(a10()))
    inputs = gpu_pool(alibaba).inputs
    assert inputs["scalingConfig"] == {"enable": True, "minSize": 1, "maxSize": 2, "type": "gpu"}
    assert "desiredSize" not in inputs


def test_a_pool_of_a_fixed_size_is_given_its_number(alibaba: Recorder) -> None:
    fleet = a10()
    pool(fleet)["nodes"] = {"min": 2, "max": 2}
    declare(alibaba, fleet_plan(fleet))
    inputs = gpu_pool(alibaba).inputs
    assert inputs["desiredSize"] == "2"
    assert "scalingConfig" not in inputs


def test_ack_s_own_device_plugin_is_kept_away_from_gpus_and_reported_which_driver_to_install(
    alibaba: Recorder,
) -> None:
    fleet = a10()
    pool(fleet)["driverVersion"] = "550.144.03"
    pool(fleet)["taints"] = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    declare(alibaba, fleet_plan(fleet))
    output = labels(gpu_pool(alibaba))
    assert output["ack.node.gpu.schedule"] == "disabled"
    assert output["ack.aliyun.com/nvidia-driver-version"] == "550.144.03"
    assert output["nvidia.com/gpu.present"] == "true"
    assert "ack.node.gpu.schedule" not in labels(alibaba.only(POOL, "asia-system"))
    assert gpu_pool(alibaba).inputs["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    ]


def test_spot_and_reservations_are_asked_for_by_the_pool(alibaba: Recorder) -> None:
    fleet = a10()
    pool(fleet)["spot"] = True
    cluster(fleet)["pools"]["reserved"] = {
        "machine": "ecs.gn7e-c16g1.4xlarge",
        "nodes": {"min": 1, "max": 1},
        "reservation": "eap-1a2b",
    }
    declare(alibaba, fleet_plan(fleet))
    assert gpu_pool(alibaba).inputs["spotStrategy"] == "SpotAsPriceGo"
    assert gpu_pool(alibaba).inputs["scalingConfig"]["type"] == "spot"
    reserved = alibaba.only(POOL, "asia-reserved").inputs
    assert reserved["spotStrategy"] == "NoSpot"
    assert reserved["privatePoolOptions"] == {
        "privatePoolOptionsMatchCriteria": "Target",
        "privatePoolOptionsId": "eap-1a2b",
    }


def test_changes_that_nodes_do_not_apply_replace_the_pool(alibaba: Recorder) -> None:
    names: set[str] = set()
    changes: list[dict[str, Any]] = [
        {},
        {"machine": "ecs.gn7i-c16g1.4xlarge"},
        {"image": "Ubuntu"},
        {"driverVersion": "550.144.03"},
        {"spot": True},
    ]
    for change in changes:
        fleet = a10()
        pool(fleet).update(change)
        alibaba.registrations.clear()
        declare(alibaba, fleet_plan(fleet))
        names.add(gpu_pool(alibaba).inputs["nodePoolName"])
        assert gpu_pool(alibaba).replace_on_changes == ("nodePoolName",)
    assert len(names) == len(changes)


def test_null_unsets_the_controller_s_affinity_and_the_plugin_stays_on_pools_left_to_it(
    alibaba: Recorder,
) -> None:
    declare(alibaba, fleet_plan(a10()))
    release = alibaba.only(RELEASE).inputs
    assert release["allowNullValues"] is True
    away = away_from(any_linux_node(), [{"ack.node.gpu.schedule": "disabled"}])
    assert release["values"]["controller"] == {"affinity": away}
    terms = release["values"]["kubeletPlugin"]["affinity"]["nodeAffinity"]
    assert terms == {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {
                    "matchExpressions": [
                        {"key": "ack.node.gpu.schedule", "operator": "In", "values": ["disabled"]}
                    ]
                }
            ]
        }
    }
    assert release["values"]["gpuResourcesEnabledOverride"] is True
    assert release["values"]["nvidiaDriverRoot"] == "/"


def test_pods_go_before_their_template_and_both_before_the_driver(alibaba: Recorder) -> None:
    declare(alibaba, make_plan(read_stack_file(EXAMPLE).settings))
    job = next(entry for entry in alibaba.registrations.values() if entry.type.endswith(":Job"))
    template = next(
        entry for entry in alibaba.registrations.values() if entry.type.endswith(":ResourceClaimTemplate")
    )
    release = alibaba.only(RELEASE)
    assert template.urn in job.dependencies
    assert release.urn in template.dependencies | job.dependencies


@pytest.mark.parametrize(("environment", "protected"), [("development", False), ("production", True)])
def test_a_production_cluster_is_protected_and_its_pools_may_change(
    environment: str, protected: bool, alibaba: Recorder
) -> None:
    declare(alibaba, replace(fleet_plan(a10()), environment=environment))
    assert bool(alibaba.only(COMPONENT).protect) is protected
    assert bool(alibaba.only(CLUSTER).protect) is protected
    assert gpu_pool(alibaba).protect is False


def test_objects_in_the_cluster_are_deleted_before_its_nodes(alibaba: Recorder) -> None:
    declare(alibaba, fleet_plan(a10()))
    assert {gpu_pool(alibaba).urn, alibaba.only(CLUSTER).urn} <= alibaba.only(KUBERNETES).dependencies


def test_every_resource_of_alibaba_cloud_names_the_cluster_s_provider(alibaba: Recorder) -> None:
    declare(alibaba, fleet_plan(a10()))
    provider = alibaba.only("pulumi:providers:alicloud")
    for entry in alibaba.registrations.values():
        if entry.type.startswith("alicloud:"):
            assert entry.provider == f"{provider.urn}::{provider.name}-id"
