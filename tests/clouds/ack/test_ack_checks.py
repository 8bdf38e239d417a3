from collections.abc import Callable
from typing import Any

import pytest

from dra_fleet import clouds
from dra_fleet.clouds.ack.account import exposure
from dra_fleet.clouds.ack.facts import ack_facts, is_mainland
from dra_fleet.fleet import parse
from tests.clouds.ack.ack_fleets import a10, adopted, cluster, pool, values
from tests.fleet.plan.plan_helpers import planned, refused

CLUSTER = "clusters.asia"
POOL = f"{CLUSTER}.pools.gpu"
AFFINITY = f"{CLUSTER}.drivers.nvidia.values.kubeletPlugin.affinity"
MAINLAND = {"region": "cn-hangzhou", "create": {"network": {"zones": ["cn-hangzhou-i"]}}}
ELSEWHERE = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "nvidia.com/gpu.present", "operator": "Exists"}]}
            ]
        }
    }
}


@pytest.mark.parametrize("fleet", [a10, adopted])
def test_the_fleets_that_are_broken_below_are_in_order(fleet: Callable[[], dict[str, Any]]) -> None:
    assert planned(fleet()).warnings == ()


@pytest.mark.parametrize("requested", ack_facts().own_scheduling.values)
def test_a_pool_is_not_advertised_or_shared_by_ack_too(requested: str) -> None:
    fleet = a10()
    pool(fleet)["labels"] = {"ack.node.gpu.schedule": requested}
    assert refused(fleet) == {
        f"{POOL}.labels.ack.node.gpu.schedule": "makes ACK advertise or share GPUs that the DRA driver "
        f"also publishes\n  got: {requested}\n  allowed: disabled\n"
        "  fix: remove ack.node.gpu.schedule from labels; the plan writes disabled"
    }


def test_a_way_of_scheduling_that_ack_does_not_know_is_refused() -> None:
    fleet = a10()
    pool(fleet)["labels"] = {"ack.node.gpu.schedule": "off"}
    assert refused(fleet) == {
        f"{POOL}.labels.ack.node.gpu.schedule": "is not a scheduling mode of ACK\n  got: off\n"
        "  allowed: disabled\n  fix: remove ack.node.gpu.schedule from labels; the plan writes disabled"
    }


def test_a_pool_may_say_itself_what_the_plan_writes() -> None:
    fleet = a10()
    pool(fleet)["labels"] = {"ack.node.gpu.schedule": "disabled"}
    assert planned(fleet).warnings == ()


def test_a_pool_with_claims_cannot_be_empty() -> None:
    fleet = a10()
    pool(fleet)["nodes"]["min"] = 0
    assert refused(fleet) == {
        f"{POOL}.nodes.min": "must be at least 1: ACK's autoscaler does not know which devices a new node "
        "would have\n  got: 0\n  allowed: 1 or more\n  fix: set nodes: {min: 1, …}"
    }


def test_a_cluster_in_mainland_china_has_to_mirror_the_images() -> None:
    fleet = a10()
    cluster(fleet).update(MAINLAND)
    (warning,) = planned(fleet).warnings
    assert warning == (
        "cluster asia: nodes in cn-hangzhou often do not reach the registry of driver nvidia's image; add "
        "registry: a mirror in the region, such as registry-vpc.cn-hangzhou.cr.aliyuncs.com/<namespace>"
    )


@pytest.mark.parametrize("given", ["registry", "values"])
def test_a_mirror_s_image_reaches_the_chart(given: str) -> None:
    fleet = a10()
    cluster(fleet).update(MAINLAND)
    mirror = "registry-vpc.cn-hangzhou.cr.aliyuncs.com/ml"
    if given == "registry":
        cluster(fleet)["registry"] = mirror
    else:
        values(fleet)["image"] = {"repository": f"{mirror}/nvidia-dra-driver-gpu"}
    plan = planned(fleet)
    assert plan.warnings == ()
    image = plan.clusters[0].releases[0].values["image"]
    assert image == {"repository": f"{mirror}/nvidia-dra-driver-gpu"}


def test_hong_kong_is_not_mainland_china() -> None:
    assert [is_mainland(region) for region in ("cn-hongkong", "cn-beijing", "eu-central-1")] == [
        False,
        True,
        False,
    ]


def test_a_version_is_of_the_cluster_s_minor() -> None:
    fleet = a10()
    cluster(fleet)["version"] = "1.35.7-aliyun.1"
    assert refused(fleet) == {
        f"{CLUSTER}.version": "is not a version of Kubernetes 1.36, which the cluster is declared to run\n"
        "  got: 1.35.7-aliyun.1\n  allowed: 1.36.1-aliyun.1, 1.36.2-aliyun.1\n"
        "  fix: change version or kubernetes, or remove version"
    }


def test_a_version_that_is_not_known_may_be_newer_than_the_facts() -> None:
    fleet = a10()
    cluster(fleet)["version"] = "1.36.9-aliyun.1"
    assert planned(fleet).warnings == (
        f"cluster asia: version 1.36.9-aliyun.1 was not known to be offered by ACK on {ack_facts().date}",
    )


