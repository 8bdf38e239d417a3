from typing import Any

import pytest

from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN, CelDevice, CelInvalid, environment
from dra_fleet.kubernetes.cel.evaluator import oldest_alike

DOMAIN = "gpu.nvidia.com"
ATTRIBUTES = f"device.attributes['{DOMAIN}']"
WHOLE: dict[str, Any] = {
    "attributes": {"type": {"string": "gpu"}, "index": {"int": 0}, f"{DOMAIN}/named": {"string": "fully"}},
    "capacity": {"memory": {"value": "8Gi"}},
}


def device(driver: str = DOMAIN, **changes: Any) -> CelDevice:
    return CelDevice.of({**WHOLE, **changes}, driver)


def attributes(**changes: Any) -> CelDevice:
    return device(attributes={**WHOLE["attributes"], **changes})


def verdicts(expression: str, *devices: CelDevice, minor: str = "1.36") -> list[str]:
    program = environment(minor).compile(expression)
    return [program.evaluate(each).outcome for each in devices]


def test_devices_that_differ_in_what_no_one_reads_have_one_verdict() -> None:
    program = environment("1.36").compile(f"{ATTRIBUTES}.type == 'gpu' && {ATTRIBUTES}.named == 'fully'")
    first, second = attributes(index={"int": 1}), attributes(index={"int": 2})
    assert first.key != second.key
    assert program.evaluate(first) is program.evaluate(second)


@pytest.mark.parametrize(
    ("expression", "other", "outcomes"),
    [
        (f"{ATTRIBUTES}.index == 0", attributes(index={"int": 1}), ["true", "false"]),
        (f"{ATTRIBUTES}.index == 0", attributes(index={"string": "0"}), ["true", "false"]),
        (f"{ATTRIBUTES}.index == 0", attributes(index=UNKNOWN), ["true", "unknown"]),
        (f"{ATTRIBUTES}.index == 0", device(attributes={}), ["true", "error"]),
        (f"{ATTRIBUTES}.index == 0", device("other.example.com"), ["true", "error"]),
        (f"'index' in {ATTRIBUTES}", device(attributes={}), ["true", "false"]),
        (f"{ATTRIBUTES}.exists(k, k == 'more')", attributes(more={"int": 1}), ["false", "true"]),
        ("size(device.attributes) == 1", attributes(**{"b.example/x": {"int": 1}}), ["true", "false"]),
        ("'b.example' in device.attributes", attributes(**{"b.example/x": {"int": 1}}), ["false", "true"]),
        (
            f"cel.bind(all, {ATTRIBUTES}, all['in' + 'dex'] == 0)",
            attributes(index={"int": 1}),
            ["true", "false"],
        ),
        (
            f"device.attributes[device.driver == '{DOMAIN}' ? '{DOMAIN}' : 'x'].index == 0",
            attributes(index={"int": 1}),
            ["true", "false"],
        ),
        ("device.driver == 'gpu.nvidia.com'", device("other.example.com"), ["true", "false"]),
        ("device.allowMultipleAllocations", device(allowMultipleAllocations=True), ["false", "true"]),
        (
            f"device.capacity['{DOMAIN}'].memory.compareTo(quantity('8Gi')) == 0",
            device(capacity={"memory": {"value": "8Gi", ONE_OF: ["8Gi", "16Gi"]}}),
            ["true", "unknown"],
        ),
        (f"{ATTRIBUTES}.type == 'gpu'", attributes(more={}), ["true", "error"]),
    ],
)
def test_devices_that_differ_in_what_is_read_are_checked_apart(
    expression: str, other: CelDevice, outcomes: list[str]
) -> None:
    assert verdicts(expression, device(), other) == outcomes
    assert verdicts(expression, other, device()) == outcomes[::-1]


@pytest.mark.parametrize(("minor", "outcomes"), [("1.36", ["true", "unknown"]), ("1.37", ["true", "true"])])
def test_a_list_counts_below_the_minor_that_keeps_it(minor: str, outcomes: list[str]) -> None:
    listed = attributes(more={"ints": [1]})
    assert verdicts(f"{ATTRIBUTES}.type == 'gpu'", device(), listed, minor=minor) == outcomes


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
