from typing import Any

import pytest

from components.fleet import build
from dra_fleet.core.findings.errors import SettingsInvalid
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.testing import Recorder

JOB = "kubernetes:batch/v1:Job"
TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"


def fleet(**more: Any) -> dict[str, Any]:
    """Return a fleet whose only node has eight GPUs."""
    pool = {
        "machine": "hgx-h100-8",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "h100"},
    }
    return {
        "owner": "ml",
        "environment": "development",
        "clusters": {
            "lab": {
                "cloud": "existing",
                "kubernetes": "1.36",
                "kubeconfig": {"context": "lab"},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {"h100": pool},
            }
        },
        "claims": {"one-gpu": {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}},
        **more,
    }


def pods(copies: int, **more: Any) -> dict[str, Any]:
    return {"cluster": "lab", "claim": "one-gpu", "copies": copies, **more}


def test_demand_is_proved_with_the_workloads() -> None:
    plan = make_plan(parse(fleet(workloads={"train": pods(4)}, demand={"notebooks": pods(4)})))
    proof = prove(plan)
    assert {item.name: item.word for item in proof.workloads} == {
        "notebooks": "guaranteed",
        "train": "guaranteed",
    }
    assert [item.name for item in plan.clusters[0].workloads] == ["train"]
    assert [item.name for item in plan.clusters[0].demand] == ["notebooks"]


def test_demand_that_does_not_fit_stops_the_stack() -> None:
    proof = prove(make_plan(parse(fleet(demand={"notebooks": pods(9)}))))
    (failure,) = proof.failures
    assert failure.startswith("dra-fleet:fleet.demand.notebooks: ")


def test_template_of_demand_is_created_and_no_pod(recorder: Recorder) -> None:
    plan = make_plan(parse(fleet(demand={"notebooks": pods(2)})))
    recorder.run(lambda: build(plan, lambda _: pytest.fail("asked for a secret")))
    assert recorder.only(TEMPLATE)
    assert JOB not in {entry.type for entry in recorder.registrations.values()}


@pytest.mark.parametrize(
    ("more", "path"),
    [
        ({"demand": {"notebooks": pods(2, claim="two")}}, "demand.notebooks.claim"),
        ({"demand": {"notebooks": pods(2, image="i")}}, "demand.notebooks.image"),
        ({"demand": {"train": pods(1)}, "workloads": {"train": pods(1)}}, "demand.train"),
        (
            {"workloads": {"train": pods(1, volumes={"data": {"mountPath": "/data"}})}},
            "workloads.train.volumes.data",
        ),
        ({"workloads": {"train": pods(1, env={"A": {"key": "a"}})}}, "workloads.train.env.A"),
    ],
)
def test_wrong_demand_is_an_error_at_its_path(more: dict[str, Any], path: str) -> None:
    with pytest.raises(SettingsInvalid) as refused:
        make_plan(parse(fleet(**more)))
    assert [error.path for error in refused.value.errors] == [f"dra-fleet:fleet.{path}"]


@pytest.mark.parametrize(
    ("environment", "image", "warned"),
    [("staging", {}, True), ("staging", {"image": "train:1"}, False), ("development", {}, False)],
)
def test_image_that_does_nothing_is_a_warning_outside_development(
    environment: str, image: dict[str, Any], *, warned: bool
) -> None:
    plan = make_plan(parse(fleet(environment=environment, workloads={"train": pods(1, **image)})))
    paths = [text.partition(": ")[0] for text in plan.warnings]
    assert ("dra-fleet:fleet.workloads.train.image" in paths) == warned
