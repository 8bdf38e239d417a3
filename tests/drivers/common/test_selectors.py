from typing import Any

import pytest

from dra_fleet.drivers.common.selectors import quoted, selector
from dra_fleet.drivers.example.driver import DRIVER as EXAMPLE
from dra_fleet.drivers.nvidia.driver import DRIVER as NVIDIA
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
