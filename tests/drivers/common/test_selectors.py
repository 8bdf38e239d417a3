from typing import Any

import pytest

from dra_fleet import drivers
from dra_fleet.drivers.common.placement import PluginPods
from dra_fleet.drivers.common.selectors import quoted, selector
from dra_fleet.drivers.example.driver import DRIVER as EXAMPLE
from dra_fleet.drivers.nvidia.driver import DRIVER as NVIDIA
from dra_fleet.kubernetes.scheduling.node_affinity import some_labels
from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.model.classes import IntentClass

G = "device.driver == 'gpu.nvidia.com'"
A = "device.attributes['gpu.nvidia.com']"
C = "device.capacity['gpu.nvidia.com']"
CC = f"{A}.cudaComputeCapability"
SM = f"{C}.multiprocessors"
MIG = f"{G} && {A}.type == 'mig'"
GPU = f"{G} && {A}.type == 'gpu'"


def written(**intent: Any) -> str:
    expression, problems = selector(made(intent), NVIDIA)
    assert problems == []
    return expression


def made(intent: dict[str, Any], driver: str = "nvidia") -> IntentClass:
    return IntentClass.model_validate({"driver": driver, **intent})


@pytest.mark.parametrize(
    ("intent", "expression"),
    [
        ({}, G),
        ({"type": "gpu"}, f"{GPU}"),
        (
            {"type": "gpu", "memory": {"min": "20Gi"}},
            f"{GPU} && 'memory' in {C} && {C}.memory.compareTo(quantity('20Gi')) >= 0",
        ),
        (
            {"type": "mig", "memory": {"min": "4864Mi"}, "multiprocessors": {"min": 14}},
            f"{MIG} && {C}.memory.compareTo(quantity('4864Mi')) >= 0 && {SM}.compareTo(quantity('14')) >= 0",
        ),
        (
            {"type": "gpu", "multiprocessors": {"max": 132}},
            f"{GPU} && 'multiprocessors' in {C} && {SM}.compareTo(quantity('132')) <= 0",
        ),
        ({"product": "NVIDIA A100-SXM4-40GB"}, f"{G} && {A}.productName == 'NVIDIA A100-SXM4-40GB'"),
        ({"architecture": "Hopper"}, f"{G} && 'architecture' in {A} && {A}.architecture == 'Hopper'"),
        ({"profile": "1g.5gb"}, f"{G} && 'profile' in {A} && {A}.profile == '1g.5gb'"),
        ({"type": "mig", "profile": "1g.5gb"}, f"{MIG} && {A}.profile == '1g.5gb'"),
        (
            {"type": "gpu", "computeCapability": {"min": "8.0", "max": "9.0"}},
            f"{GPU} && {CC}.compareTo(semver('8.0.0')) >= 0 && {CC}.compareTo(semver('9.0.0')) <= 0",
        ),
    ],
)
def test_an_intent_becomes_this_expression(intent: dict[str, Any], expression: str) -> None:
    assert written(**intent) == expression


@pytest.mark.parametrize(
    ("intent", "key", "what"),
    [
        ({"type": "gpv"}, "type", "is not a device type of driver nvidia"),
        ({"type": "gpu", "profile": "1g.5gb"}, "profile", "is never published for devices of type gpu"),
        ({"type": "vfio", "memory": {"min": "1Gi"}}, "memory", "is never published for devices of type vfio"),
    ],
)
def test_a_condition_no_device_can_answer_is_refused(intent: dict[str, Any], key: str, what: str) -> None:
    [problem] = selector(made(intent), NVIDIA)[1]
    assert (problem.path, problem.what) == (key, what)


def test_a_driver_without_types_or_architectures_says_so() -> None:
    expression, problems = selector(made({"type": "gpu", "architecture": "x"}, "example"), EXAMPLE)
    assert expression == "device.driver == 'gpu.example.com'"
    assert [problem.path for problem in problems] == ["architecture"]


def test_text_is_quoted_for_cel() -> None:
    assert quoted("a'b\\c\n") == "'a\\'b\\\\c\\n'"


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
