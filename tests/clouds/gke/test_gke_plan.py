import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_fleet.clouds.gke import CLOUD
from dra_fleet.clouds.gke.plan import installer_of, node_pool_name, pool_name, region_of
from dra_fleet.clouds.gke.resources import chips_of
from dra_fleet.drivers.common.placement import any_linux_node, away_from
from dra_fleet.kubernetes.scheduling.taints import Taint
from dra_fleet.model.plan import ClusterPlan
from dra_fleet.model.specs import POOL
from dra_fleet.proof.prove import prove
from dra_fleet.proof.supply.prediction import predict
from tests.clouds.gke.gke_fleets import cluster, l4, part, pool, tpu
from tests.fleet.plan.plan_helpers import planned
from tests.fleet.plan.tables import Case, table


def render(fleet: dict[str, Any]) -> ClusterPlan:
    return planned(fleet).clusters[0]


def physical(fleet: dict[str, Any]) -> str:
    cluster = render(fleet)
    [only] = cluster.pools
    return pool_name(only, CLOUD.own(cluster.settings).pools[only.name])


def installer(fleet: dict[str, Any]) -> str | None:
    cluster = render(fleet)
    pool = next(item for item in cluster.pools if item.name == "gpu")
    return installer_of(pool, CLOUD.own(cluster.settings).pools["gpu"])


def test_gpu_nodes_have_the_three_labels_and_the_taint_that_gke_adds() -> None:
    only = render(l4()).pools[0]
    assert only.labels == {
        "dra-fleet/pool": "gpu",
        "gke-no-default-nvidia-gpu-device-plugin": "true",
        "nvidia.com/gpu.present": "true",
        "cloud.google.com/gke-nvidia-gpu-dra-driver": "true",
    }
    assert only.taints == (Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"),)


def test_tpu_nodes_have_the_label_that_turns_the_plugin_off() -> None:
    only = render(tpu()).pools[0]
    assert only.labels == {"dra-fleet/pool": "gpu", "cloud.google.com/gke-tpu-dra-driver": "true"}
    assert only.taints == (Taint(key="google.com/tpu", value="present", effect="NoSchedule"),)
    assert only.driver_root is None


def test_the_nodes_of_a_slice_are_known_by_the_topology_of_the_whole() -> None:
    fleet = tpu()
    pool(fleet).update(placement={"topology": "4x4"}, nodes={"min": 4, "max": 4})
    chips = chips_of(render(fleet).pools[0].machine)
    assert chips is not None
    assert (chips.topology, chips.count) == ("4x4", 4)


def roce() -> dict[str, Any]:
    """Each pod gets a GPU and a network card below one PCIe root."""
    fleet = l4()
    pool(fleet).update(machine="a3-ultragpu-8g", dranet=True)
    fleet["claims"] = {
        "near": {
            "requests": {"gpu": {"class": "gpu.nvidia.com"}, "nic": {"class": "mrdma.google.com"}},
            "constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}],
        }
    }
    fleet["workloads"] = {"train": {"cluster": "render", "claim": "near", "copies": 8}}
    return fleet


def test_claims_may_ask_for_the_network_cards_of_gke_s_own_dranet() -> None:
    [only] = prove(planned(roce())).workloads
    assert only.word == "unknown"
    assert "resource.kubernetes.io/pcieRoot of gpu.nvidia.com/node/gpu-0 is not known" in only.reason


def holding(machine: str, cards: dict[str, Any], **changes: Any) -> tuple[str, str]:
    """The proof's word on a pod that holds network cards of a machine, and why."""
    fleet = roce()
    pool(fleet).update(machine=machine, **changes)
    fleet["claims"]["near"] = {"requests": {"cards": cards}}
    fleet["workloads"]["train"]["copies"] = 1
    [only] = prove(planned(fleet)).workloads
    return only.word, only.reason


@pytest.mark.parametrize(
    ("machine", "name", "cards"),
    [
        ("a3-ultragpu-8g", "mrdma", 8),
        ("a3-ultragpu-8g", "netdev", 1),
        ("a4-highgpu-8g", "mrdma", 8),
        ("a4x-highgpu-4g", "mrdma", 4),
        ("a3-megagpu-8g", "netdev", 8),
        ("ct6e-standard-4t", "netdev", 2),
    ],
)
def test_the_cards_of_each_machine_are_those_that_gke_expects(machine: str, name: str, cards: int) -> None:
    requested = {"class": f"{name}.google.com", "count": cards}
    assert holding(machine, requested)[0] == "guaranteed"
    assert holding(machine, {**requested, "count": cards + 1})[0] == "never"


def test_cards_that_no_source_reports_are_unknown() -> None:
    word, reason = holding("a4x-maxgpu-4g-metal", {"class": "mrdma.google.com", "count": 8})
    assert word == "unknown"
    assert "what driver dra.net publishes cannot be predicted" in reason


def test_pools_without_dranet_have_no_cards_beside_one_that_has() -> None:
    fleet = roce()
    fleet["clusters"]["render"]["pools"]["plain"] = {**pool(fleet), "dranet": False}
    groups = predict(planned(fleet).clusters[0])
    assert {group.pool: "dra.net" in group.shape.sizes for group in groups} == {"gpu": True, "plain": False}


@table(__file__, l4, roce)
def test_plan(case: Case) -> None:
    case.verify()


def test_a_driver_that_does_not_allocate_gpus_leaves_their_plugin_on() -> None:
    fleet = l4()
    cluster(fleet)["drivers"] = {"tpu": {"version": "0.1.0"}}
    assert render(fleet).pools[0].labels == {"dra-fleet/pool": "gpu"}


def test_a_pool_of_a_compute_class_carries_its_label_and_its_taint() -> None:
    fleet = l4()
    cluster(fleet)["computeClasses"] = {"any": {"priorities": ["gpu"]}}
    only = render(fleet).pools[0]
    assert only.labels["cloud.google.com/compute-class"] == "any"
    assert Taint(key="cloud.google.com/compute-class", value="any", effect="NoSchedule") in only.taints


def test_workloads_tolerate_what_gke_adds() -> None:
    fleet = tpu()
    tolerated = render(fleet).workloads[0].tolerations
    assert [(item.key, item.value) for item in tolerated] == [("google.com/tpu", "present")]


@pytest.mark.parametrize(
    ("change", "requested"),
    [
        ({}, "cos"),
        ({"machine": "g4-standard-6"}, "cos-vgpu"),
        ({"machine": "a4x-highgpu-4g"}, "cos-a4x"),
        ({"image": "UBUNTU_CONTAINERD"}, "ubuntu"),
        ({"gpuDriver": "external"}, None),
        ({"machine": "ct6e-standard-4t"}, None),
    ],
)
def test_the_installer_follows_from_machine_and_image(change: dict[str, Any], requested: str | None) -> None:
    fleet = l4()
    pool(fleet).update(change)
    assert installer(fleet) == requested


@pytest.mark.parametrize("version", ["0.5.0", "25.8.1"])
def test_driver_pods_are_not_critical_and_bear_every_taint(version: str) -> None:
    fleet = l4()
    cluster(fleet)["drivers"]["nvidia"] = {
        "version": version,
        "values": {"resources": {"computeDomains": {"enabled": True}}},
    }
    plan = render(fleet)
    values = plan.releases[0].values
    assert values["kubeletPlugin"] == {"priorityClassName": "", "tolerations": [{"operator": "Exists"}]}
    away = away_from(any_linux_node(), [{POOL: plan.pools[0].labels[POOL]}])
    assert values["controller"] == {"priorityClassName": "", "affinity": away}
    assert values["nvidiaDriverRoot"] == "/home/kubernetes/bin/nvidia"


def test_changes_that_need_a_new_pool_replace_the_pool() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"machine": "g2-standard-12"},
        {"image": "UBUNTU_CONTAINERD"},
        {"spot": True},
        {"flexStart": True, "autoRepair": False},
        {"maxRunDuration": "3600s"},
        {"reservation": {"consume": "ANY_RESERVATION"}},
        {"placement": {"compact": True}},
    ]
    names: set[str] = set()
    for change in changes:
        fleet = l4()
        pool(fleet).update(change)
        names.add(physical(fleet))
    assert len(names) == len(changes)


