import asyncio
from typing import Any

import pytest

from dra_fleet.clouds.ack.simulation import GET_CREDENTIAL
from dra_fleet.clouds.ack.simulation.cloud import GET_CLUSTERS, GET_POOLS
from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT, CloudRefusal, TypeNotCoveredError
from tests.rehearsal.clouds.ack.ack_region import (
    ADDON,
    CLUSTER,
    NETWORK,
    POOL,
    VSWITCH,
    Region,
    cluster_inputs,
    pool_inputs,
)
from tests.rows import rows

SCALING = {"enable": True, "minSize": 1, "maxSize": 3, "type": "gpu"}
PRIVATE = {"privatePoolOptionsMatchCriteria": "Target"}
RESERVED = {**PRIVATE, "privatePoolOptionsId": "crp-1"}


def test_a_cluster_reports_its_addresses_and_no_secret(ack: Region) -> None:
    made = ack.cluster(slbInternetEnabled=False, enableRrsa=True)
    assert ack.planes.versions == {"train": "v1.36.2-aliyun.1"}
    (address,) = made["connections"]
    assert address["apiServerIntranet"] == "https://127.0.0.1:1/train"
    assert address["apiServerInternet"] == ""
    assert made["certificateAuthorities"] == []
    assert made["rrsaMetadata"]["ramOidcProviderName"] == f"ack-rrsa-{made['id']}"
    assert len(made["id"]) == 33


def test_a_cluster_that_is_not_reported_to_skip_it_keeps_its_client_s_key_in_the_state(ack: Region) -> None:
    (authority,) = ack.cluster(skipSetCertificateAuthority=False)["certificateAuthorities"]
    assert authority == {"clusterCert": "Y2E=", "clientCert": "Y2VydA==", "clientKey": "a2V5"}


@rows(__file__, "test_ack_refuses_a_cluster", "changes output")
def test_ack_refuses_a_cluster(changes: dict[str, Any], output: str, ack: Region) -> None:
    with pytest.raises(CloudRefusal) as refused:
        ack.cluster(**changes)
    assert output in str(refused.value)
    assert str(refused.value).startswith("SDKError: StatusCode: 4")


@pytest.mark.parametrize(
    ("before", "after", "output"),
    [
        ("1.36.2-aliyun.1", "1.36.1-aliyun.1", "cannot be downgraded"),
        ("1.34.1-aliyun.1", "1.36.1-aliyun.1", "go one minor at a time"),
    ],
)
def test_a_cluster_is_upgraded_one_minor_at_a_time_and_never_downgraded(
    before: str, after: str, output: str, ack: Region
) -> None:
    made = ack.cluster(version=before)
    with pytest.raises(CloudRefusal, match=output):
        ack.change(CLUSTER, made, "train", cluster_inputs(version=after))


@pytest.mark.parametrize(("alone", "kubelet"), [(False, "v1.36.1-aliyun.1"), (True, "v1.35.7-aliyun.1")])
def test_nodes_follow_an_upgrade_unless_only_the_control_plane_is_upgraded(
    alone: bool, kubelet: str, ack: Region
) -> None:
    made = ack.cluster(version="1.35.7-aliyun.1")
    ack.pool()
    after = cluster_inputs(version="1.36.1-aliyun.1", upgradePolicy={"controlPlaneOnly": alone})
    assert ack.change(CLUSTER, made, "train", after)["version"] == "1.36.1-aliyun.1"
    assert ack.planes.versions == {"train": "v1.36.1-aliyun.1"}
    assert [node.kubelet for node in ack.nodes] == [kubelet]


def test_rrsa_stays_on_once_it_is(ack: Region) -> None:
    made = ack.cluster(enableRrsa=True)
    with pytest.raises(CloudRefusal, match="enable_rrsa cannot be turned off"):
        ack.change(CLUSTER, made, "train", cluster_inputs(enableRrsa=False))


def test_a_protected_cluster_is_not_deleted(ack: Region) -> None:
    made = ack.cluster(deletionProtection=True)
    with pytest.raises(CloudRefusal, match="cluster train is protected from deletion"):
        ack.delete(CLUSTER, made)


