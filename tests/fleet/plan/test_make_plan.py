from typing import Any

import pytest

from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.kubernetes.scheduling.taints import Toleration
from tests.fleet.plan.plan_helpers import ROOT, dev, planned, refused
from tests.fleet.plan.tables import Case, table


@pytest.fixture
def fleet() -> dict[str, Any]:
    return dev()


@pytest.fixture
def lab(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["lab"]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_planned(path: Any) -> None:
    plan = make_plan(read_stack_file(path).settings)
    # No claim uses devices if device plugins advertise all of them.
    claiming = [cluster for cluster in plan.clusters if any(pool.by_dra for pool in cluster.pools)]
    assert all(cluster.workloads for cluster in claiming)


def test_a_pair_finds_devices_in_the_lab_stack_with_every_use_of_the_others(fleet: dict[str, Any]) -> None:
    [cluster] = planned(fleet).clusters
    copies = {workload.name: workload.copies for workload in cluster.workloads}
    assert copies["train"] + (copies["train-pair"] - 1) < 4  # roots of which one device may be taken
    assert copies["infer"] + 2 * (copies["infer-pair"] - 1) < 4 * 6  # partitions that leave no GPU with two


def test_two_plans_of_one_file_are_equal(fleet: dict[str, Any]) -> None:
    assert planned(fleet) == planned(dev())


def test_the_driver_s_namespace_admits_privileged_pods_and_the_workloads_one_does_not(
    fleet: dict[str, Any],
) -> None:
    [cluster] = planned(fleet).clusters
    assert {namespace.name: dict(namespace.labels) for namespace in cluster.namespaces} == {
        "dra-driver-nvidia-gpu": {"pod-security.kubernetes.io/enforce": "privileged"},
        "gpu-workloads": {},
    }


def test_the_release_carries_the_values_of_the_dev_stack(fleet: dict[str, Any]) -> None:
    [release] = planned(fleet).clusters[0].releases
    assert release.chart == "oci://registry.k8s.io/dra-driver-nvidia/charts/dra-driver-nvidia-gpu"
    assert release.name == "dra-driver-nvidia-gpu"
    assert release.values == {
        "gpuResourcesEnabledOverride": True,
        "resources": {"gpus": {"enabled": True}, "computeDomains": {"enabled": False}},
        "nvidiaDriverRoot": "/",
        "resourceApiVersion": "resource.k8s.io/v1",
    }


@table(__file__, dev)
def test_plan(case: Case) -> None:
    case.verify()


def test_a_machine_can_be_described_in_the_stack_file(fleet: dict[str, Any], lab: dict[str, Any]) -> None:
    lab["pools"]["h100"]["machine"] = {"gpu": "H100-SXM5-80GB", "gpus": 8, "cpus": 64, "memory": 512}
    machine = next(pool for pool in planned(fleet).clusters[0].pools if pool.name == "h100").machine
    assert (machine.gpu, machine.gpus, machine.topology) == ("H100-SXM5-80GB", 8, None)
    lab["pools"]["h100"]["machine"]["gpu"] = "H100-80GB"
    assert "H100-PCIE-80GB" in refused(fleet)["clusters.lab.pools.h100.machine.gpu"]


def test_workloads_and_the_driver_tolerate_the_taints_of_the_pools(
    fleet: dict[str, Any], lab: dict[str, Any]
) -> None:
    lab["pools"]["h100"]["taints"] = [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "team", "value": "ml", "effect": "NoExecute"},
        {"key": "soft", "effect": "PreferNoSchedule"},
    ]
    [cluster] = planned(fleet).clusters
    assert cluster.workloads[0].tolerations == (
        Toleration(key="nvidia.com/gpu", value="present", effect="NoSchedule"),
        Toleration(key="team", value="ml", effect="NoExecute"),
    )
    assert cluster.releases[0].values["kubeletPlugin"]["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Equal", "value": "ml", "effect": "NoExecute"},
    ]


def test_a_workload_s_own_tolerations_replace_the_defaults(fleet: dict[str, Any]) -> None:
    fleet["workloads"]["train"]["tolerations"] = [{"operator": "Exists"}]
    workloads = {item.name: item for item in planned(fleet).clusters[0].workloads}
    assert workloads["train"].tolerations == (Toleration(operator="Exists"),)


def test_admin_access_labels_the_namespace_and_is_warned_about(fleet: dict[str, Any]) -> None:
    fleet["claims"]["single-gpu"]["requests"]["gpu"]["adminAccess"] = True
    plan = planned(fleet)
    namespace = next(item for item in plan.clusters[0].namespaces if item.name == "gpu-workloads")
    assert namespace.labels == {"resource.kubernetes.io/admin-access": "true"}
    assert len(plan.warnings) == 1
