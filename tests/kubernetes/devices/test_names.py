import pytest

from dra_fleet.kubernetes.devices import names
from dra_fleet.kubernetes.devices.names import Check

CASES: list[tuple[Check, list[str], list[str]]] = [
    (names.dns_label, ["a", "0", "a-b", "a" * 63], ["", "A", "-a", "a-", "a.b", "a" * 64, "é", "a\n"]),
    (names.dns_subdomain, ["a", "a.b-c", "0.1"], ["", "A", "a..b", ".a", "a_b", "a." * 127 + "a"]),
    (names.driver_name, ["gpu.nvidia.com", "GPU.Nvidia.com"], ["", "a_b", "x" * 64]),
    (names.c_identifier, ["a", "_9", "A" * 32], ["", "9a", "a-b", "a" * 33]),
    (names.qualified_name, ["a", "d.e/a"], ["", "/a", "d/", "a_b/c", "d/9"]),
    (names.fully_qualified_name, ["d/a"], ["a", "", "/a"]),
    (names.pool_name, ["n", "a/b.c"], ["", "a//b", "A", "x" * 254]),
    (names.label_key, ["a", "example.com/A.b_c", "x" * 63], ["", "/a", "a/", "x" * 64, "-a", "A/b", "a/b/c"]),
    (names.label_value, ["", "a", "A.b_c"], ["-a", "a-", "x" * 64, "a/b"]),
    (
        names.semantic_version,
        ["1.2.3", "1.0.0-a.1+b"],
        ["v1.0.0", "1.0", "01.0.0", "1.0.0-01", "1.0.0-" + "a" * 64],
    ),
    (names.attribute_text, ["", "x" * 64, "é" * 32], ["x" * 65, "é" * 33]),
    (
        names.extended_resource_name,
        ["a/b", "nvidia.com/gpu"],
        ["a", "kubernetes.io/x", "requests.a/b", "a/b/c"],
    ),
]


@pytest.mark.parametrize(("check", "good", "bad"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_a_format_accepts_exactly_its_names(check: Check, good: list[str], bad: list[str]) -> None:
    assert [text for text in good if check(text) is not None] == []
    assert [text for text in bad if check(text) is None] == []


def test_lengths_are_counted_in_bytes() -> None:
    assert names.attribute_text("é" * 33) == "must be at most 64 bytes, this is 66"
