import json
from typing import Any, Final

import pytest

from dra_fleet.core.places import ROOT
from dra_fleet.core.yaml_text import read_documents
from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.testing import Recorder
from tests.policy.own_stacks import run_fleet

STACK: Final = ROOT / "tests" / "data" / "stacks" / "gangs.yaml"
GANG: Final = {"gang": {"minCount": 2}}


def declared(recorder: Recorder, minor: str, gates: list[str]) -> dict[str, Any]:
    content: Any = read_documents(str(STACK), STACK.read_bytes())[0].value
    fleet = json.loads(json.dumps(content))["config"]["dra-fleet:fleet"]
    fleet["kubernetes"] = minor
    fleet["clusters"]["lab"]["featureGates"] = gates
    found = run_fleet(recorder, make_plan(parse(fleet)), preview=False)
    return {item.type: item for item in found}


def pod(resources: dict[str, Any]) -> dict[str, Any]:
    return resources["kubernetes:batch/v1:Job"].read()["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("minor", "gates", "api", "reference"),
    [
        ("1.37", ["GenericWorkload"], "v1beta1", "workloadRef"),
        ("1.36", ["GenericWorkload", "GangScheduling"], "v1alpha2", "podGroupTemplateRef"),
    ],
)
def test_pods_name_a_pod_group_that_a_workload_describes(
    recorder: Recorder, minor: str, gates: list[str], api: str, reference: str
) -> None:
    found = declared(recorder, minor, gates)
    workload = found[f"kubernetes:scheduling.k8s.io/{api}:Workload"]
    group = found[f"kubernetes:scheduling.k8s.io/{api}:PodGroup"]
    assert workload.read()["spec"] == {"podGroupTemplates": [{"name": "pods", "schedulingPolicy": GANG}]}
    assert group.read()["spec"]["schedulingPolicy"] == GANG
    assert reference in group.read()["spec"]
    assert group.read()["metadata"]["labels"]["dra-fleet/workload"] == "train"
    assert "podGroupName" in pod(found)["schedulingGroup"]
    assert group.urn in found["kubernetes:batch/v1:Job"].dependencies
    assert workload.urn in group.dependencies


def test_pods_of_1_35_name_the_workload(recorder: Recorder) -> None:
    found = declared(recorder, "1.35", ["GenericWorkload", "GangScheduling"])
    workload = found["kubernetes:scheduling.k8s.io/v1alpha1:Workload"]
    assert workload.read()["spec"] == {"podGroups": [{"name": "pods", "policy": GANG}]}
    assert pod(found)["workloadRef"]["podGroup"] == "pods"
    assert workload.urn in found["kubernetes:batch/v1:Job"].dependencies
