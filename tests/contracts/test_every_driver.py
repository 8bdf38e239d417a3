from collections.abc import Iterator

import pytest

from dra_fleet import clouds, drivers
from dra_fleet.drivers import Driver
from dra_fleet.drivers.base import Accelerators
from dra_fleet.drivers.common.parameters import check_parameters
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import nested
from dra_fleet.drivers.installed import Installed
from tests.contracts.registering import installed

with installed():
    NAMES = drivers.names()


@pytest.fixture(params=NAMES)
def driver(request: pytest.FixtureRequest) -> Iterator[Driver]:
    """Each driver, the made-up one too."""
    with installed():
        found = drivers.named(request.param)
        assert found is not None
        yield found


def test_the_name_of_its_facts_is_one_it_publishes_under(driver: Driver) -> None:
    assert driver.facts.driver in driver.publishers
    assert {kind.driver for kind in driver.facts.parameters or ()} <= set(driver.publishers)


def test_the_placement_of_its_plugin_is_a_value_of_every_version(driver: Driver) -> None:
    for version in driver.facts.versions:
        assert driver.plugin_key("tolerations") in version.values
        assert (driver.plugin_key("nodeSelector") in version.values) is version.chooses_nodes


def test_a_chart_value_that_no_version_has_is_refused_once_with_those_that_there_are(driver: Driver) -> None:
    for version in driver.facts.versions:
        [output] = check_values(version, {"plugin-tolerations": []})
        is_closed = "" in version.closed_sections
        effect = "refuse it by the chart's schema" if is_closed else "ignore it silently"
        assert output.what == f"is not a value of chart {version.version}; Helm would {effect}"
        assert output.got == "plugin-tolerations"
        assert output.allowed
        assert output.fix


def test_a_chart_value_of_a_wrong_type_is_refused_with_what_it_takes(driver: Driver) -> None:
    for version in driver.facts.versions:
        wrong = nested({driver.plugin_key("tolerations"): "all"})
        [output] = check_values(version, wrong)
        assert (output.path, output.got) == (driver.plugin_key("tolerations"), '"all"')
        assert output.what == f"must be {output.allowed}"


def test_no_one_else_is_known_by_its_names(driver: Driver) -> None:
    others = [other for other in drivers.known() if other is not driver]
    assert len(others) == len(NAMES) - 1
    assert not any(set(driver.publishers) & set(other.publishers) for other in others)
    assert not any(driver.facts.owned_classes & other.facts.owned_classes for other in others)


def test_it_reports_accelerators_of_machines_that_it_serves_alone(driver: Driver) -> None:
    for machine in clouds.machines().values():
        output = driver.accelerators_of(machine)
        assert output is None or (driver.serves(machine) and output.count > 0)


def test_the_accelerators_of_a_machine_are_one_driver_s() -> None:
    found = {
        name: [
            output for driver in drivers.known() if (output := driver.accelerators_of(machine)) is not None
        ]
        for name, machine in clouds.machines().items()
    }
    assert [name for name, output in found.items() if len(output) > 1] == []
    assert found["p5.48xlarge"] == [Accelerators(model="H100-SXM5-80GB", count=8)]
    assert found["ct6e-standard-4t"] == [
        Accelerators(model="v6e", count=4, called="tpu-v6e-slice", topology="2x2")
    ]


def test_each_vendor_s_accelerators_of_a_machine_are_listed_for_a_driver() -> None:
    found = {vendor for machine in clouds.machines().values() for vendor in machine.vendors}
    assert found
    assert found <= set(NAMES)


def test_parameters_of_no_kind_that_it_decodes_are_refused_once_where_it_is_known_what_it_reads(
    driver: Driver,
) -> None:
    for version in driver.facts.versions:
        running = Installed(driver=driver, version=version, values={})
        for publisher in driver.publishers:
            found = check_parameters(publisher, {"apiVersion": "a.example/v1", "kind": "Speed"}, running)
            decoded = [one for one in driver.facts.parameters or () if one.driver == publisher]
            without_heads = [one for one in decoded if not one.head]
            assert len(found) == (driver.facts.parameters is not None) + len(without_heads)
            assert all(refusal.what and refusal.got and refusal.fix for refusal in found)


def test_a_field_that_it_does_not_decode_is_refused_with_those_that_it_does(driver: Driver) -> None:
    running = Installed(driver=driver, version=driver.facts.versions[-1], values={})
    for kind in driver.facts.parameters or ():
        heads = {"kind": kind.kind, "apiVersion": kind.api_version}
        given = {**{key: heads[key] for key in kind.head}, "speed": "fast"}
        (unknown,) = [one for one in check_parameters(kind.driver, given, running) if one.path == "speed"]
        assert unknown.what.startswith(f"is not a field of {kind.kind}; the driver would ")
        assert unknown.got == "speed"
        assert (unknown.allowed == "no fields") == (not kind.fields)
        assert unknown.fix


def test_every_driver_of_this_program_says_which_parameters_it_reads(driver: Driver) -> None:
    is_built_in = driver.package.startswith("dra_fleet.")
    assert is_built_in == (driver.facts.parameters is not None)
