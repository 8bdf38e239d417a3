from typing import Any

import pytest

from dra_fleet.kubernetes.cel import CelDevice, CelInvalid, environment
from dra_fleet.kubernetes.cel.evaluator import oldest_alike

PLAIN = "device.driver == 'a.example.com'"
LIST: dict[str, Any] = {"name": "a", "attributes": {"sizes": {"ints": [1, 2]}}}


@pytest.mark.parametrize(
    ("expression", "oldest"),
    [
        (PLAIN, {34: 34, 35: 34, 36: 34, 37: 34}),
        (f"{PLAIN} && [2, 1].sort()[0] == 1", {34: 34, 35: 35, 36: 35, 37: 35}),
        (f"{PLAIN} && [2, 1].sortBy(x, x)[0] == 1", {34: 34, 35: 35, 36: 35, 37: 35}),
        (f"{PLAIN} && device.allowMultipleAllocations", {34: 34, 35: 34, 36: 36, 37: 36}),
        (f"{PLAIN} && lists.range(-1).size() == 0", {34: 34, 35: 35, 36: 35, 37: 37}),
        (f"{PLAIN} && 'a'.indexOf('', 7) == 7", {34: 34, 35: 34, 36: 34, 37: 37}),
    ],
)
def test_the_words_of_an_expression_report_which_minors_check_it_alike(
    expression: str, oldest: dict[int, int]
) -> None:
    assert {minor: oldest_alike(expression, minor) for minor in oldest} == oldest


def test_other_minors_reuse_the_evaluation_of_one_minor() -> None:
    device = CelDevice.of({"name": "a"}, "a.example.com")
    assert environment("1.34").compile(PLAIN).evaluate(device) is environment("1.37").compile(PLAIN).evaluate(
        device
    )


def test_only_the_newest_minors_check_devices_with_lists() -> None:
    device = CelDevice.of(LIST, "a.example.com")
    verdicts = {
        minor: environment(minor).compile(PLAIN).evaluate(device) for minor in ("1.37", "1.36", "1.34")
    }
    assert verdicts["1.37"].outcome == "true"
    assert "which Kubernetes 1.36 may not keep" in verdicts["1.36"].message
    assert "which Kubernetes 1.34 may not keep" in verdicts["1.34"].message


def test_rejects_functions_that_a_minor_does_not_know() -> None:
    expression = f"{PLAIN} && device.allowMultipleAllocations"
    assert environment("1.36").compile(expression).expression == expression
    with pytest.raises(CelInvalid, match="undefined field 'allowMultipleAllocations'"):
        environment("1.35").compile(expression)
