from typing import Any

import pytest

from tests.clouds.eks import eks_fleets as eks
from tests.proof.proof_helpers import fleet, gpus, pool, proved
from tests.rows import rows

ANY_GPU = {"requests": {"gpu": {"class": "gpu.nvidia.com"}}}
SELECTED = {"kubeletPlugin": {"nodeSelector": {"a": "b"}}}
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}


def lab(values: dict[str, Any], **more: Any) -> dict[str, Any]:
    return fleet(
        {"a": pool(gpus(4), "a", **more)},
        claims={"whole": ANY_GPU},
        workloads={"train": ("whole", 2)},
        drivers={"nvidia": {"version": "0.5.0", "values": values}},
    )


def on_eks(values: dict[str, Any]) -> dict[str, Any]:
    made = eks.h100()
    eks.values(made, values)
    made["claims"] = {"whole": ANY_GPU}
    made["workloads"] = {"train": {"cluster": "train", "claim": "whole", "copies": 2}}
    return made


def word(settings: dict[str, Any]) -> str:
    [only] = proved(settings).workloads
    return only.word


@pytest.mark.parametrize("values", [{}, {"kubeletPlugin": {"nodeSelector": {"example.com/pool": "a"}}}])
def test_a_plugin_that_runs_on_the_nodes_is_part_of_the_proof(values: dict[str, Any]) -> None:
    assert word(lab(values)) == "guaranteed"
    assert word(on_eks({})) == "guaranteed"


def test_an_unknown_label_makes_the_plugin_s_placement_unknown() -> None:
    for settings in (lab(SELECTED), on_eks(SELECTED)):
        [only] = proved(settings).workloads
        assert only.word == "unknown"
        assert "its values demand labels that the pool is not known to carry" in only.reason


def test_an_affinity_for_other_nodes_leaves_no_device() -> None:
    term = {"matchExpressions": [{"key": "example.com/pool", "operator": "In", "values": ["b"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    assert word(lab({"kubeletPlugin": {"affinity": {"nodeAffinity": required}}})) == "never"


@pytest.mark.parametrize(
    ("label", "value", "output"),
    [
        ("kubernetes.io/os", "linux", "guaranteed"),
        ("kubernetes.io/os", "windows", "never"),
        ("kubernetes.io/arch", "arm64", "never"),
        ("node.kubernetes.io/instance-type", "p5.48xlarge", "guaranteed"),
        ("node.kubernetes.io/instance-type", "p4d.24xlarge", "never"),
        ("topology.kubernetes.io/region", "eu-west-1", "guaranteed"),
    ],
)
def test_labels_by_which_kubelets_report_the_machine_are_known_of_nodes_that_a_cloud_makes(
    label: str, value: str, output: str
) -> None:
    assert word(on_eks({"kubeletPlugin": {"nodeSelector": {label: value}}})) == output


@pytest.mark.parametrize(
    ("supported", "output"),
    [
        ({"values": ["p6e-gb200.36xlarge"]}, "guaranteed"),
        ({"values": ["p5.48xlarge"]}, "never"),
        ({"values": ["p5.48xlarge"], "keys": ["example.com/type"]}, "guaranteed"),
    ],
)
def test_the_machines_that_a_chart_has_to_serve_are_those_of_its_plugin(
    supported: dict[str, Any], output: str
) -> None:
    made = eks.ultra()
    eks.pool(made)["taints"] = [TAINT]
    eks.cluster(made)["drivers"]["dranet"] = {
        "version": "1.0.0",
        "values": {"supportedInstanceLabels": supported},
    }
    made["claims"] = {"card": {"requests": {"nic": {"class": "efa.networking.k8s.aws"}}}}
    made["workloads"] = {"train": {"cluster": "train", "claim": "card", "copies": 2}}
    assert word(made) == output


def asking(**resources: dict[str, str]) -> dict[str, Any]:
    """Values by which the plugin's container requests resources."""
    return {"kubeletPlugin": {"containers": {"gpus": {"resources": resources}}}}


@rows(__file__, "test_other_causes_that_keep_the_plugin_off_its_nodes_are_checked", "values output")
def test_other_causes_that_keep_the_plugin_off_its_nodes_are_checked(
    values: dict[str, Any], output: str
) -> None:
    assert word(lab(values)) == output


def test_tolerations_taken_away_keep_the_plugin_off_its_nodes() -> None:
    assert word(lab({}, taints=[TAINT])) == "guaranteed"
    assert word(lab({"kubeletPlugin": {"tolerations": []}}, taints=[TAINT])) == "never"
    assert word(lab({"kubeletPlugin": {"tolerations": [{"operator": "Exists"}]}}, taints=[TAINT])) == (
        "guaranteed"
    )
