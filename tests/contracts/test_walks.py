import re
import tomllib

import pytest

from dra_fleet import clouds, drivers
from dra_fleet.core.places import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
WITHOUT = {"existing": {"account.py", "__init__.py", "existing.md", "existing"}}
"""Cloud -> what it does without: no cloud makes an existing cluster."""


def walk(title: str) -> str:
    """The text of a walk."""
    _, _, rest = PAGE.partition(f"## {title}\n")
    return rest.partition("\n## ")[0]


def paths(title: str, word: str, name: str) -> list[str]:
    """The paths of a walk, for one name."""
    found = re.findall(r"`([\w./<>-]+/[\w./<>-]*)`", walk(title))
    return [path.replace(f"<{word}>", name) for path in found]


def test_packages_are_listed_in_their_import_order() -> None:
    _, _, packages = walk("Packages").partition("dra_fleet/\n")
    leading = re.findall(r"^ +((?:\w+/\s+)+)", packages.partition("```")[0], re.MULTILINE)
    named = [package.rstrip("/") for line in leading for package in line.split()]
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    layers = [layer.split(" | ") for layer in contracts["contracts"][0]["layers"]]
    level = {package: at for at, layer in enumerate(layers) for package in layer}
    assert sorted(named) == sorted(
        folder.parent.name for folder in (ROOT / "dra_fleet").glob("*/__init__.py")
    )
    assert named == sorted(named, key=lambda package: level[f"dra_fleet.{package}"])


@pytest.mark.parametrize("cloud", clouds.BUILT_IN)
def test_every_file_of_the_walk_of_a_cloud_is_there(cloud: str) -> None:
    missing = {path for path in paths("A cloud", "cloud", cloud) if not (ROOT / path).exists()}
    assert {path.rpartition("/")[2] for path in missing} == WITHOUT.get(cloud, set())


@pytest.mark.parametrize("driver", drivers.BUILT_IN)
def test_every_file_of_the_walk_of_a_driver_is_there(driver: str) -> None:
    assert [path for path in paths("A driver", "driver", driver) if not (ROOT / path).exists()] == []


def test_every_strategy_of_sharing_has_its_file_and_its_tests() -> None:
    folder, tests = (path for path in paths("A sharing strategy", "driver", "nvidia") if "sharing" in path)
    both = {"time-slicing": "replicas", "mps": "replicas"}
    names = [
        str(settings.model_fields["strategy"].default)
        for driver in drivers.known()
        for settings in driver.strategies()
    ]
    strategies = {both.get(name, name) for name in names}
    assert strategies == {file.stem for file in (ROOT / folder).glob("[!_]*.py")}
    assert list((ROOT / tests).glob("test_*.py")) != []


def test_every_file_of_rules_has_a_file_of_cases_of_its_name() -> None:
    rules, cases = paths("A rule", "rule", "")
    names = {file.name for file in (ROOT / rules).glob("[!_]*.py")}
    assert names
    assert names == {file.name for file in (ROOT / cases).glob("[!_]*.py")}
