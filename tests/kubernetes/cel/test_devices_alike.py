from typing import Any

import pytest

from dra_fleet.kubernetes.cel import ONE_OF, UNKNOWN, CelDevice, environment

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