def test_a_minor_that_ack_was_not_known_to_have_needs_its_version() -> None:
    fleet = a10()
    fleet["kubernetes"] = "1.37"
    (path, text), *others = refused(fleet).items()
    assert (path, others) == (f"{CLUSTER}.kubernetes", [])
    assert f"is not a Kubernetes version that ACK offered on {ack_facts().date}\n  got: 1.37" in text


def test_a_driver_of_a_branch_that_a_machine_must_not_have_is_refused() -> None:
    fleet = a10()
    pool(fleet).update(machine="ecs.gn7-c12g1.3xlarge", driverVersion="510.47.03")
    assert refused(fleet) == {
        f"{POOL}.driverVersion": "is of a branch that ecs.gn7-c12g1.3xlarge must not have\n  got: 510.47.03\n"
        "  allowed: a branch other than 510, 515\n  fix: choose another version, or remove driverVersion"
    }


def test_another_driver_is_reported_by_its_setting_and_not_by_ack_s_label() -> None:
    fleet = a10()
    pool(fleet)["labels"] = {"ack.aliyun.com/nvidia-driver-version": "550.144.03"}
    assert refused(fleet) == {
        f"{POOL}.labels.ack.aliyun.com/nvidia-driver-version": "is a label this program sets itself, from "
        "driverVersion\n  got: 550.144.03\n  fix: write driverVersion: 550.144.03 and remove the label"
    }


def test_a_machine_is_not_asked_for_in_a_region_that_has_none() -> None:
    fleet = a10()
    cluster(fleet).update(MAINLAND, registry="registry-vpc.cn-hangzhou.cr.aliyuncs.com/ml")
    pool(fleet)["machine"] = "ecs.gn8is.2xlarge"
    assert refused(fleet) == {
        f"{POOL}.machine": "is offered only outside of mainland China\n"
        "  got: ecs.gn8is.2xlarge in cn-hangzhou\n"
        "  fix: choose another machine, or a region outside of mainland China"
    }


def test_partitions_are_not_left_to_ack() -> None:
    fleet = a10()
    cluster(fleet)["drivers"]["nvidia"]["version"] = "0.5.0"
    pool(fleet).update(
        machine="ecs.gn7e-c16g1.4xlarge", sharing={"strategy": "mig", "layout": {"1g.10gb": 7}}
    )
    assert refused(fleet)[f"{POOL}.sharing"] == (
        "requests MIG partitions, for which nothing public says how ACK leaves them to a DRA driver\n"
        "  got: mig\n  allowed: exclusive\n  fix: remove sharing"
    )


def test_a_pool_is_in_the_zones_of_the_cluster() -> None:
    fleet = a10()
    pool(fleet)["zones"] = ["ap-southeast-1c"]
    assert refused(fleet) == {
        f"{POOL}.zones": "names a zone in which the cluster has no vSwitch\n  got: ap-southeast-1c\n"
        "  allowed: ap-southeast-1a, ap-southeast-1b\n"
        "  fix: add a vSwitch of the zone to the cluster, or choose another zone"
    }


def test_spot_machines_take_no_reservation() -> None:
    fleet = a10()
    pool(fleet).update(spot=True, reservation="eap-1a2b")
    assert refused(fleet) == {
        f"{POOL}.reservation": "cannot be used by spot machines\n  got: eap-1a2b\n  fix: remove it, or spot"
    }


@pytest.mark.parametrize(("given", "shown"), [(None, "null"), (ELSEWHERE, '{"nodeAffinity":')])
def test_the_plugin_does_not_start_where_ack_advertises_the_gpus(given: object, shown: str) -> None:
    fleet = a10()
    # Helm lays maps over one another, so that of the plan's affinity only what is named is undone.
    values(fleet)["kubeletPlugin"] = {"affinity": given}
    found = refused(fleet)
    assert list(found) == [AFFINITY]
    assert "lets the plugin start on nodes whose GPUs ACK advertises itself\n" in found[AFFINITY]
    assert f"got: {shown}" in found[AFFINITY]
    assert "allowed: ack.node.gpu.schedule In [disabled]" in found[AFFINITY]


def test_the_driver_looks_where_ack_installs_the_gpu_s() -> None:
    fleet = a10()
    values(fleet)["nvidiaDriverRoot"] = "/run/nvidia/driver"
    assert refused(fleet) == {
        f"{CLUSTER}.drivers.nvidia.values.nvidiaDriverRoot": "is not where ACK installs the GPU driver\n"
        "  got: /run/nvidia/driver\n  allowed: /\n  fix: remove it from values"
    }


def test_a_public_address_is_everybody_s() -> None:
    fleet = a10()
    cluster(fleet)["access"] = {"public": True}
    (warning,) = planned(fleet).warnings
    assert "its API server has a public address that everybody reaches" in warning
    settings: Any = parse(fleet).clusters["asia"]
    assert next((output.text, output.level) for output in exposure(settings)) == (
        "public address, open to everybody",
        "warning",
    )


def test_every_machine_is_one_of_ack_s_with_gpus() -> None:
    for machine in clouds.named("ack").machines.values():
        assert machine.name.startswith("ecs.")
        assert machine.gpus > 0