def test_changes_in_place_keep_the_pool() -> None:
    fleet = l4()
    pool(fleet).update(nodes={"min": 2, "max": 9}, labels={"a": "b"}, upgrade={"surge": 1})
    assert physical(fleet) == physical(l4())


@pytest.mark.slow
@given(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", fullmatch=True), st.text(max_size=20))
def test_every_pool_gets_a_name_that_gke_takes(name: str, identity: str) -> None:
    assert re.fullmatch(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])", node_pool_name(name, identity))


def test_long_names_that_begin_alike_stay_apart() -> None:
    long = "a" * 60
    assert node_pool_name(f"{long}1") != node_pool_name(f"{long}2")


@pytest.mark.parametrize("location", ["us-central1", "us-central1-a"])
def test_a_zone_and_its_region_have_one_region(location: str) -> None:
    assert region_of(location) == "us-central1"


def test_every_machine_with_gpus_has_a_name_in_google_s_words() -> None:
    machines = list(CLOUD.machines.values())
    assert len(machines) >= 44
    for machine in machines:
        assert (machine.accelerator is None) is (machine.gpus == 0)
        assert (chips_of(machine) is None) is (machine.gpus > 0)


def test_parts_are_kept_apart_by_the_hypervisor() -> None:
    assert render(part()).pools[0].isolation.startswith("vGPU, 1/8 of a GPU")
