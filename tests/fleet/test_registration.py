import re
import textwrap
from pathlib import Path
from pkgutil import resolve_name
from typing import get_args

import pytest

from dra_fleet import clouds, drivers
from dra_fleet.clouds.ack.settings import AckClusterSettings
from dra_fleet.clouds.aks.settings import AksClusterSettings
from dra_fleet.clouds.eks.settings import EksClusterSettings
from dra_fleet.clouds.existing.settings import ExistingClusterSettings
from dra_fleet.clouds.gke.settings import GkeClusterSettings
from dra_fleet.clouds.settings import CommonClusterSettings, CreatedClusterSettings, sharing_model
from dra_fleet.drivers.nvidia.settings import MigSharing, Mps, TimeSlicing
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.explanation import text
from dra_fleet.fleet.plan import make_plan
from dra_fleet.fleet.settings import FleetSettings
from dra_fleet.model.settings import ExclusiveSharing
from dra_fleet.proof.prove import prove
from dra_fleet.rehearsal.simulator.hardware_file import Hardware

CLOUD_FOLDERS = Path(clouds.__file__).parent
DRIVER_FOLDERS = Path(drivers.__file__).parent


def test_every_cloud_s_settings_are_in_the_union() -> None:
    clouds = {
        AckClusterSettings,
        AksClusterSettings,
        EksClusterSettings,
        ExistingClusterSettings,
        GkeClusterSettings,
    }
    models = [*CommonClusterSettings.__subclasses__(), *CreatedClusterSettings.__subclasses__()]
    known = {model for model in models if model.__module__.startswith("dra_fleet.clouds.")}
    assert known - {CreatedClusterSettings} == clouds
    assert {cloud.__name__ for cloud in clouds} <= set(FleetSettings.model_json_schema()["$defs"])


def test_every_cloud_has_settings_rules_and_machines_of_its_name() -> None:
    assert {path.parent.name for path in CLOUD_FOLDERS.glob("*/settings.py")} == set(clouds.names())
    for name in clouds.names():
        cloud = clouds.named(name)
        assert cloud.name == name
        assert get_args(cloud.settings.model_fields["cloud"].annotation) == (name,)
        assert {machine.cloud for machine in cloud.machines.values()} == {name}


def test_every_strategy_is_in_the_union() -> None:
    members = get_args(get_args(sharing_model())[0])
    offered = [model for driver in drivers.known() for model in driver.strategies()]
    assert members == (ExclusiveSharing, *offered) == (ExclusiveSharing, MigSharing, TimeSlicing, Mps)


@pytest.mark.parametrize("name", drivers.BUILT_IN)
def test_every_driver_has_its_folder_and_its_facts(name: str) -> None:
    driver = drivers.named(name)
    assert driver is not None
    assert Path(str(resolve_name(driver.package).__file__)).parent == DRIVER_FOLDERS / name
    assert driver.name == driver.facts.name == name


def test_every_driver_s_facts_are_registered() -> None:
    assert {path.parent.name for path in DRIVER_FOLDERS.glob("*/driver.yaml")} == set(drivers.BUILT_IN)


ROOT = Path(__file__).parents[2]
SHOWN = {"README.md": 1, "docs/stack.md": 2}
"""Pages, and how many YAML blocks each has."""
TAGS = {"`cloud`", "`strategy`"}
"""Keys that say which section a mapping is."""


def blocks(page: str) -> list[str]:
    found = re.findall(
        r"^ *```yaml\n(.*?)^ *```$", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return [textwrap.dedent(block) for block in found]


def test_every_key_says_what_it_means() -> None:
    rows = [line.split(" | ") for line in text().splitlines() if line.startswith("| `")]
    silent = [row[0] for row in rows if not row[-1].strip(" |") and row[0].removeprefix("| ") not in TAGS]
    assert len(rows) > 200
    assert silent == []


def test_every_link_leads_to_a_section() -> None:
    page = text()
    sections = {title.lower() for title in re.findall(r"^### (\w+)$", page, re.MULTILINE)}
    assert set(re.findall(r"\]\(#(\w+)\)", page)) <= sections


@pytest.mark.parametrize("page", SHOWN)
def test_the_stack_that_a_page_shows_is_right_and_every_workload_fits(tmp_path: Path, page: str) -> None:
    shown = blocks(page)
    assert len(shown) == SHOWN[page]
    file = tmp_path / "Pulumi.shown.yaml"
    file.write_text(shown[0], encoding="utf-8")
    proof = prove(make_plan(read_stack_file(file).settings))
    assert {item.word for item in proof.workloads} == {"guaranteed"}
    assert proof.fits
    assert proof.warnings == (), "a rehearsal has no autoscaler, so that all must fit on the least nodes"


def test_the_hardware_that_the_page_shows_is_hardware(tmp_path: Path) -> None:
    file = tmp_path / "shown.yaml"
    file.write_text(blocks("docs/stack.md")[1], encoding="utf-8")
    assert [node.name for node in Hardware.read(file).clusters["site"].nodes] == ["site-1", "site-2"]
