from typing import Any

import pytest

from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.proof.prove import prove
from tests.fleet.plan.plan_helpers import ROOT, planned

AT = "dra-fleet:fleet.clusters.lab"


@pytest.fixture
def fleet() -> dict[str, Any]:
    return dict(read_fleet(ROOT / "examples" / "fpga-unknown-driver.yaml"))


def lab(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["lab"]


def refused(fleet: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(SettingsInvalid) as invalid:
        make_plan(parse(fleet))
    return {error.path: error.what for error in invalid.value.errors}


def words(fleet: dict[str, Any]) -> dict[str, str]:
    return {item.name: item.word for item in prove(make_plan(parse(fleet))).workloads}


def test_its_release_has_its_chart_and_tolerates_the_taints_of_the_pools_that_have_its_devices(
    fleet: dict[str, Any],
) -> None:
    lab(fleet)["drivers"]["fpga"]["values"] = {"logLevel": 4}
    (release,) = planned(fleet).clusters[0].releases
    assert (release.name, release.driver, release.version) == ("fpga-dra-driver", "fpga.example.com", "1.2.0")
    tolerated = {"key": "example.com/fpga", "operator": "Equal", "value": "", "effect": "NoSchedule"}
    assert release.values == {"kubeletPlugin": {"tolerations": [tolerated]}, "logLevel": 4}


def test_placement_at_the_top_level_of_the_values_is_written_there(fleet: dict[str, Any]) -> None:
    lab(fleet)["drivers"]["fpga"]["described"]["plugin"] = ""
    (release,) = planned(fleet).clusters[0].releases
    assert set(release.values) == {"tolerations"}


def test_a_class_by_its_name_selects_its_devices(fleet: dict[str, Any]) -> None:
    classes = {item.name: item.spec for item in planned(fleet).clusters[0].classes}
    (selector,) = classes["fpga"].to_object()["selectors"]
    assert selector["cel"]["expression"] == "device.driver == 'fpga.example.com'"


def test_its_devices_are_counted_and_asked_for_what_they_are(fleet: dict[str, Any]) -> None:
    assert words(fleet) == {"radar": "guaranteed", "filters": "guaranteed"}
    fleet["workloads"]["radar"]["copies"] = 5
    assert words(fleet)["radar"] == "never"


def test_a_pool_without_its_devices_has_none(fleet: dict[str, Any]) -> None:
    lab(fleet)["pools"]["cards"].pop("devices")
    assert set(words(fleet).values()) == {"never"}


def test_values_that_keep_the_plugin_from_the_pool_leave_it_without_devices(fleet: dict[str, Any]) -> None:
    lab(fleet)["drivers"]["fpga"]["values"] = {"kubeletPlugin": {"tolerations": []}}
    assert set(words(fleet).values()) == {"never"}


def test_devices_of_a_driver_that_the_cluster_already_has_are_proved_too(fleet: dict[str, Any]) -> None:
    lab(fleet)["drivers"] = {}
    fleet["classes"].pop("fpga")
    fleet["claims"].pop("small")
    fleet["workloads"].pop("filters")
    assert words(fleet) == {"radar": "guaranteed"}


def test_devices_that_several_claims_may_hold_have_no_end_of_copies(fleet: dict[str, Any]) -> None:
    for item in lab(fleet)["pools"]["cards"]["devices"]:
        item["shared"] = True
    request = fleet["claims"]["large"]["requests"]["card"]
    request["capacity"] = {"memory": "16Gi"}
    fleet["workloads"]["radar"]["copies"] = 9
    assert words(fleet)["radar"] == "guaranteed"


def test_a_driver_that_is_not_known_and_not_described_says_how_to_describe_it(fleet: dict[str, Any]) -> None:
    lab(fleet)["drivers"]["fpga"].pop("described")
    assert refused(fleet)[f"{AT}.drivers.fpga"] == "is not a known DRA driver"


@pytest.mark.parametrize(
    ("name", "changed", "path", "what"),
    [
        ("nvidia", {}, "", "describes a driver that this program knows"),
        (
            "fpga",
            {"publishes": "gpu.nvidia.com"},
            ".publishes",
            "is the name under which the known driver nvidia publishes",
        ),
    ],
)
def test_known_devices_cannot_be_described(
    fleet: dict[str, Any], name: str, changed: dict[str, str], path: str, what: str
) -> None:
    found = lab(fleet)["drivers"].pop("fpga")
    found["described"] |= changed
    lab(fleet)["drivers"][name] = {**found, "version": "0.5.0" if name == "nvidia" else "1.2.0"}
    assert refused(fleet)[f"{AT}.drivers.{name}.described{path}"] == what


def test_a_described_driver_has_a_version_as_charts_have(fleet: dict[str, Any]) -> None:
    lab(fleet)["drivers"]["fpga"]["version"] = "latest"
    assert refused(fleet) == {f"{AT}.drivers.fpga.version": "is not a version of a chart: latest"}


def test_devices_that_no_driver_of_the_cluster_publishes_are_refused(fleet: dict[str, Any]) -> None:
    lab(fleet)["pools"]["cards"]["devices"][1]["driver"] = "fpga.example.org"
    output = refused(fleet)
    assert output == {f"{AT}.pools.cards.devices[1].driver": "is published by no driver of the cluster"}


def test_devices_of_a_known_driver_are_not_described(fleet: dict[str, Any]) -> None:
    lab(fleet)["pools"]["cards"]["devices"][1]["driver"] = "gpu.nvidia.com"
    output = refused(fleet)
    what = "is known: driver nvidia publishes what follows from the machine"
    assert output == {f"{AT}.pools.cards.devices[1].driver": what}


def test_two_kinds_of_devices_need_two_names(fleet: dict[str, Any]) -> None:
    lab(fleet)["pools"]["cards"]["devices"][1]["name"] = "fpga"
    what = "is the name of other devices of the pool"
    at = f"{AT}.pools.cards.devices"
    assert refused(fleet) == {f"{at}[0].name": what, f"{at}[1].name": what}


def test_a_device_has_no_more_entries_than_a_slice_may_hold(fleet: dict[str, Any]) -> None:
    item = lab(fleet)["pools"]["cards"]["devices"][1]
    item["attributes"] |= {f"more{number}": number for number in range(30)}
    output = refused(fleet)
    assert output == {f"{AT}.pools.cards.devices[1]": "has more attributes and capacities than a device may"}


def test_a_machine_has_a_model_of_gpus_and_their_number_or_neither(fleet: dict[str, Any]) -> None:
    lab(fleet)["pools"]["cards"]["machine"] = {"gpus": 2, "cpus": 32, "memory": 128}
    assert list(refused(fleet).values()) == ["must have gpu and gpus, or neither"]


LANES = {"name": "lanes", "type": "integer", "required": True, "least": "1", "most": "4"}
FPGA = {"kind": "FpgaConfig", "apiVersion": "fpga.example.com/v1"}


@pytest.mark.parametrize(
    ("takes", "given", "output"),
    [
        (None, {"anything": 1}, None),
        (
            [],
            FPGA,
            (
                "is read by no one: driver fpga.example.com takes no parameters in version 1.2.0\n"
                '  got: {"kind": "FpgaConfig", "apiVersion": "fpga.example.com/v1"}\n'
                "  fix: remove the entry of config"
            ),
        ),
        ([{**FPGA, "fields": [LANES]}], {**FPGA, "lanes": 4}, None),
        ([{**FPGA, "fields": [LANES]}], {**FPGA, "lanes": 5}, "must be at most 4\n  got: 5"),
        ([{**FPGA, "fields": [LANES]}], FPGA, "is required\n  fix: set lanes"),
        (
            [{**FPGA, "fields": [LANES]}],
            {**FPGA, "lanes": 1, "lane": 2},
            (
                "is not a field of FpgaConfig; the driver would refuse to prepare the device\n  got: lane\n"
                "  allowed: lanes\n  fix: did you mean lanes?"
            ),
        ),
    ],
)
def test_its_opaque_parameters_are_those_that_are_described(
    fleet: dict[str, Any], takes: list[Any] | None, given: dict[str, Any], output: str | None
) -> None:
    if takes is not None:
        lab(fleet)["drivers"]["fpga"]["described"]["parameters"] = takes
    claim = next(iter(fleet["claims"].values()))
    claim["config"] = [{"opaque": {"driver": "fpga.example.com", "parameters": given}}]
    failures = prove(make_plan(parse(fleet))).failures
    assert [text.partition("on cluster lab: ")[2] for text in failures] == ([output] if output else [])
