import asyncio
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.clouds.aks.plan import quota_family as family
from dra_fleet.clouds.aks.simulation.account import SERVER_ID
from dra_fleet.clouds.aks.simulation.cloud import GET_CLUSTER, SimulatedAks
from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT, CloudRefusal, TypeNotCoveredError
from dra_fleet.rehearsal.simulator.store import Store
from tests.rehearsal.clouds.aks.aks_subscription import (
    A100,
    ADMIN_CREDENTIALS,
    CLUSTER,
    GROUP,
    POOL,
    USER_CREDENTIALS,
    Subscription,
    pool_inputs,
)
from tests.rows import rows


def test_nodes_have_the_names_labels_taints_and_drivers_aks_gives(aks: Subscription) -> None:
    made = aks.cluster()
    aks.pool(count=2, nodeLabels={"team": "ml"}, nodeTaints=["nvidia.com/gpu=present:NoSchedule"])
    assert aks.planes.versions == {"studio": "v1.36.2"}
    assert made["currentKubernetesVersion"] == "1.36.2"
    assert made["nodeResourceGroup"] == "MC_studio_studio_westeurope"
    assert made["provisioningState"] == "Succeeded"
    assert made["fqdn"].startswith("studio-")
    assert made["fqdn"].endswith(".hcp.westeurope.azmk8s.io")
    system, first, second = aks.planes.nodes["studio"]
    assert system.nvidia is None
    assert first.name.startswith("aks-gpu-")
    assert (first.name[-10:], second.name[-10:]) == ("vmss000000", "vmss000001")
    assert first.labels["accelerator"] == "nvidia"
    assert first.labels["agentpool"] == "gpu"
    assert first.labels["kubernetes.azure.com/mode"] == "user"
    assert first.labels["team"] == "ml"
    assert [(taint.key, taint.value, taint.effect) for taint in first.taints] == [
        ("nvidia.com/gpu", "present", "NoSchedule")
    ]
    assert first.nvidia is not None
    assert first.machine == A100


def test_a_pool_that_installs_no_driver_has_bare_hosts(aks: Subscription) -> None:
    aks.cluster()
    aks.pool(gpuProfile={"driver": "None"})
    assert aks.planes.nodes["studio"][1].nvidia is None


def test_a_gpu_instance_profile_partitions_every_gpu(aks: Subscription) -> None:
    aks.cluster()
    aks.pool(gpuInstanceProfile="MIG1g")
    host = aks.planes.nodes["studio"][1].nvidia
    assert host is not None
    assert host.mig == {"1g.10gb": 7}


def test_a_spot_pool_gets_its_label_and_taint(aks: Subscription) -> None:
    aks.cluster()
    aks.pool(scaleSetPriority="Spot")
    node = aks.planes.nodes["studio"][1]
    assert node.labels["kubernetes.azure.com/scalesetpriority"] == "spot"
    assert node.taints[0].key == "kubernetes.azure.com/scalesetpriority"


def test_a_scaled_and_then_deleted_pool_takes_its_nodes_away(aks: Subscription) -> None:
    aks.cluster()
    pool = aks.pool(count=3)
    there = aks.resource(POOL, "gpu", pool["id"])
    asyncio.run(aks.cloud.update(there, pool_inputs(count=3), pool_inputs(count=1), preview=False))
    assert len(aks.planes.nodes["studio"]) == 2
    asyncio.run(aks.cloud.delete(there))
    assert len(aks.planes.nodes["studio"]) == 1
    assert asyncio.run(aks.cloud.read(there)) is None


def test_a_deleted_cluster_stops_its_control_plane_and_forgets_its_pools(aks: Subscription) -> None:
    made = aks.cluster()
    pool = aks.pool()
    asyncio.run(aks.cloud.delete(aks.resource(CLUSTER, "studio", made["id"])))
    assert not aks.planes.versions
    assert asyncio.run(aks.cloud.read(aks.resource(POOL, "gpu", pool["id"]))) is None


def test_created_resources_exist_in_the_next_simulator(aks: Subscription, tmp_path: Path) -> None:
    made = aks.cluster()
    with Store(tmp_path / "simulator.db") as store:
        again = SimulatedAks(store, aks.planes)
        found = asyncio.run(again.read(aks.resource(CLUSTER, "studio", made["id"])))
    assert found is not None
    assert found.state["fqdn"] == made["fqdn"]


@rows(__file__, "test_a_pool_aks_would_not_take_is_refused", "more message")
def test_a_pool_aks_would_not_take_is_refused(aks: Subscription, more: dict[str, Any], message: str) -> None:
    aks.cluster()
    with pytest.raises(CloudRefusal) as refused:
        aks.pool(**more)
    assert message in str(refused.value)


def test_a_quota_is_counted_in_cpus_of_the_family(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {"quotas": {"standardNCADSA100v4Family": 24}}})
    aks.cluster()
    with pytest.raises(CloudRefusal) as refused:
        aks.pool(count=2)
    assert str(refused.value) == (
        'Code="ErrCode_InsufficientVCPUQuota" Message="Insufficient vcpu quota requested 48, remaining 24 '
        "for family standardNCADSA100v4Family for region westeurope. "
        'Ask for more quota, or for fewer machines"'
    )
    aks.pool(count=1)


def test_a_size_out_of_stock_is_refused(aks: Subscription) -> None:
    aks.cloud.configure({"limits": {"stockOuts": [A100]}})
    aks.cluster()
    with pytest.raises(CloudRefusal, match='Code="AllocationFailed"'):
        aks.pool()


