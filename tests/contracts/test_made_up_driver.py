import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dra_fleet import drivers
from dra_fleet.check.values_files import find_chart
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.registry import NotRegistered
from dra_fleet.drivers import Driver
from dra_fleet.fleet import SettingsInvalid
from tests.contracts.registering import MADE_UP, installed
from tests.proof.proof_helpers import fleet, gpus, plan_of, pool, proved

FOUR_LANES = gpus(1)


@pytest.fixture
def acme() -> Iterator[Driver]:
    with installed():
        driver = drivers.named("acme")
        assert driver is not None
        yield driver


def stack(copies: int, request: dict[str, Any], values: dict[str, Any] | None = None) -> dict[str, Any]:
    return fleet(
        {"cpu": pool(FOUR_LANES, "cpu")},
        drivers={"acme": {"version": "1.0.0", "values": values or {}}},
        classes={"lane": {"driver": "acme", "product": "Lane 3", "memory": {"min": "4Gi"}}},
        claims={"some": {"requests": {"lane": request}}},
        workloads={"smoke": ("some", copies)},
    )


@pytest.mark.usefixtures("acme")
def test_it_is_known_beside_the_built_in_ones() -> None:
    assert drivers.names() == [*drivers.BUILT_IN, "acme"]
    assert [driver.name for driver in drivers.known()] == drivers.names()


def test_it_is_not_known_where_its_package_is_not_installed() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        plan_of(stack(1, {"class": "lane"}))
    assert {error.path: error.what for error in invalid.value.errors} == {
        "dra-fleet:fleet.classes.lane.driver": "is not a known DRA driver",
        "dra-fleet:fleet.clusters.lab.drivers.acme": "is not a known DRA driver",
    }


@pytest.mark.usefixtures("acme")
def test_its_chart_is_planned_with_its_values_and_its_class_with_its_attributes() -> None:
    (cluster,) = plan_of(stack(1, {"class": "lane"})).clusters
    (release,) = cluster.releases
    assert (release.name, release.driver, release.namespace, release.values) == (
        "acme-lanes",
        "lanes.acme.example",
        "acme-system",
        {"speed": "full"},
    )
    (lane,) = cluster.classes
    assert lane.spec.to_object()["selectors"][0]["cel"]["expression"] == (
        "device.driver == 'lanes.acme.example' && device.attributes['lanes.acme.example'].model == 'Lane 3' "
        "&& device.capacity['lanes.acme.example'].memory.compareTo(quantity('4Gi')) >= 0"
    )


@pytest.mark.usefixtures("acme")
def test_rejects_values_that_its_chart_rejects() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        plan_of(stack(1, {"class": "lane"}, {"speed": "double"}))
    assert {error.path: error.what for error in invalid.value.errors} == {
        "dra-fleet:fleet.clusters.lab.drivers.acme.values.speed": "is not a speed of a lane"
    }


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(("copies", "word"), [(4, "guaranteed"), (5, "never")])
@pytest.mark.parametrize("name", ["lane", "lane.acme.example"])
def test_its_devices_are_proved_as_those_of_any_driver(copies: int, word: str, name: str) -> None:
    (found,) = proved(stack(copies, {"class": name})).workloads
    assert found.word == word


@pytest.mark.usefixtures("acme")
def test_unknown_values_of_its_devices_are_never_guessed() -> None:
    request = {"class": "lane", "selectors": ["device.attributes['lanes.acme.example'].serial == '1'"]}
    (found,) = proved(stack(1, request)).workloads
    assert found.word == "unknown"


@pytest.mark.usefixtures("acme")
def test_a_values_file_is_checked_against_its_chart() -> None:
    assert find_chart("acme-lanes", "1.0.0").driver.name == "acme"


def test_a_driver_without_facts_names_the_missing_file(tmp_path: Path) -> None:
    folder = tmp_path / "made_up"
    shutil.copytree(MADE_UP, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "acme_driver" / "driver.yaml").unlink()
    with installed(folder):
        driver = drivers.named("acme")
        assert driver is not None
        with pytest.raises(ExpectedError, match=r"^driver acme has no facts: write acme_driver/driver.yaml$"):
            _ = driver.facts


def test_a_driver_without_an_abstract_method_names_the_method(tmp_path: Path) -> None:
    folder = tmp_path / "made_up"
    shutil.copytree(MADE_UP, folder, ignore=shutil.ignore_patterns("__pycache__"))
    value = folder / "acme_driver" / "__init__.py"
    text = value.read_text(encoding="utf-8")
    assert "def serves" in text
    value.write_text(text.replace("def serves", "def has").replace("    @override\n", ""), encoding="utf-8")
    with installed(folder), pytest.raises(NotRegistered, match=r"abstract method.*serves"):
        drivers.named("acme")


def test_an_entry_point_that_names_no_driver_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "made_up"
    shutil.copytree(MADE_UP, folder, ignore=shutil.ignore_patterns("__pycache__"))
    points = folder / "made_up-1.0.dist-info" / "entry_points.txt"
    points.write_text("[dra_fleet.drivers]\nacme = acme_driver:Driver\n", encoding="utf-8")
    with installed(folder), pytest.raises(NotRegistered) as wrong:
        drivers.named("acme")
    assert str(wrong.value) == (
        "entry point acme of group dra_fleet.drivers, acme_driver:Driver, is not a Driver"
    )
