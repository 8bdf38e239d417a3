from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_fleet import drivers
from dra_fleet.core.facts import NAME, VARIABLE
from dra_fleet.drivers.common.facts import driver_facts
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.registry import archives, charts
from tests.charts import chart_folder
from tests.fleet.plan.plan_helpers import dev, planned

CHART = "dra-driver-nvidia-gpu"
OWN = """
drivers:
  nvidia:
    versions:
      - {version: 0.6.0, like: 0.4.1, source: the chart, date: 2026-11-20}
      - {version: 0.7.0, like: 0.6.0, source: the chart, date: 2026-11-20}
"""


@pytest.fixture(autouse=True)
def facts_as_before() -> Iterator[None]:
    """A process reads its facts once; here a test has a separate catalogue."""
    driver_facts.cache_clear()
    yield
    driver_facts.cache_clear()
    archives.packed.cache_clear()


def likeness(version: str, home: Path) -> Path:
    fleet = dev()
    fleet["clusters"]["lab"]["drivers"]["nvidia"] |= {"version": version, "values": {}}
    charts.write_likenesses(planned(fleet), Home(home))
    return charts.made(Home(home)) / CHART / version


def values(chart: Path) -> str:
    return (chart / "values.yaml").read_text()


def test_a_version_that_is_unknown_is_rehearsed_as_the_newest_before_it(tmp_path: Path) -> None:
    made = likeness("0.6.0", tmp_path)
    served = charts.local(CHART, "0.6.0", Home(tmp_path))
    assert served is not None
    assert (served.metadata["version"], served.metadata["appVersion"]) == ("0.6.0", "0.6.0")
    assert served.origin == "imitated"
    assert values(made) == values(chart_folder(CHART, "0.5.0"))


def test_a_version_of_one_s_own_is_rehearsed_as_what_it_is_like(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / NAME
    file.write_text(OWN)
    monkeypatch.setenv(VARIABLE, str(file))
    made = likeness("0.7.0", tmp_path / "home")
    nvidia = drivers.named("nvidia")
    assert nvidia is not None
    output = nvidia.facts.checked_version("0.7.0")
    assert output is not None
    assert (output.like, output.checked_by) == ("0.6.0", "")
    assert values(made) == values(chart_folder(CHART, "0.4.1"))


def test_a_known_version_is_not_made_again(tmp_path: Path) -> None:
    assert not likeness("0.5.0", tmp_path).exists()


@pytest.mark.parametrize("version", ["0.5.0", "0.6.0"])
def test_without_go_no_chart_is_fetched_and_none_made(
    version: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archives.packed.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("DRA_FLEET_CACHE", str(tmp_path / "cache"))
    assert not likeness(version, tmp_path / "home").exists()
