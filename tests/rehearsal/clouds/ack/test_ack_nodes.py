from typing import Any

import pytest

from dra_fleet.rehearsal.clouds.cloud import CloudRefusal
from dra_fleet.rehearsal.clouds.neighbours import neighbours
from tests.rehearsal.clouds.ack.ack_region import A10, ADDON, DISABLED, POOL, REGION, Region, pool_inputs

PLUGIN = "ack-nvidia-device-plugin"
SCHEDULING = "ack.node.gpu.schedule"


def driver(version: str) -> dict[str, str]:
    return {"key": "ack.aliyun.com/nvidia-driver-version", "value": version}


def change(ack: Region, made: dict[str, Any], **more: Any) -> None:
    ack.change(POOL, made, "gpu", {"clusterId": ack.cluster_id, **pool_inputs(**more)})


def test_nodes_have_the_labels_taints_and_driver_of_ack(ack: Region) -> None:
    cluster = ack.cluster()
    taint = {"key": "nvidia.com/gpu", "value": "present"}
    made = ack.pool(labels=[DISABLED, {"key": "team", "value": "ml"}], taints=[taint], desiredSize="2")
    first, second = ack.nodes
    assert first.name.startswith(f"{REGION}.10.")
    assert (first.provider_id or "").startswith(f"{REGION}.i-bp1")
    assert first.kubelet == "v1.36.2-aliyun.1"
    assert first.labels == {
        "ack.aliyun.com": cluster["id"],
        "ack.node.gpu.schedule": "disabled",
        "alibabacloud.com/nodepool-id": made["nodePoolId"],
        "aliyun.accelerator/nvidia_count": "1",
        "aliyun.accelerator/nvidia_name": "NVIDIA-A10",
        "kubernetes.io/arch": "amd64",
        "node.kubernetes.io/instance-type": A10,
        "team": "ml",
        "topology.diskplugin.csi.alibabacloud.com/zone": f"{REGION}a",
        "topology.kubernetes.io/region": REGION,
        "topology.kubernetes.io/zone": f"{REGION}a",
    }
    assert second.labels["topology.kubernetes.io/zone"] == f"{REGION}b"
    assert [(one.key, one.value, one.effect) for one in first.taints] == [
        ("nvidia.com/gpu", "present", "NoSchedule")
    ]
    assert first.nvidia is not None
    assert (first.nvidia.driver_root, first.nvidia.runtime) == ("/", "nvidia")


@pytest.mark.parametrize(
    ("labels", "advertised", "scheduling"),
    [
        ([], {"nvidia.com/gpu": 1}, "default"),
        ([DISABLED], {}, "disabled"),
        ([{"key": SCHEDULING, "value": "cgpu"}], {}, "cgpu"),
    ],
)
def test_ack_s_own_plugin_advertises_gpus_unless_the_pool_s_label_says_otherwise(
    labels: list[dict[str, str]], advertised: dict[str, int], scheduling: str, ack: Region
) -> None:
    ack.cluster()
    ack.pool(labels=labels)
    (node,) = ack.nodes
    assert (node.advertised, node.labels[SCHEDULING]) == (advertised, scheduling)


def test_a_cluster_without_that_plugin_advertises_none(ack: Region) -> None:
    ack.cluster(addons=[{"name": "terway-eniip"}, {"name": PLUGIN, "disabled": True}])
    ack.pool(labels=[])
    assert ack.nodes[0].advertised == {}


@pytest.mark.parametrize(
    ("has", "installed"), [((), "570.133.20"), (("570.133.20",), "570.133.20"), (("1.1",), "550.144.03")]
)
def test_a_driver_version_that_ack_has_not_is_silently_the_default(
    has: tuple[str, ...], installed: str, ack: Region
) -> None:
    ack.limit(drivers=has)
    ack.cluster()
    ack.pool(labels=[DISABLED, driver("570.133.20")])
    (node,) = ack.nodes
    assert node.nvidia is not None
    assert node.nvidia.driver_version == installed


def test_new_labels_and_drivers_reach_only_nodes_that_join_later(ack: Region) -> None:
    ack.cluster()
    made = ack.pool(desiredSize="1")
    change(ack, made, desiredSize="2", labels=[DISABLED, driver("570.133.20")])
    assert [node.nvidia.driver_version for node in ack.nodes if node.nvidia] == ["550.144.03", "570.133.20"]
    assert ["ack.aliyun.com/nvidia-driver-version" in node.labels for node in ack.nodes] == [False, True]


def test_labels_of_nodes_that_are_there_change_where_the_pool_says_so_but_not_their_driver(
    ack: Region,
) -> None:
    ack.cluster()
    made = ack.pool()
    change(ack, made, labels=[driver("570.133.20")], updateNodes=True)
    (node,) = ack.nodes
    assert node.labels[SCHEDULING] == "default"
    assert node.nvidia is not None
    assert node.nvidia.driver_version == "550.144.03"


def test_a_pool_that_scales_begins_with_its_fewest_nodes_and_marks_them(ack: Region) -> None:
    ack.cluster()
    ack.pool(desiredSize=None, scalingConfig={"enable": True, "minSize": 2, "maxSize": 5})
    assert [node.labels["k8s.aliyun.com"] for node in ack.nodes] == ["true", "true"]


def test_a_machine_without_gpus_has_no_driver_and_no_label_of_them(ack: Region) -> None:
    ack.cluster()
    ack.pool(instanceTypes=["ecs.g7.xlarge"], labels=[])
    (node,) = ack.nodes
    assert (node.cpu, node.memory, node.nvidia, node.advertised) == ("4", "16Gi", None, {})
    assert SCHEDULING not in node.labels


def test_a_machine_that_is_offered_abroad_alone_is_not_known_in_mainland_china(ack: Region) -> None:
    ack.config = {"region": "cn-beijing"}  # pyright: ignore[reportAttributeAccessIssue] - of this test alone
    ack.cluster()
    with pytest.raises(CloudRefusal, match=r"ecs\.gn8is\.2xlarge is not known in cn-beijing; it is offered"):
        ack.pool(instanceTypes=["ecs.gn8is.2xlarge"])


@pytest.mark.parametrize("kind", sorted(neighbours("ack").keys() - {ADDON}))
def test_a_neighbour_is_there_at_once_with_an_id_and_what_it_reports(kind: str, ack: Region) -> None:
    facts = neighbours("ack")[kind]
    made = ack.make(kind, "it", dict.fromkeys(facts.required, "given"))
    assert made["id"]
    assert facts.outputs.keys() <= made.keys()
    assert facts.name is None or made[facts.name] == "it-1a2b3c4"


def test_one_that_lacks_what_it_needs_is_refused_with_one_sentence(ack: Region) -> None:
    assert ack.faults("alicloud:vpc/natGateway:NatGateway", {}) == {
        "vpcId": "missing required property 'vpcId'"
    }


def test_a_gateway_s_table_of_addresses_is_what_an_entry_names(ack: Region) -> None:
    gateway = ack.make("alicloud:vpc/natGateway:NatGateway", "out", {"vpcId": "vpc-1"})
    inputs = {"snatTableId": gateway["snatTableIds"], "snatIp": "198.51.100.10"}
    entry = ack.make("alicloud:vpc/snatEntry:SnatEntry", "out", inputs)
    assert entry["id"].startswith(f"{gateway['snatTableIds']}:snat-")