@pytest.mark.parametrize(
    ("changes", "output"),
    [
        ({"instanceTypes": ["ecs.gn7i-c8g1.9xlarge"]}, "InvalidResourceType.NotSupported"),
        ({"vswitchIds": ["vsw_a"]}, "vSwitch vsw_a does not exist"),
        ({"desiredSize": "1", "scalingConfig": SCALING}, "desired_size cannot be set while auto_scaling"),
        (
            {"desiredSize": None, "scalingConfig": {**SCALING, "minSize": 4}},
            "min_instances 4 and max_instances 3 must be 0 to max_instances",
        ),
        ({"imageType": "AliyunLinux3Arm64"}, "image type AliyunLinux3Arm64 is for arm64"),
        ({"privatePoolOptions": PRIVATE}, "match criteria Target needs private_pool_options.id"),
        (
            {"privatePoolOptions": RESERVED, "spotStrategy": "SpotAsPriceGo"},
            "spot machines come from no private pool",
        ),
        ({"clusterId": "c0"}, "cluster not found: c0"),
    ],
)
def test_ack_refuses_a_pool(changes: dict[str, Any], output: str, ack: Region) -> None:
    ack.cluster()
    with pytest.raises(CloudRefusal) as refused:
        ack.pool(**changes)
    assert output in str(refused.value)


def test_two_pools_of_one_cluster_have_different_names(ack: Region) -> None:
    cluster = ack.cluster()
    ack.pool()
    with pytest.raises(CloudRefusal, match="a node pool gpu is in cluster"):
        ack.make(POOL, "other", {"clusterId": cluster["id"], **pool_inputs()})


def test_a_vswitch_of_another_network_is_refused(ack: Region) -> None:
    networks = [ack.make(NETWORK, name, {"cidrBlock": "10.0.0.0/8"}) for name in ("one", "two")]
    one, two = (
        ack.make(VSWITCH, f"in-{index}", {"vpcId": network["id"], "cidrBlock": "10.1.0.0/16", "zoneId": "a"})
        for index, network in enumerate(networks)
    )
    made = ack.cluster(vswitchIds=[one["id"]], podVswitchIds=[one["id"]])
    assert made["vpcId"] == networks[0]["id"]
    with pytest.raises(CloudRefusal, match=f"is in VPC {networks[1]['id']}, not in the cluster's"):
        ack.pool(vswitchIds=[two["id"]])


def test_quota_and_stock_run_out_in_ecs_s_words(ack: Region) -> None:
    ack.cluster()
    ack.limit(quotas={"ecs.gn7i": 15})
    with pytest.raises(CloudRefusal, match=r"QuotaExceed.ElasticQuota .* needs 16 vCPUs of ecs.gn7i"):
        ack.pool(desiredSize="2")
    ack.limit(stockOuts=["ecs.gn7i-c8g1.2xlarge"])
    with pytest.raises(CloudRefusal, match=r"OperationDenied.NoStock .* is sold out in the specified zone"):
        ack.pool()


def test_a_pool_with_nodes_is_deleted_only_by_force_and_a_cluster_waits_for_that(ack: Region) -> None:
    cluster = ack.cluster()
    kept = ack.pool(nodePoolName="kept", forceDelete=False)
    with pytest.raises(CloudRefusal, match="node pool kept has nodes and cannot be deleted"):
        ack.delete(POOL, kept)
    ack.change(POOL, kept, "kept", {"clusterId": cluster["id"], **pool_inputs(nodePoolName="kept")})
    with pytest.raises(CloudRefusal, match=r"cluster has node pools \(kept\)"):
        ack.delete(CLUSTER, cluster)
    ack.delete(POOL, kept)
    assert ack.nodes == []
    ack.delete(CLUSTER, cluster)
    assert ack.planes.versions == {}


def test_changes_that_need_a_replacement_replace(ack: Region) -> None:
    before, after = pool_inputs(), pool_inputs(labels=[], loginAsNonRoot=True)
    change = ack.cloud.diff(ack.resource(POOL, "gpu"), before, after)
    assert (change.changed, change.replacing) == (["labels", "loginAsNonRoot"], ["loginAsNonRoot"])
    change = ack.cloud.diff(
        ack.resource(CLUSTER, "train"),
        cluster_inputs(),
        cluster_inputs(proxyMode="ipvs", deletionProtection=True),
    )
    assert change.replacing == ["proxyMode"]


