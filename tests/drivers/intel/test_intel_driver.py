from typing import Any

import pytest

from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.proof.prove import prove
from tests.fleet.plan.plan_helpers import ROOT, planned

AT = "dra-fleet:fleet.clusters.lab"
DEVICES = f"{AT}.pools.flex.devices"


@pytest.fixture
def fleet() -> dict[str, Any]:
    return dict(read_fleet(ROOT / "examples" / "intel-gpus.yaml"))


def lab(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["lab"]


def device(fleet: dict[str, Any]) -> dict[str, Any]:
    return lab(fleet)["pools"]["flex"]["devices"][0]


def refused(fleet: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SettingsInvalid) as invalid:
        make_plan(parse(fleet))
    return {error.path: error.what for error in invalid.value.errors}


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


@pytest.mark.parametrize(
    ("wrong", "path", "what"),
    [
        (("attributes", "modell", "x"), ".attributes", "is not an attribute that driver intel publishes"),
        (("attributes", "sriov", "yes"), ".attributes.sriov", "is published as bool"),
        (("capacity", "vram", "8Gi"), ".capacity", "is not a capacity that driver intel publishes"),
    ],
)
def test_rejects_descriptions_that_the_driver_does_not_publish(
    fleet: dict[str, Any], wrong: tuple[str, str, object], path: str, what: str
) -> None:
    section, key, value = wrong
    device(fleet)[section][key] = value
    assert refused(fleet) == {f"{DEVICES}[0]{path}": what}


def test_its_devices_need_it_on_the_cluster(fleet: dict[str, Any]) -> None:
    lab(fleet)["drivers"] = {"example": {"version": "0.4.0"}}
    assert refused(fleet)[f"{DEVICES}[0].driver"] == (
        "is published by driver intel, which the cluster has not"
    )


def test_it_is_refused_where_no_pool_has_its_devices(fleet: dict[str, Any]) -> None:
    lab(fleet)["pools"]["flex"].pop("devices")
    assert refused(fleet) == {f"{AT}.drivers.intel": "serves Intel GPUs, which no pool of this cluster has"}


def test_a_selector_that_the_chart_would_omit_is_refused(fleet: dict[str, Any]) -> None:
    lab(fleet)["drivers"]["intel"]["values"] = {
        "nodeFeatureRules": {"enabled": True},
        "kubeletPlugin": {"nodeSelector": {"a": "b"}},
    }
    assert refused(fleet) == {
        f"{AT}.drivers.intel.values.kubeletPlugin.nodeSelector": (
            "is omitted by the chart where nodeFeatureRules.enabled is true"
        )
    }


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
    ("labels", "word"),
    [({}, "guaranteed"), ({"intel.feature.node.kubernetes.io/gpu": "false"}, "never")],
)
def test_a_node_that_the_rules_of_node_features_omit_has_no_device(
    fleet: dict[str, Any], labels: dict[str, str], word: str
) -> None:
    lab(fleet)["pools"]["flex"]["nodeSelector"] |= labels
    lab(fleet)["drivers"]["intel"]["values"] = {"nodeFeatureRules": {"enabled": True}}
    (found,) = prove(make_plan(parse(fleet))).workloads
    assert found.word == word
