from collections.abc import Callable
from typing import Any

import pytest

from dra_fleet.clouds import eks
from dra_fleet.clouds.ack import plan as ack_plan
from dra_fleet.clouds.ack.settings import AckClusterSettings, AckPoolSettings
from dra_fleet.clouds.aks.plan import agent_pool_name
from dra_fleet.clouds.aks.settings import AksClusterSettings, AksPoolSettings
from dra_fleet.clouds.eks.plan import image_of, node_group_name
from dra_fleet.clouds.eks.settings import EksClusterSettings, EksPoolSettings
from dra_fleet.clouds.gke.plan import pool_name
from dra_fleet.clouds.gke.settings import GkeClusterSettings, GkePoolSettings
from dra_fleet.fleet.plan.advertisers import by_advertiser
from dra_fleet.model.plan import ClusterPlan
from dra_fleet.model.specs import ADVERTISER
from dra_fleet.proof.supply.prediction import predict
from tests.clouds.ack.ack_fleets import a10
from tests.clouds.aks.aks_fleets import mig, vgpu
from tests.clouds.eks.eks_fleets import h100
from tests.clouds.eks.eks_fleets import mig as eks_mig
from tests.clouds.gke.gke_fleets import l4, tpu
from tests.fleet.plan.plan_helpers import dev, planned
from tests.fleet.plan.tables import Case, table

Fleet = dict[str, Any]
KEPT_OFF = "nvidia.com/gpu.deploy.device-plugin"
TERMS = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")


def only(fleet: Fleet) -> Any:
    """The settings of the fleet's one cluster."""
    [cluster] = fleet["clusters"].values()
    return cluster


def both(fleet: Fleet, **more: Any) -> Fleet:
    """The fleet with a second pool like its first, which a device plugin advertises."""
    pools = only(fleet)["pools"]
    [(name, pool)] = pools.items()
    pools["old"] = {**pool, **more, "advertise": "device-plugin"}
    pools[name] = {**pool, "advertise": "dra"}
    return fleet


def cluster_of(fleet: Fleet) -> ClusterPlan:
    [cluster] = planned(fleet).clusters
    return cluster


def plugin_terms(cluster: ClusterPlan, section: str = "kubeletPlugin") -> list[Any]:
    """The node selector terms of the driver's plugin."""
    [release] = [item for item in cluster.releases if "dra-driver" in item.name]
    found: Any = release.values[section]
    for key in TERMS:
        found = found[key]
    return found


FLEETS: dict[str, Callable[[], Fleet]] = {
    "ack": lambda: both(a10()),
    "aks": lambda: both(vgpu()),
    "eks": lambda: both(h100(), image="BOTTLEROCKET_x86_64_NVIDIA"),
    "gke": lambda: both(l4(), gpuDriver="gke"),
    "gke tpu": lambda: both(tpu()),
}


@pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS)
def test_a_pool_of_a_device_plugin_publishes_nothing_and_its_neighbour_what_it_did(
    fleet: Callable[[], Fleet],
) -> None:
    cluster = cluster_of(fleet())
    devices = {group.pool: len(group.shape.devices) for group in predict(cluster)}
    assert devices.pop("old") == 0
    assert all(devices.values())
    labels = {pool.name: pool.labels.get(ADVERTISER) for pool in cluster.pools}
    assert labels.pop("old") == "device-plugin"
    assert set(labels.values()) == {"dra"}


@pytest.mark.parametrize("fleet", FLEETS.values(), ids=FLEETS)
def test_every_driver_s_plugin_is_kept_off_nodes_that_a_device_plugin_advertises(
    fleet: Callable[[], Fleet],
) -> None:
    away = {"key": ADVERTISER, "operator": "NotIn", "values": ["device-plugin"]}
    assert all(away in term["matchExpressions"] for term in plugin_terms(cluster_of(fleet())))


def test_ack_s_own_plugin_is_on_where_it_advertises_and_off_elsewhere() -> None:
    pools = {pool.name: pool.labels for pool in cluster_of(both(a10())).pools}
    assert pools["old"]["ack.node.gpu.schedule"] == "default"
    assert {labels["ack.node.gpu.schedule"] for name, labels in pools.items() if name != "old"} == {
        "disabled"
    }


def test_gke_s_plugin_is_on_where_the_labels_of_dra_are_not() -> None:
    labels = {pool.name: pool.labels for pool in cluster_of(both(l4(), gpuDriver="gke")).pools}
    plugin_off = "gke-no-default-nvidia-gpu-device-plugin"
    assert [name for name, item in labels.items() if plugin_off not in item] == ["old"]


def test_bottlerocket_s_plugin_is_left_on_for_its_pool_alone() -> None:
    fleet = h100()
    pools = only(fleet)["pools"]
    pools["gpu"]["image"] = "BOTTLEROCKET_x86_64_NVIDIA"
    cluster = cluster_of(both(fleet))
    images = {
        pool.name: image_of(pool.machine, eks.CLOUD.own(cluster.settings).pools[pool.name])
        for pool in cluster.pools
    }
    assert all(image is not None and image.plugin for image in images.values())
    assert {pool.name: pool.by_plugin for pool in cluster.pools} == {"gpu": False, "old": True}