@pytest.mark.parametrize(
    ("kind", "inputs", "path", "output"),
    [
        (POOL, {"shape": "round"}, "shape", "'shape' is not an input here"),
        (
            POOL,
            {"scalingConfig": {"most": 3}},
            "scalingConfig.most",
            "'most' is not an input here; there are:",
        ),
        (POOL, {"taints": [{"effect": "No"}]}, "taints[0].effect", "expected taints[0].effect to be one of"),
        (POOL, {"desiredSize": 2}, "desiredSize", "2 must be a text"),
        (POOL, {"nodeCount": 1}, "desiredSize", '"desiredSize": conflicts with nodeCount'),
        (POOL, {"nodePoolName": "-gpu"}, "nodePoolName", "'-gpu' must have 1 to 63"),
        (POOL, {"instanceTypes": None}, "instanceTypes", "missing required property 'instanceTypes'"),
        (CLUSTER, {"clusterSpec": "ack.huge"}, "clusterSpec", "expected clusterSpec to be one of"),
        (CLUSTER, {"slbInternetEnabled": "no"}, "slbInternetEnabled", "'no' must be true or false"),
        (CLUSTER, {"vswitchIds": "vsw-a"}, "vswitchIds", "'vsw-a' must be a list of texts"),
    ],
)
def test_inputs_are_checked_against_the_provider_s(
    kind: str, inputs: dict[str, Any], path: str, output: str, ack: Region
) -> None:
    whole = cluster_inputs(**inputs) if kind == CLUSTER else {"clusterId": "c1", **pool_inputs(**inputs)}
    found = ack.faults(kind, whole)
    assert list(found) == [path]
    assert found[path].startswith(output)


def test_unknown_values_are_no_fault(ack: Region) -> None:
    unknown = pool_inputs(clusterId=UNKNOWN_TEXT, vswitchIds=[UNKNOWN_TEXT], desiredSize=UNKNOWN_TEXT)
    assert ack.faults(POOL, unknown) == {}


def test_functions_find_clusters_their_pools_and_how_to_log_in(ack: Region) -> None:
    made = ack.cluster()
    ack.pool()
    assert ack.invoke(GET_CLUSTERS, ids=["c0"])["clusters"] == []
    assert ack.invoke(GET_CLUSTERS, nameRegex="^tr")["ids"] == [made["id"]]
    (pool,) = ack.invoke(GET_POOLS, clusterId=made["id"])["nodepools"]
    assert pool["nodePoolName"] == "gpu"
    login = ack.invoke(GET_CREDENTIAL, clusterId=made["id"])
    assert login["certificateAuthorities"][0]["clusterCert"] == "Y2E="
    with pytest.raises(CloudRefusal, match="ErrorClusterNotFound"):
        ack.invoke(GET_CREDENTIAL, clusterId="c0")
    with pytest.raises(TypeNotCoveredError, match="has no function alicloud:ram/getUsers:getUsers"):
        ack.invoke("alicloud:ram/getUsers:getUsers")


def test_an_add_on_is_of_a_cluster_that_is_there(ack: Region) -> None:
    cluster = ack.cluster()
    made = ack.make(ADDON, "logs", {"clusterId": cluster["id"], "name": "logtail-ds"})
    assert made["id"] == f"{cluster['id']}:logtail-ds"
    with pytest.raises(CloudRefusal, match="cluster not found: c0"):
        ack.make(ADDON, "logs", {"clusterId": "c0", "name": "logtail-ds"})


def test_a_token_is_for_a_cluster(ack: Region) -> None:
    assert ack.cloud.credential({"clusterId": "c1"})["token"].startswith("k8s-ack-v2.")
    with pytest.raises(CloudRefusal, match='"cluster-id" not set'):
        ack.cloud.credential({})


def test_a_type_that_is_not_simulated_is_named(ack: Region) -> None:
    with pytest.raises(TypeNotCoveredError, match="the simulated Alibaba Cloud has no resource type"):
        ack.check("alicloud:oss/bucket:Bucket", {})


def test_a_pool_may_be_previewed_before_its_cluster_is_there(ack: Region) -> None:
    inputs = pool_inputs(clusterId=UNKNOWN_TEXT)
    found = asyncio.run(ack.cloud.create(ack.resource(POOL, "gpu"), inputs, preview=True))
    assert "clusterId" not in found.state
    assert found.state["nodePoolName"] == "gpu"
