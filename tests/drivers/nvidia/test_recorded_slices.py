import copy
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from dra_fleet.drivers.nvidia.simulation import node_side
from scripts.recorded_cases import DYNAMIC, EXCLUSIVE, SHARES, STATIC, Case, cases, served_machines
from scripts.recorded_slices import compare, comparisons, recorded, recorded_versions

H100 = "hgx-h100-8"
WHOLE = Case(machine=H100, version="0.5.0", mode=EXCLUSIVE)


def published(case: Case) -> dict[str, Any]:
    return copy.deepcopy(recorded(case.version)["slices"][case.key])


def test_every_version_whose_driver_can_be_built_is_recorded() -> None:
    assert recorded_versions() == node_side.versions()


@pytest.mark.parametrize("version", recorded_versions())
def test_a_recording_is_of_the_module_that_is_pinned(version: str) -> None:
    assert recorded(version)["module"] == f"{node_side.DRIVER} {node_side.recipe(version).version}"


@pytest.mark.slow
@pytest.mark.parametrize("version", recorded_versions())
def test_every_case_of_every_machine_is_recorded_and_nothing_else(version: str) -> None:
    assert set(recorded(version)["slices"]) == {case.key for case in cases(version)}
    assert {one.machine for one in comparisons(version)} == set(served_machines())


@pytest.mark.slow
@pytest.mark.parametrize("version", recorded_versions())
@pytest.mark.parametrize("mode", [EXCLUSIVE, STATIC, DYNAMIC, SHARES])
def test_the_driver_publishes_what_is_predicted(
    version: str, mode: str, compared: Callable[[str, Mapping[str, int]], None]
) -> None:
    found = [one for one in comparisons(version) if one.case.mode == mode]
    verdicts = Counter(
        "not comparable" if one.unpredictable else "differ" if one.differences else "equal" for one in found
    )
    if found:
        compared(f"NVIDIA's own driver {version}, {mode}", {"cases": len(found), **verdicts})
    assert {f"{one.machine} {one.case.key}": one.differences for one in found if one.differences} == {}


def test_an_attribute_that_is_published_otherwise_is_a_difference() -> None:
    real = published(WHOLE)
    real["devices"][0]["attributes"]["architecture"] = {"string": "Rubin"}
    assert compare(H100, WHOLE, real).differences == (
        "gpu-0.attributes.architecture.string: predicted 'Hopper', published 'Rubin'",
    )


def test_an_attribute_that_is_not_published_is_a_difference() -> None:
    real = published(WHOLE)
    del real["devices"][0]["attributes"]["brand"]
    assert compare(H100, WHOLE, real).differences == (
        'gpu-0.attributes.brand: predicted {"string": "Nvidia"}, not published',
    )


def test_an_attribute_that_no_one_predicted_is_a_difference() -> None:
    real = published(WHOLE)
    real["devices"][0]["attributes"]["colour"] = {"string": "green"}
    assert compare(H100, WHOLE, real).differences == (
        'gpu-0.attributes.colour: published {"string": "green"}, not predicted',
    )


def test_a_device_that_is_missing_or_too_many_is_a_difference() -> None:
    real = published(WHOLE)
    real["devices"][0]["name"] = "gpu-8"
    assert compare(H100, WHOLE, real).differences == (
        "gpu-0: predicted, not published",
        "gpu-8: published, not predicted",
    )