def test_the_gpu_operator_s_plugin_is_on_and_a_label_keeps_it_off_the_pools_of_dra() -> None:
    fleet = both(vgpu())
    only(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    cluster = cluster_of(fleet)
    [operator] = [item for item in cluster.releases if item.name == "gpu-operator"]
    assert operator.values["devicePlugin"] == {"enabled": True}
    labels = {pool.name: pool.labels for pool in cluster.pools}
    assert {name: item.get(KEPT_OFF) for name, item in labels.items()} == {"gpu": "false", "old": None}
    # The operator would take the label back where nodes are said to have GPUs before it finds them.
    assert not any("nvidia.com/gpu.present" in item for item in labels.values())


def test_an_image_that_labels_gpus_keeps_all_of_the_operator_s_pods_off() -> None:
    fleet = both(h100())
    only(fleet)["gpuOperator"] = {"version": "v25.10.0"}
    labels = {pool.name: pool.labels for pool in cluster_of(fleet).pools}
    assert labels["gpu"]["nvidia.com/gpu.deploy.operands"] == "false"
    assert "nvidia.com/gpu.deploy.operands" not in labels["old"]


@table(__file__, h100, a10, vgpu, tpu, mig, eks_mig=eks_mig)
def test_plan(case: Case) -> None:
    case.verify()


def test_partitions_are_still_waited_for_beside_a_pool_of_a_device_plugin() -> None:
    fleet = mig()
    pools = only(fleet)["pools"]
    pools["old"] = {**pools["gpu"], "sharing": {"strategy": "exclusive"}, "advertise": "device-plugin"}
    pools["gpu"]["advertise"] = "dra"
    away = {"key": ADVERTISER, "operator": "NotIn", "values": ["device-plugin"]}
    assert [
        [item["key"] for item in term["matchExpressions"]] for term in plugin_terms(cluster_of(fleet))
    ] == [
        ["nvidia.com/gpu.present", "dra-fleet/pool", ADVERTISER],
        ["nvidia.com/gpu.present", "dra-fleet/pool", "nvidia.com/mig.config.state", ADVERTISER],
    ]
    assert all(away in term["matchExpressions"] for term in plugin_terms(cluster_of(fleet)))


def test_nodes_of_an_existing_cluster_are_kept_off_by_their_pool_s_own_labels() -> None:
    fleet = dev()
    pools = only(fleet)["pools"]
    pools["h100"]["advertise"] = "device-plugin"
    pools["a100"]["advertise"] = "dra"
    fleet["workloads"], fleet["claims"] = {}, {}
    cluster = cluster_of(fleet)
    terms = plugin_terms(cluster)
    away = {"key": "example.com/pool", "operator": "NotIn", "values": ["h100"]}
    assert terms
    assert all(away in term["matchExpressions"] for term in terms)
    assert {group.pool: bool(group.shape.devices) for group in predict(cluster)} == {
        "a100": True,
        "h100": False,
    }


@pytest.mark.parametrize("fleet", [a10, vgpu, h100, l4])
def test_another_advertiser_replaces_the_pool_and_saying_what_was_so_does_not(fleet: Any) -> None:
    def name(advertise: str | None) -> str:
        output = fleet()
        only(output)["pools"] = {key: dict(pool) for key, pool in only(output)["pools"].items()}
        for pool in only(output)["pools"].values():
            pool.update({} if advertise is None else {"advertise": advertise})
        cluster = cluster_of(output)
        plan = next(pool for pool in cluster.pools if pool.name in only(output)["pools"])
        pool = cluster.settings.pools[plan.name]
        match cluster.settings, pool:
            case AksClusterSettings(), AksPoolSettings():
                return agent_pool_name(plan, pool)
            case AckClusterSettings(), AckPoolSettings():
                return ack_plan.node_pool_name(plan, pool)
            case EksClusterSettings() as settings, EksPoolSettings():
                return node_group_name(plan, pool, settings)
            case GkeClusterSettings(), GkePoolSettings():
                return pool_name(plan, pool)
            case _:
                raise AssertionError(cluster.cloud)

    assert name(None) == name("dra")
    assert name("device-plugin") != name("dra")


def test_compute_domains_alone_leave_the_gpus_to_the_device_plugin() -> None:
    fleet = h100()
    only(fleet)["pools"]["gpu"] |= {"advertise": "compute-domain-only", "image": "BOTTLEROCKET_x86_64_NVIDIA"}
    cluster = cluster_of(fleet)
    [release] = cluster.releases
    assert release.values["gpuResourcesEnabledOverride"] is False
    assert release.values["resources"] == {"gpus": {"enabled": False}, "computeDomains": {"enabled": True}}
    assert release.values["controller"]["nodeSelector"] == {"dra-fleet/pool": "system"}
    [group] = predict(cluster)
    assert {device.driver for device in group.shape.devices} == {"compute-domain.nvidia.com"}


def test_a_cluster_with_existing_drivers_publishes_nothing_on_a_device_plugin_s_pool() -> None:
    fleet = a10()
    only(fleet)["drivers"] = {}
    only(fleet)["pools"]["gpu"] |= {"advertise": "device-plugin", "nodes": {"min": 0, "max": 2}}
    fleet["claims"], fleet["workloads"] = {}, {}
    [group] = predict(cluster_of(fleet))
    assert group.shape.devices == ()


def test_pools_are_distinguished_by_a_driver_whose_devices_no_plugin_knows() -> None:
    from dra_fleet import drivers  # noqa: PLC0415 - the registry of the process

    cards = drivers.named("dranet")
    assert cards is not None
    pools = cluster_of(both(h100(), image="BOTTLEROCKET_x86_64_NVIDIA")).pools
    assert by_advertiser(cards, pools) == (pools, ())
