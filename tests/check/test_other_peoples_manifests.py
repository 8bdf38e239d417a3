# ruff: noqa: E501 - YAML is written as in files

from tests.check.check_helpers import cluster, on
from tests.check.tables import Case, table
from tests.check.test_published_systems import class_, exactly, pod, template

H100 = cluster("hgx-h100-8")


@table(__file__)
def test_findings(case: Case) -> None:
    case.verify()


def test_a_claim_for_one_cluster_and_a_pod_for_the_other_run_nowhere() -> None:
    both = {"a": cluster("hgx-h100-8"), "b": cluster("pcie-l40s-4")}
    both["b"]["pools"]["gpus"]["nodeSelector"] = {"example.com/pool": "other"}
    text = template("eight", exactly("gpu", "gpu.nvidia.com", ", count: 8")) + pod("eight").replace(
        "spec:\n", "spec:\n  nodeSelector: {example.com/pool: other}\n"
    )
    assert [line for line in on(text, **both) if " error: Pod p " in line] != []


def test_templates_of_one_name_in_two_namespaces_are_two() -> None:
    def at(namespace: str, text: str) -> str:
        return text.replace("metadata: {name", f"metadata: {{namespace: {namespace}, name")

    text = at("a", template("t", exactly("gpu", "gpu.nvidia.com"))) + at(
        "b", template("t", exactly("gpus", "gpu.nvidia.com", ", count: 9"))
    )
    output = on(
        text + at("a", pod("t", "").replace("{name: own}]}}", "{name: own, request: gpu}]}}")), lab=H100
    )
    assert [line.split(": ")[1:2] for line in output] == [["error"]]
    assert "requests 9 devices" in output[0]


def test_the_nearest_device_meets_the_most_clauses_of_class_and_request_together() -> None:
    both = cluster("hgx-h100-8")
    both["pools"]["old"] = {
        "machine": "dgx-a100-80-8",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "old"},
    }
    large = class_(
        "large",
        "device.driver == 'gpu.nvidia.com' && device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('79Gi')) >= 0",
    )
    hopper = "selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].architecture == 'Ampere' && device.attributes['gpu.nvidia.com'].productName == 'none'\"}}]"
    [output] = on(large + template("a", exactly("gpu", "large", f", {hopper}")), lab=both)
    assert "is not true on gpu-0 of pool old (productName NVIDIA A100-SXM4-80GB)" in output


def test_a_clause_of_the_class_is_called_the_class_s() -> None:
    old = class_(
        "old",
        "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].architecture == 'Ampere'",
    )
    mixed = cluster("hgx-h100-8")
    mixed["pools"]["old"] = {
        "machine": "dgx-a100-80-8",
        "nodes": {"min": 1, "max": 1},
        "nodeSelector": {"example.com/pool": "old"},
    }
    only = "selectors: [{cel: {expression: \"device.attributes['gpu.nvidia.com'].productName == 'NVIDIA H100 80GB HBM3'\"}}]"
    [output] = on(old + template("a", exactly("gpu", "old", f", {only}")), lab=mixed)
    assert (
        "matches 0 of 16 devices of the fleet's nodes: class old: `device.attributes['gpu.nvidia.com'].architecture == 'Ampere'`"
        in output
    )
