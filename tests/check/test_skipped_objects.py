import re
from pathlib import Path
from typing import Any

import pytest

from dra_fleet import check as checking
from dra_fleet.check import RULES, ManifestFile, listed
from dra_fleet.check.checking import annotation, to_sarif
from tests.check.check_helpers import check, findings, plan_of
from tests.check.tables import Case, table

SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"
CLAIM = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: c}
spec: {devices: {requests: [{name: gpu, exactly: {deviceClassName: %s, count: %s}}]}}
"""
TEMPLATE = "{{- if .Values.on }}\n" + CLAIM + "{{- end }}\n"


def test_objects_without_devices_are_skipped_with_why() -> None:
    graph = "apiVersion: example.com/v1\nkind: Graph\nspec: {services: {a: {containers: []}}}\n"
    data = "---\n".join([SERVICE, CLAIM % ("gpu.nvidia.com", 1), graph, TEMPLATE])
    checked = checking.check(plan_of(), [ManifestFile(name="f", data=data.encode())])
    assert checked.checked == 1
    assert checked.passed == {"ask for no devices": 1, "kind Graph not known": 1, "not rendered": 1}


def test_a_file_with_marks_of_a_script_was_not_rendered() -> None:
    marked = (CLAIM % ("gpu.nvidia.com", 1)).replace("name: c}", "name: @@NAME@@}")
    checked = checking.check(plan_of(), [ManifestFile(name="f", data=marked.encode())])
    assert checked.passed == {"not rendered": 1}
    [finding] = checked.findings
    assert (finding.severity, finding.rule) == ("warning", "not-rendered")
    assert finding.fix == "put values in the places of the marks first"


def test_a_pod_whose_container_alone_names_a_claim_is_checked() -> None:
    pod = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n"
        "  containers: [{name: c, image: i, resources: {claims: [{name: gpu}]}}]\n"
    )
    checked = checking.check(plan_of(), [ManifestFile(name="f", data=pod.encode())])
    assert (checked.checked, checked.passed) == (1, {})
    assert [finding.rule for finding in checked.findings] == ["container-claim"]


def test_steps_of_one_container_are_pods_that_are_not_known() -> None:
    workflow = (
        "apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nmetadata: {generateName: train-}\nspec:\n"
        "  templates: [{name: main, container: {image: x, resources: {limits: {nvidia.com/gpu: 1}}}}]\n"
    )
    checked = checking.check(plan_of(), [ManifestFile(name="w.yaml", data=workflow.encode(), is_named=True)])
    assert checked.passed == {"kind Workflow not known": 1}


@pytest.mark.parametrize(
    ("api_version", "kind", "why"),
    [
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", "kind TrainJob not known"),
        ("agents.x-k8s.io/v1alpha1", "Sandbox", "kind Sandbox not known"),
        ("apps/v1", "ControllerRevision", "ask for no devices"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole", "ask for no devices"),
    ],
)
def test_kinds_of_others_may_start_pods_and_kubernetes_own_do_not(
    api_version: str, kind: str, why: str
) -> None:
    data = f"apiVersion: {api_version}\nkind: {kind}\nmetadata: {{name: a}}\nspec: {{nodes: 2}}\n"
    checked = checking.check(plan_of(), [ManifestFile(name="f.yaml", data=data.encode(), is_named=True)])
    assert checked.passed == {why: 1}


def test_a_file_of_a_folder_may_hold_no_objects() -> None:
    values = ManifestFile(name="values.yaml", data=b"replicas: 1\n", is_named=False)
    checked = checking.check(plan_of(), [values])
    assert (checked.findings, checked.passed) == ((), {"no Kubernetes objects": 1})


@table(__file__)
def test_findings(case: Case) -> None:
    case.verify()


CLASS = """apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: a}
spec: {}  # dra-fleet: ignore %s
"""
ROOT = Path(checking.__file__).parents[1]


def test_every_rule_that_is_reported_is_described_and_the_other_way_round() -> None:
    sources = [*ROOT.glob("check/*.py"), *ROOT.glob("cli/*.py")]
    output = {name for file in sources for name in re.findall(r'rule="([a-z-]+)"', file.read_text("utf-8"))}
    assert output == {*RULES}


def test_the_page_lists_every_rule() -> None:
    page = (ROOT.parent / "docs" / "check.md").read_text("utf-8")
    listed_there = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", page, re.MULTILINE)
    assert listed_there == [*RULES.items()]


def test_a_comment_leaves_a_rule_out_on_its_line() -> None:
    assert findings(CLASS % "class-without-selector: it is a test") == []
    assert len(findings(CLASS % "cel-invalid")) == 1


def test_a_comment_leaves_a_rule_out_on_the_line_below() -> None:
    above = CLASS.replace("spec:", "# dra-fleet: ignore cel-invalid, class-without-selector\nspec:")
    assert findings(above % "cel-invalid") == []


def test_a_comment_leaves_a_rule_out_of_a_file() -> None:
    assert findings("# dra-fleet: ignore-file class-without-selector\n" + CLASS % "cel-invalid") == []


def test_a_rule_that_does_not_exist_is_reported() -> None:
    output = findings(CLASS % "class-without-selectors")
    assert [line.rpartition(" ")[2] for line in output] == ["[unknown-rule]", "[class-without-selector]"]
    assert "names a rule that does not exist; got: class-without-selectors" in output[0]
    assert "did you mean class-without-selector?" in output[0]


@pytest.mark.parametrize(("pattern", "count"), [("deploy/*.yaml", 0), ("other/*", 1)])
def test_a_list_leaves_rules_out_by_file(pattern: str, count: int) -> None:
    file = ManifestFile(name="deploy/a.yaml", data=(CLASS % "cel-invalid").encode())
    omitted = listed("list", f"# decided in review\n{pattern} class-without-selector  # a test\n", [])
    assert len(checking.check(plan_of(), [file], omitted=omitted).findings) == count


def test_a_finding_is_an_annotation_of_github() -> None:
    [finding] = check(plan_of(), [ManifestFile(name="a,b.yaml", data=(CLASS % "cel-invalid").encode())])
    assert annotation(finding) == (
        "::warning file=a%2Cb.yaml,line=4,col=1,title=class-without-selector::DeviceClass a spec: has no "
        "selector, so that it holds every device of every driver; fix: select by device.driver at least"
    )


def test_a_finding_is_a_result_of_sarif_with_its_rule_and_line() -> None:
    found = check(plan_of(), [ManifestFile(name="a.yaml", data=(CLASS % "cel-invalid").encode())])
    log: Any = to_sarif(found, "lab")
    [run] = log["runs"]
    [result] = run["results"]
    assert (result["ruleId"], result["level"]) == ("class-without-selector", "warning")
    place = result["locations"][0]["physicalLocation"]
    assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("a.yaml", 4)
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {*RULES}
