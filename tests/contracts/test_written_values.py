from pathlib import Path

import pytest

from dra_fleet import drivers
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.fleet.stack_file import read_fleet
from tests.fleet.plan.plan_helpers import ROOT, planned

EXAMPLES = sorted((ROOT / "examples").glob("*.yaml"))


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_the_values_of_every_driver_of_an_example_are_of_its_chart(file: Path) -> None:
    plan = planned(dict(read_fleet(file)))
    for cluster in plan.clusters:
        for release in cluster.releases:
            facts = drivers.facts_of(release.driver)
            version = facts.checked_version(release.version) if facts is not None else None
            if version is not None:
                assert check_values(version, release.values) == []
                assert (version.chart, version.repository) == (release.chart, release.repository)


def test_every_driver_of_this_program_is_in_an_example() -> None:
    written = {
        release.driver
        for file in EXAMPLES
        for cluster in planned(dict(read_fleet(file))).clusters
        for release in cluster.releases
    }
    found = {driver.name: driver for name in drivers.BUILT_IN if (driver := drivers.named(name)) is not None}
    assert [name for name, driver in found.items() if driver.facts.driver not in written] == []