def test_a_version_aks_does_not_offer_is_refused(aks: Subscription) -> None:
    with pytest.raises(CloudRefusal) as refused:
        aks.cluster(kubernetesVersion="1.33")
    assert "Managed cluster studio is on version 1.33, which is not supported" in str(refused.value)


def test_a_pool_without_its_cluster_is_refused(aks: Subscription) -> None:
    with pytest.raises(CloudRefusal, match='Code="ParentResourceNotFound"'):
        aks.pool()


def test_a_cluster_without_its_group_is_refused(aks: Subscription) -> None:
    inputs = {"resourceGroupName": "nope", "resourceName": "x", "dnsPrefix": "x"}
    with pytest.raises(CloudRefusal, match="Resource group 'nope' could not be found"):
        aks.make(CLUSTER, "x", inputs)


def test_the_same_declaration_may_create_again_another_may_not(aks: Subscription) -> None:
    made = aks.cluster()
    assert aks.cluster()["id"] == made["id"]
    with pytest.raises(CloudRefusal, match="cannot create already existing resource"):
        aks.make(GROUP, "other", {"resourceGroupName": "studio"})


def test_the_users_kubeconfig_in_exec_form_holds_no_secret(aks: Subscription) -> None:
    aks.cluster(aadProfile={"managed": True}, disableLocalAccounts=True)
    value = aks.invoke(USER_CREDENTIALS, format="exec")["kubeconfigs"][0]
    assert value["name"] == "clusterUser"
    with pytest.raises(CloudRefusal, match="set to disable local accounts"):
        aks.invoke(ADMIN_CREDENTIALS)
    with pytest.raises(CloudRefusal, match='ask for format "exec"'):
        aks.invoke(USER_CREDENTIALS)


def test_a_cluster_reports_how_many_nodes_each_of_its_pools_has(aks: Subscription) -> None:
    aks.cluster()
    aks.pool(count=2)
    found = aks.invoke(GET_CLUSTER)["agentPoolProfiles"]
    assert {pool["name"]: pool["count"] for pool in found} == {"system": 1, "gpu": 2}


def test_a_token_is_only_for_the_server_application_of_aks(aks: Subscription) -> None:
    assert aks.cloud.credential({"serverId": SERVER_ID})["token"]
    with pytest.raises(CloudRefusal, match="AADSTS500011"):
        aks.cloud.credential({"serverId": "other"})


def test_a_type_that_is_not_covered_is_named(aks: Subscription) -> None:
    with pytest.raises(TypeNotCoveredError) as refused:
        aks.cloud.check(aks.resource("azure-native:sql:Server", "x"), {}, {}, "")
    assert "has no resource type azure-native:sql:Server; it has: azure-native" in str(refused.value)


@pytest.mark.parametrize(
    ("inputs", "path", "reason"),
    [
        ({"agentPoolName": "toolongforapool"}, "agentPoolName", "1 to 12 lower-case letters and digits"),
        ({"gpuProfile": {"driver": "Maybe"}}, "gpuProfile.driver", "'Maybe' is none of Install, None"),
        ({"vmsize": "x"}, "vmsize", "'vmsize' is not a property of AgentPool; it has: "),
        ({"count": "two"}, "count", "'two' must be a whole number"),
        ({"nodeTaints": "x"}, "nodeTaints", "'x' must be a list"),
    ],
)
def test_inputs_are_checked_against_the_sdk(
    aks: Subscription, inputs: dict[str, Any], path: str, reason: str
) -> None:
    checked = aks.cloud.check(aks.resource(POOL, "gpu"), {}, pool_inputs(**inputs), "")
    assert [failure.path for failure in checked.failures] == [path]
    assert reason in checked.failures[0].reason


def test_unknown_values_are_not_checked(aks: Subscription) -> None:
    inputs = pool_inputs(resourceName=UNKNOWN_TEXT, count=UNKNOWN_TEXT, gpuProfile=UNKNOWN_TEXT)
    assert not aks.cloud.check(aks.resource(POOL, "gpu"), {}, inputs, "").failures


@pytest.mark.parametrize(
    ("key", "value", "replaces"),
    [
        ("vmSize", "Standard_NC48ads_A100_v4", True),
        ("gpuInstanceProfile", "MIG2g", True),
        ("gpuProfile", {"driver": "None"}, True),
        ("count", 2, False),
        ("nodeLabels", {"a": "b"}, False),
        ("nodeTaints", ["a=b:NoSchedule"], False),
    ],
)
def test_only_immutable_fields_replace(aks: Subscription, key: str, value: Any, replaces: bool) -> None:
    change = aks.cloud.diff(aks.resource(POOL, "gpu"), pool_inputs(), pool_inputs(**{key: value}))
    assert change.changed
    assert bool(change.replacing) is replaces


def test_a_made_name_stays_the_same(aks: Subscription) -> None:
    resource = aks.resource(GROUP, "studio")
    first = aks.cloud.check(resource, {}, {}, "1a2b3c4d").inputs
    assert first == {"resourceGroupName": "studio1a2b3c4d", "location": "westeurope"}
    assert aks.cloud.check(resource, first, {}, "ffffffff").inputs == first


def test_families_are_named_as_quotas_are() -> None:
    assert family("Standard_NV6ads_A10_v5") == "standardNVADSA10v5Family"
    assert family("Standard_D4ds_v5") == "standardDDSv5Family"
