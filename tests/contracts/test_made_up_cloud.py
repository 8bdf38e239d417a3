"""A cloud of another package is one folder and one entry point; a part that it lacks is named."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, cast

import pytest

from dra_fleet import clouds
from dra_fleet.facts.parts import PartMissing
from dra_fleet.plan import make_plan
from dra_fleet.rehearsal.clouds.simulation import simulation_of
from dra_fleet.settings import SettingsInvalid, parse
from tests.contracts.meadow_stack import stack
from tests.contracts.registering import MADE_UP, installed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dra_fleet.clouds.cloud import Cloud

SIMULATION = "the simulation behind plugin meadow"
PARTS: dict[str, tuple[Callable[[Cloud], object], str]] = {
    "settings.py": (
        lambda cloud: cloud.settings,
        "cloud meadow has no settings: write meadow_cloud/settings.py with SETTINGS",
    ),
    "plan.py": (
        lambda cloud: cloud.planning,
        "cloud meadow has no plan: write meadow_cloud/plan.py with PLANNING",
    ),
    "resources.py": (
        lambda cloud: cloud.resources,
        "cloud meadow has no resources: write meadow_cloud/resources.py with RESOURCES",
    ),
    "exposure.py": (
        lambda cloud: cloud.exposure(make_plan(parse(stack())).clusters[0].settings),
        "cloud meadow has no exposure: write meadow_cloud/exposure.py with exposure",
    ),
    "cluster.py": (
        lambda cloud: cloud.component("components.clouds"),
        "cloud meadow has no component: write meadow_cloud/cluster.py with COMPONENT",
    ),
    "simulation.py": (
        lambda cloud: cloud.simulation,
        "cloud meadow has no simulation: write meadow_cloud/simulation.py with SIMULATION",
    ),
    "simulated.py": (
        lambda cloud: cast("Any", simulation_of(cloud.name)).start(None, None),
        f"{SIMULATION} has no simulated cloud: write meadow_cloud/simulated.py with SimulatedMeadow",
    ),
    "limits.py": (
        lambda cloud: simulation_of(cloud.name).limits_model(),
        f"{SIMULATION} has no limits: write meadow_cloud/limits.py with MeadowLimits",
    ),
    "meadow_login.py": (
        lambda cloud: simulation_of(cloud.name).helper_module(),
        f"{SIMULATION} has no credential helper: write meadow_cloud/meadow_login.py with main",
    ),
    "machines.yaml": (
        lambda cloud: cloud.machines,
        "cloud meadow has no machines: write meadow_cloud/machines.yaml",
    ),
}
"""By file: who asks for it, and what is told where it is left out."""


@pytest.fixture
def meadow() -> Iterator[Cloud]:
    with installed():
        yield clouds.named("meadow")


@pytest.mark.usefixtures("meadow")
def test_it_is_known_beside_the_built_in_ones() -> None:
    assert clouds.names() == [*clouds.BUILT_IN, "meadow"]


@pytest.mark.usefixtures("meadow")
def test_its_stack_is_planned_by_its_own_folder() -> None:
    (cluster,) = make_plan(parse(stack())).clusters
    (hens,) = cluster.pools
    assert (cluster.cloud, hens.machine.name, hens.labels) == ("meadow", "barn", {"dra-fleet/pool": "hens"})


@pytest.mark.usefixtures("meadow")
def test_its_own_check_refuses_its_own_settings() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        make_plan(parse(stack(field="fallow")))
    (error,) = invalid.value.errors
    assert str(error) == "dra-fleet:fleet.clusters.lab.field: bears nothing this year\n  got: fallow"


def test_it_is_not_known_where_its_package_is_not_installed() -> None:
    with pytest.raises(SettingsInvalid) as invalid:
        parse(stack())
    (error,) = invalid.value.errors
    assert error.path == "dra-fleet:fleet.clusters.lab.cloud"
    assert error.what == "is not one of the allowed values"


@pytest.mark.parametrize("file", PARTS)
def test_a_part_that_is_left_out_is_named(file: str, tmp_path: Path) -> None:
    folder = tmp_path / "made_up"
    shutil.copytree(MADE_UP, folder)
    (folder / "meadow_cloud" / file).unlink()
    use, told = PARTS[file]
    with installed(folder), pytest.raises(PartMissing) as missing:
        use(clouds.named("meadow"))
    assert str(missing.value) == told


def test_every_file_of_its_folder_is_such_a_part() -> None:
    files = {path.name for path in (MADE_UP / "meadow_cloud").iterdir() if path.is_file()}
    assert files == {*PARTS, "__init__.py"}
