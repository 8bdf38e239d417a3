from typing import Any

import pytest

from tests.fleet.plan.plan_helpers import dev, planned, refused, second_cluster

GPU = {"class": "gpu.nvidia.com"}


@pytest.fixture
def fleet() -> dict[str, Any]:
    return dev()


@pytest.fixture
def lab(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["lab"]


@pytest.mark.parametrize(
    ("key", "value", "path", "start"),
    [
        (
            "claim",
            "single-gpus",
            "workloads.train.claim",
            "is not a claim of this stack\n  got: single-gpus\n  allowed: single-gpu",
        ),
        (
            "cluster",
            "lap",
            "workloads.train.cluster",
            "is not a cluster of this stack\n  got: lap\n  allowed: lab",
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
    output = refused(fleet)["claims.single-gpu.requests.gpu.class"]
    assert "allowed: at-least-20g" in output
    assert "gpu.nvidia.com" in output


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


def test_a_used_claim_is_planned_where_it_is_used_and_an_unused_one_wherever_its_classes_are(
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
        "requests classes that no single cluster of this stack has together"
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
    output = refused(fleet)
    assert output["claims.single-gpu.requests.gpu.tolerations"].startswith(
        "on cluster lab: Kubernetes 1.35 drops this field silently: feature gate DRADeviceTaints"
    )
    assert "DRAExtendedResource" in output["classes.at-least-20g.extendedResourceName"]
    fleet["kubernetes"] = "1.36"
    assert planned(fleet)


@pytest.mark.parametrize(
    ("change", "path", "what"),
    [
        (
            {"constraints": [{"requests": ["nope"], "matchAttribute": "a/b"}]},
            "claims.gpu-pair.constraints[0].requests",
            "refers to 'nope', which is not a request of this claim\n  allowed: gpus",
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
def test_the_parts_of_a_claim_are_checked_together(
    fleet: dict[str, Any], change: dict[str, Any], path: str, what: str
) -> None:
    fleet["claims"]["gpu-pair"] |= change
    assert refused(fleet)[path].startswith(what)
