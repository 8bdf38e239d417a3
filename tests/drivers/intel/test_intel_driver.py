from typing import Any

import pytest

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.proof.prove import prove
from tests.fleet.plan.plan_helpers import ROOT, planned
from tests.fleet.plan.tables import Case, table


def described() -> dict[str, Any]:
    return dict(read_fleet(ROOT / "examples" / "intel-gpus.yaml"))


fleet = pytest.fixture(described)


def lab(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["lab"]


def test_its_plugin_runs_on_the_pools_whose_devices_are_described(fleet: dict[str, Any]) -> None:
    (release,) = planned(fleet).clusters[0].releases
    assert (release.name, release.driver) == ("intel-gpu-resource-driver-chart", "gpu.intel.com")
    plugin = release.values["kubeletPlugin"]
    terms = plugin["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert terms["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "example.com/pool", "operator": "In", "values": ["flex"]}]}
    ]
    assert [item["key"] for item in plugin["tolerations"]] == [
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/control-plane",
        "node.kubernetes.io/gpu",
        "example.com/media",
    ]


@pytest.mark.parametrize(("copies", "word"), [(8, "guaranteed"), (9, "never")])
def test_its_devices_are_proved(fleet: dict[str, Any], copies: int, word: str) -> None:
    fleet["workloads"]["transcode"]["copies"] = copies
    (found,) = prove(make_plan(parse(fleet))).workloads
    assert found.word == word


@table(__file__, described)
def test_plan(case: Case) -> None:
    case.verify()


def test_devices_of_a_cluster_that_runs_it_already_are_proved(fleet: dict[str, Any]) -> None:
    lab(fleet)["drivers"] = {}
    (found,) = prove(make_plan(parse(fleet))).workloads
    assert found.word == "guaranteed"


def test_parameters_are_refused_for_it_reads_none(fleet: dict[str, Any]) -> None:
    claim = next(iter(fleet["claims"].values()))
    claim["config"] = [{"opaque": {"driver": "gpu.intel.com", "parameters": {"kind": "GpuConfig"}}}]
    name = next(iter(fleet["claims"]))
    (output,) = prove(make_plan(parse(fleet))).failures
    assert output == (
        f"dra-fleet:fleet.claims.{name}.config[0].opaque.parameters: on cluster lab: is read by no one: "
        'driver gpu.intel.com takes no parameters in version 0.11.1\n  got: {"kind": "GpuConfig"}\n'
        "  fix: remove the entry of config"
    )


@pytest.mark.parametrize(
    ("labels", "word"), [({}, "guaranteed"), ({"intel.feature.node.kubernetes.io/gpu": "false"}, "never")]
)
def test_a_node_that_the_rules_of_node_features_omit_has_no_device(
    fleet: dict[str, Any], labels: dict[str, str], word: str
) -> None:
    lab(fleet)["pools"]["flex"]["nodeSelector"] |= labels
    lab(fleet)["drivers"]["intel"]["values"] = {"nodeFeatureRules": {"enabled": True}}
    (found,) = prove(make_plan(parse(fleet))).workloads
    assert found.word == word
