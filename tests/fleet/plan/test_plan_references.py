from typing import Any

import pytest

from tests.fleet.plan.plan_helpers import dev, planned, refused, second_cluster
from tests.fleet.plan.tables import Case, table

GPU = {"class": "gpu.nvidia.com"}


@pytest.fixture
def fleet() -> dict[str, Any]:
    return dev()


@pytest.fixture
def lab(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["lab"]


@table(__file__, dev)
def test_plan(case: Case) -> None:
    case.verify()


def test_a_class_of_the_chart_can_be_asked_for_but_not_declared(fleet: dict[str, Any]) -> None:
    fleet["claims"]["single-gpu"]["requests"]["gpu"] = GPU
    assert planned(fleet)
    fleet["classes"]["gpu.nvidia.com"] = {"driver": "nvidia", "type": "gpu"}
    assert refused(fleet)["classes.gpu.nvidia.com"].startswith(
        "is the name of a class that the nvidia driver's chart installs itself"
    )


def test_a_cluster_gets_the_classes_of_its_drivers_and_those_by_hand(fleet: dict[str, Any]) -> None:
    second_cluster(fleet, {"example": {"version": "0.4.0"}})
    fleet["classes"]["sample"] = {"driver": "example"}
    plans = {cluster.name: [item.name for item in cluster.classes] for cluster in planned(fleet).clusters}
    assert plans == {"edge": ["mig-1g-5gb", "sample"], "lab": ["at-least-20g", "mig-1g-5gb", "mig-5g"]}


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
