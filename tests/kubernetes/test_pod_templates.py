from typing import Any

from dra_fleet.kubernetes.pod_templates import places, pod_templates


def test_a_pod_is_its_own_template() -> None:
    assert pod_templates("v1", "Pod") == ((),)


def test_kinds_of_one_name_are_distinguished_by_their_group() -> None:
    assert pod_templates("batch/v1", "Job") == (("spec", "template"),)
    assert pod_templates("batch.volcano.sh/v1alpha1", "Job") == (("spec", "tasks", "*", "template"),)
    assert pod_templates("example.com/v1", "Job") == ()


def test_a_template_per_role_is_found_in_a_mapping() -> None:
    (path,) = pod_templates("kubeflow.org/v1", "PyTorchJob")
    job: dict[str, Any] = {
        "spec": {"pytorchReplicaSpecs": {"Master": {"template": {}}, "Worker": {"template": {}}}}
    }
    assert places(job, path) == [
        ("spec", "pytorchReplicaSpecs", "Master", "template"),
        ("spec", "pytorchReplicaSpecs", "Worker", "template"),
    ]


def test_a_template_per_group_is_found_in_a_list() -> None:
    head, workers = pod_templates("ray.io/v1", "RayCluster")
    cluster: dict[str, Any] = {"spec": {"workerGroupSpecs": [{"template": {}}, {"template": {}}]}}
    assert places(cluster, head) == [("spec", "headGroupSpec", "template")]
    assert places(cluster, workers) == [("spec", "workerGroupSpecs", index, "template") for index in (0, 1)]


def test_scalars_contain_no_template() -> None:
    _, workers = pod_templates("ray.io/v1", "RayCluster")
    assert places({"spec": {"workerGroupSpecs": "two"}}, workers) == []
