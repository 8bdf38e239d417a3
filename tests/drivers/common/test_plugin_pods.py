from typing import Any

import pytest

from dra_fleet import drivers
from dra_fleet.drivers.common.plugin_pods import PluginPods
from dra_fleet.kubernetes.scheduling.node_affinity import some_labels
from dra_fleet.kubernetes.scheduling.taints import Toleration


def pods(driver: str, version: str, values: dict[str, Any]) -> PluginPods:
    """The pods of a chart's version, of the newest where none is named."""
    [found] = [one for one in drivers.known() if one.name == driver]
    chart = found.facts.version(version) if version else found.facts.versions[-1]
    return PluginPods.of(found, chart, values)


def test_values_that_say_nothing_leave_the_pods_to_the_chart() -> None:
    found = pods("nvidia", "0.5.0", {})
    assert found.is_default_affinity
    assert found.is_default_tolerations
    assert found.given == (Toleration(key="nvidia.com/gpu", operator="Exists", effect="NoSchedule"),)
    assert found.affinity.matches(some_labels({"nvidia.com/gpu.present": "true"})) == "yes"
    assert found.affinity.matches(some_labels({})) == "unknown"


@pytest.mark.parametrize("given", [None, []])
def test_null_and_an_empty_list_take_the_chart_s_tolerations_away(given: object) -> None:
    found = pods("nvidia", "0.5.0", {"kubeletPlugin": {"tolerations": given, "affinity": None}})
    assert found.given == ()
    assert not found.is_default_tolerations
    assert not found.affinity.chooses


def test_shows_tolerations_that_no_value_changes_separately() -> None:
    found = pods("dranet", "1.0.0", {"tolerations": []})
    assert found.given == ()
    assert found.always == (Toleration(key="CriticalAddonsOnly", operator="Exists"),)


def test_a_version_that_is_unknown_tolerates_nothing() -> None:
    found = pods("nvidia", "0.0.1", {})
    assert (found.given, found.always) == ((), ())
