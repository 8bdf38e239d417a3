from __future__ import annotations

from typing import Any

import pytest
from plan_helpers import ROOT, dev, planned, refused

from fleet.plan import make_plan
from fleet.plan.model import Toleration
from fleet.settings import read_stack_file

GPU = {"class": "gpu.nvidia.com"}


@pytest.fixture
def fleet() -> dict[str, Any]:
    return dev()


@pytest.fixture
def lab(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["lab"]


def second_cluster(fleet: dict[str, Any], drivers: dict[str, Any]) -> None:
    fleet["clusters"]["edge"] = {
        "cloud": "existing",
        "kubeconfig": {"context": "edge"},
        "drivers": drivers,
        "pools": {"cpu": {"machine": "cpu-16", "nodes": {"min": 1, "max": 1}, "nodeSelector": {"a": "b"}}},
    }


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.yaml")), ids=lambda path: path.name)
def test_every_example_is_planned(path: Any) -> None:
    plan = make_plan(read_stack_file(path).settings)
    assert all(cluster.workloads for cluster in plan.clusters)


def test_the_dev_stack_uses_every_device_there_is(fleet: dict[str, Any]) -> None:
    [cluster] = planned(fleet).clusters
    per_copy = {"train": 1, "train-pair": 2, "infer": 1, "infer-pair": 2}
    used = {workload.name: workload.copies * per_copy[workload.name] for workload in cluster.workloads}
    assert used["train"] + used["train-pair"] == 8
    assert used["infer"] + used["infer-pair"] == 28


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


def test_a_machine_that_is_unknown_names_the_nearest_and_the_way_to_describe_it(
    fleet: dict[str, Any], lab: dict[str, Any]
) -> None:
    lab["pools"]["h100"]["machine"] = "hgx-h100"
    told = refused(fleet)["clusters.lab.pools.h100.machine"]
    assert told.startswith("is no machine of the catalogue\n  got: hgx-h100\n  allowed: hgx-h100-8")
    assert told.endswith("fix: did you mean hgx-h100-8?")
    lab["pools"]["h100"]["machine"] = "zzz"
    assert (
        "fix: describe it in the stack file: machine: {gpu:"
        in refused(fleet)["clusters.lab.pools.h100.machine"]
    )


def test_a_machine_can_be_described_in_the_stack_file(fleet: dict[str, Any], lab: dict[str, Any]) -> None:
    lab["pools"]["h100"]["machine"] = {"gpu": "H100-SXM5-80GB", "gpus": 8, "cpus": 64, "memory": 512}
    machine = next(pool for pool in planned(fleet).clusters[0].pools if pool.name == "h100").machine
    assert (machine.gpu, machine.gpus, machine.topology) == ("H100-SXM5-80GB", 8, None)
    lab["pools"]["h100"]["machine"]["gpu"] = "H100-80GB"
    assert "H100-PCIE-80GB" in refused(fleet)["clusters.lab.pools.h100.machine.gpu"]


def test_pools_that_select_the_same_nodes_are_refused(fleet: dict[str, Any], lab: dict[str, Any]) -> None:
    lab["pools"]["a100"]["nodeSelector"]["example.com/pool"] = "h100"
    assert refused(fleet)["clusters.lab.pools.h100.nodeSelector"].startswith(
        "also selects every node of pool a100"
    )


def test_a_cluster_without_a_minor_is_refused(fleet: dict[str, Any]) -> None:
    del fleet["kubernetes"]
    assert refused(fleet)["clusters.lab.kubernetes"].startswith("is required, here or for the whole fleet")


def test_a_minor_past_its_end_of_life_is_warned_about_and_others_are_not(fleet: dict[str, Any]) -> None:
    assert planned(fleet).warnings == ()
    fleet["kubernetes"] = "1.34"
    [warning] = planned(fleet).warnings
    assert warning.startswith("cluster lab: Kubernetes 1.34 has had no upstream fixes since 2026-10-27")


@pytest.mark.parametrize(
    ("key", "value", "path", "start"),
    [
        (
            "claim",
            "single-gpus",
            "workloads.train.claim",
            "is no claim of this stack\n  got: single-gpus\n  allowed: single-gpu",
        ),
        (
            "cluster",
            "lap",
            "workloads.train.cluster",
            "is no cluster of this stack\n  got: lap\n  allowed: lab\n  fix: did you mean lab?",
        ),
    ],
)
def test_a_workload_that_names_nothing_is_refused(
    fleet: dict[str, Any], key: str, value: str, path: str, start: str
) -> None:
    fleet["workloads"]["train"][key] = value
    assert refused(fleet)[path].startswith(start)


def test_a_claim_of_an_unknown_class_names_the_nearest(fleet: dict[str, Any]) -> None:
    fleet["claims"]["single-gpu"]["requests"]["gpu"]["class"] = "at-least-20"
    told = refused(fleet)["claims.single-gpu.requests.gpu.class"]
    assert "allowed: at-least-20g" in told
    assert "gpu.nvidia.com" in told


def test_a_class_of_the_chart_can_be_asked_for_but_not_declared(fleet: dict[str, Any]) -> None:
    fleet["claims"]["single-gpu"]["requests"]["gpu"] = GPU
    assert planned(fleet)
    fleet["classes"]["gpu.nvidia.com"] = {"driver": "nvidia", "type": "gpu"}
    assert refused(fleet)["classes.gpu.nvidia.com"].startswith(
        "is the name of a class that the nvidia driver's chart installs itself"
    )


def test_a_class_of_a_driver_that_no_cluster_has_is_refused(fleet: dict[str, Any]) -> None:
    fleet["classes"]["other"] = {"driver": "example", "type": "gpu"}
    assert refused(fleet)["classes.other.driver"].startswith("is installed in no cluster of this stack")
    fleet["classes"]["other"]["driver"] = "nvidea"
    assert "did you mean nvidia?" in refused(fleet)["classes.other.driver"]


def test_a_cluster_gets_the_classes_of_its_drivers_and_those_by_hand(fleet: dict[str, Any]) -> None:
    second_cluster(fleet, {"example": {"version": "0.4.0"}})
    fleet["classes"]["sample"] = {"driver": "example"}
    plans = {cluster.name: [item.name for item in cluster.classes] for cluster in planned(fleet).clusters}
    assert plans == {
        "edge": ["mig-1g-5gb", "sample"],
        "lab": ["at-least-20g", "mig-1g-5gb", "mig-5g"],
    }


def test_a_cluster_with_its_own_drivers_gets_every_class_and_no_release(fleet: dict[str, Any]) -> None:
    second_cluster(fleet, {})
    edge = planned(fleet).clusters[0]
    assert edge.releases == ()
    assert [item.name for item in edge.classes] == ["at-least-20g", "mig-1g-5gb", "mig-5g"]


def test_a_driver_that_is_there_already_is_not_installed_again(
    fleet: dict[str, Any], lab: dict[str, Any]
) -> None:
    lab["drivers"]["nvidia"]["install"] = False
    [cluster] = planned(fleet).clusters
    assert cluster.releases == ()
    assert [namespace.name for namespace in cluster.namespaces] == ["gpu-workloads"]


def test_a_used_claim_goes_where_it_is_used_and_an_unused_one_wherever_its_classes_are(
    fleet: dict[str, Any],
) -> None:
    second_cluster(fleet, {"nvidia": {"version": "0.5.0"}})
    fleet["claims"]["spare"] = {"requests": {"gpu": {"class": "at-least-20g"}}, "external": True}
    plans = {cluster.name: [item.name for item in cluster.templates] for cluster in planned(fleet).clusters}
    assert plans["edge"] == ["spare"]
    assert set(plans["lab"]) == {"gpu-pair", "partition", "partition-pair", "single-gpu", "spare"}
    assert next(item for item in planned(fleet).clusters[0].templates if item.name == "spare").external


def test_a_workload_on_a_cluster_without_its_driver_is_refused(fleet: dict[str, Any]) -> None:
    second_cluster(fleet, {"example": {"version": "0.4.0"}})
    fleet["workloads"]["train"]["cluster"] = "edge"
    assert refused(fleet)["workloads.train.cluster"].startswith("lacks the driver behind at-least-20g")


def test_an_unused_claim_that_fits_no_cluster_is_refused(fleet: dict[str, Any]) -> None:
    second_cluster(fleet, {"example": {"version": "0.4.0"}})
    fleet["classes"]["sample"] = {"driver": "example"}
    fleet["claims"]["both"] = {"requests": {"a": {"class": "sample"}, "b": {"class": "mig-5g"}}}
    assert refused(fleet)["claims.both"].startswith(
        "asks for classes that no single cluster of this stack has together"
    )


def test_a_shared_claim_is_one_resource_claim(fleet: dict[str, Any]) -> None:
    fleet["claims"]["single-gpu"]["shared"] = True
    [cluster] = planned(fleet).clusters
    assert [claim.name for claim in cluster.claims] == ["single-gpu"]
    train = next(item for item in cluster.workloads if item.name == "train")
    assert (train.template, train.claim) == (None, "single-gpu")


def test_a_field_that_the_minor_drops_is_an_error_at_its_own_path(fleet: dict[str, Any]) -> None:
    fleet["kubernetes"] = "1.35"
    fleet["claims"]["single-gpu"]["requests"]["gpu"]["tolerations"] = [{"operator": "Exists"}]
    fleet["classes"]["at-least-20g"]["extendedResourceName"] = "example.com/gpu"
    told = refused(fleet)
    assert told["claims.single-gpu.requests.gpu.tolerations"].startswith(
        "on cluster lab: Kubernetes 1.35 drops this field without a word: feature gate DRADeviceTaints"
    )
    assert "DRAExtendedResource" in told["classes.at-least-20g.extendedResourceName"]
    fleet["kubernetes"] = "1.36"
    assert planned(fleet)


@pytest.mark.parametrize(
    ("change", "path", "what"),
    [
        (
            {"constraints": [{"requests": ["nope"], "matchAttribute": "a/b"}]},
            "claims.gpu-pair.constraints[0].requests",
            "refers to 'nope', which is no request of this claim\n  allowed: gpus",
        ),
        (
            {"config": [{"opaque": {"driver": "a_b", "parameters": {"a": 1}}}]},
            "claims.gpu-pair.config[0].opaque.driver",
            "must be a DNS subdomain",
        ),
        (
            {"requests": {"a": {**GPU, "count": 32}, "b": GPU}, "constraints": []},
            "claims.gpu-pair.requests",
            "must ask for at most 32 devices in one claim",
        ),
    ],
)
def test_what_a_claim_s_parts_say_together_is_checked(
    fleet: dict[str, Any], change: dict[str, Any], path: str, what: str
) -> None:
    fleet["claims"]["gpu-pair"] |= change
    assert refused(fleet)[path].startswith(what)


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


@pytest.mark.parametrize("name", ["default", "kube-system"])
def test_a_namespace_that_every_cluster_has_cannot_be_owned(fleet: dict[str, Any], name: str) -> None:
    fleet["namespace"] = name
    assert refused(fleet)["namespace"].startswith("exists in every cluster")


def test_the_driver_s_namespace_is_not_for_workloads(fleet: dict[str, Any]) -> None:
    fleet["namespace"] = "dra-driver-nvidia-gpu"
    assert "where pods may be privileged" in refused(fleet)["namespace"]


def test_all_errors_of_a_plan_come_at_once(fleet: dict[str, Any], lab: dict[str, Any]) -> None:
    lab["pools"]["h100"]["machine"] = "x"
    lab["drivers"]["nvidia"]["version"] = "0.5.1"
    fleet["workloads"]["train"]["claim"] = "x"
    fleet["classes"]["mig-5g"]["type"] = "gpv"
    assert set(refused(fleet)) == {
        "clusters.lab.pools.h100.machine",
        "clusters.lab.drivers.nvidia.version",
        "workloads.train.claim",
        "classes.mig-5g.type",
    }
