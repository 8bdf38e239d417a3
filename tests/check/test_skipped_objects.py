import pytest

from dra_fleet import check as checking
from dra_fleet.check import ManifestFile
from tests.check.check_helpers import plan_of
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
