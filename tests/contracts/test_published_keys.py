import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from dra_fleet import drivers
from dra_fleet.core.facts import read_mapping
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.fleet.stack_file import read_fleet
from tests.fleet.plan.plan_helpers import ROOT, planned

_LINES: Final[Mapping[str, Mapping[str, Mapping[str, int]]]] = read_mapping(
    (Path(__file__).parent / "published_keys.yaml").read_text(encoding="utf-8")
)
"""By driver, source file and key: the line that writes the key."""
_SOURCE: Final = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)/blob/([\w.]+)/(.+)")
_MODULES: Final = {
    "kubernetes-sigs/dra-driver-cpu": "github.com/kubernetes-sigs/dra-driver-cpu",
    "kubernetes-sigs/dranet": "sigs.k8s.io/dranet",
    "kubernetes-sigs/dra-driver-nvidia-gpu": "sigs.k8s.io/dra-driver-nvidia-gpu",
    "kubernetes-sigs/dra-example-driver": "sigs.k8s.io/dra-example-driver",
}
"""Repositories that the module proxy serves, with their module."""
_SERVED: Final = sorted(
    (_MODULES[found[1]], found[2], found[3], tuple(lines.items()))
    for files in _LINES.values()
    for source, lines in files.items()
    if (found := _SOURCE.fullmatch(source)) is not None
    and found[1] in _MODULES
    and re.match(r"v(0|1)\.", found[2])
)


@pytest.mark.parametrize("name", drivers.BUILT_IN)
def test_every_catalogued_key_names_the_source_line_that_writes_it(name: str) -> None:
    driver = drivers.named(name)
    assert driver is not None
    facts = driver.facts
    catalogued = [facts.key(item.name) for item in (*facts.attributes, *facts.capacities)]
    named = [key for lines in _LINES[name].values() for key in lines]
    assert sorted(named) == sorted(catalogued)
    assert all(_SOURCE.fullmatch(source) for source in _LINES[name])


@pytest.mark.network
@pytest.mark.engine
@pytest.mark.parametrize(("module", "version", "file", "keys"), _SERVED)
def test_the_named_line_of_a_served_module_writes_the_key(
    module: str, version: str, file: str, keys: tuple[tuple[str, int], ...]
) -> None:
    lines = (_downloaded(f"{module}@{version}") / file).read_text(encoding="utf-8").splitlines()
    written = {key: lines[number - 1] for key, number in keys}
    short = {key: re.sub(r"\d+$", "", key.rpartition("/")[2]).casefold() for key in written}
    assert [key for key, line in written.items() if short[key] not in line.casefold()] == []


_CHARTS: Final = (
    ("nvidia", "0.4.1", "sigs.k8s.io/dra-driver-nvidia-gpu@v0.4.1", "deployments/helm/dra-driver-nvidia-gpu"),
    ("nvidia", "0.5.0", "sigs.k8s.io/dra-driver-nvidia-gpu@v0.5.0", "deployments/helm/dra-driver-nvidia-gpu"),
    ("dranet", "1.4.0", "sigs.k8s.io/dranet@v1.4.0", "deployments/helm/dranet"),
    ("dracpu", "0.2.0", "github.com/kubernetes-sigs/dra-driver-cpu@v0.2.0", "deployment/helm/dra-driver-cpu"),
)
_REFUSED_BY_TEMPLATES: Final = {"namespace", "nvidiaCtkPath"}
"""Values of older charts: `templates/validation.yaml` fails if one is set."""


@pytest.mark.network
@pytest.mark.engine
@pytest.mark.parametrize(("name", "version", "module", "chart"), _CHARTS)
def test_every_value_that_templates_read_is_known(name: str, version: str, module: str, chart: str) -> None:
    driver = drivers.named(name)
    known = driver.facts.version(version) if driver is not None else None
    assert known is not None
    templates = [path for path in (_downloaded(module) / chart / "templates").rglob("*") if path.is_file()]
    text = "".join(path.read_text(encoding="utf-8") for path in templates)
    read = set(re.findall(r"\.Values\.((?:\w+\.)*\w+)", text)) - _REFUSED_BY_TEMPLATES
    assert read
    assert [
        key
        for key in sorted(read)
        if not any(f"{one}.".startswith(f"{key}.") or f"{key}.".startswith(f"{one}.") for one in known.values)
    ] == []


def _downloaded(module: str) -> Path:
    go = shutil.which("go")
    assert go is not None, "Go is needed, as README says"
    asked = [go, "mod", "download", "-json", module]
    done = subprocess.run(asked, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Path(json.loads(done.stdout)["Dir"])


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
