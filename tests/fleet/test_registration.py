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
from dra_fleet.fleet.settings import FleetSettings
from dra_fleet.model.settings import ExclusiveSharing

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
