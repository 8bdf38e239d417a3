from typing import Any

import pytest

from dra_fleet.fleet import SettingsInvalid, parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.stack_file import read_fleet
from dra_fleet.proof.prove import prove
from tests.fleet.plan.plan_helpers import ROOT, planned
from tests.fleet.plan.tables import Case, table

AT = "dra-fleet:fleet.clusters.lab"


def described() -> dict[str, Any]:
    return dict(read_fleet(ROOT / "examples" / "fpga-unknown-driver.yaml"))


fleet = pytest.fixture(described)


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


@table(__file__, described)
def test_plan(case: Case) -> None:
    case.verify()


def test_a_device_has_no_more_entries_than_a_slice_may_hold(fleet: dict[str, Any]) -> None:
    item = lab(fleet)["pools"]["cards"]["devices"][1]
    item["attributes"] |= {f"more{number}": number for number in range(30)}
    output = refused(fleet)
    assert output == {f"{AT}.pools.cards.devices[1]": "has more attributes and capacities than a device may"}


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
