from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_fleet.kubernetes.devices import names
from dra_fleet.kubernetes.devices.gates import GATED_FIELDS, drop_disabled
from dra_fleet.kubernetes.devices.names import Check
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.minors import is_on
from tests.rows import rows


@rows(__file__, "test_a_quantity_is_written_as_the_api_server_stores_it", "text canonical")
def test_a_quantity_is_written_as_the_api_server_stores_it(text: str, canonical: str) -> None:
    assert str(Quantity.parse(text)) == canonical


@pytest.mark.parametrize("text", ["", "x", "1GiB", "1 Gi", "--1", "1e", "Gib", "1,5", "0x10"])
def test_other_text_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        Quantity.parse(text)


def test_amounts_are_compared_whatever_their_notation() -> None:
    assert Quantity.parse("1Gi") == Quantity.parse("1024Mi")
    assert Quantity.parse("1G") < Quantity.parse("1Gi")
    assert Quantity.parse("81559Mi") > Quantity.parse("20Gi")


@given(st.integers(0, 10**12), st.sampled_from(["", "m", "k", "M", "Ki", "Mi", "Gi"]))
def test_the_canonical_text_means_the_same_amount(number: int, suffix: str) -> None:
    quantity = Quantity.parse(f"{number}{suffix}")
    assert Quantity.parse(str(quantity)) == quantity
    assert str(Quantity.parse(str(quantity))) == str(quantity)


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


def example(path: str) -> dict[str, Any]:
    """An object that has a value at a gated path."""
    value: Any = "x"
    for part in reversed(path.split(".")):
        if part.endswith("[]"):
            value = {"k": value} if part in ("capacity[]", "attributes[]") else [value]
        value = {part.removesuffix("[]"): value}
    return value


@pytest.mark.parametrize("minor", ["1.34", "1.35", "1.36", "1.37"])
@pytest.mark.parametrize("kind", GATED_FIELDS)
def test_a_field_is_dropped_exactly_where_its_gate_is_off(kind: str, minor: str) -> None:
    for path, gate in GATED_FIELDS[kind]:
        value = example(path)
        stored, dropped = drop_disabled(kind, value, minor)
        around = [(other, by) for other, by in GATED_FIELDS[kind] if path.startswith(f"{other}[]")]
        off = [by for _, by in [*around, (path, gate)] if not is_on(by, minor)]
        assert (stored == value) is (not off), path
        assert [item.gate for item in dropped] == off[:1], path


def test_an_empty_field_is_not_reported_as_lost() -> None:
    value: dict[str, Any] = {"spec": {"devices": {"requests": [{"exactly": {"tolerations": []}}]}}}
    assert drop_disabled("ResourceClaim", value, "1.34")[1] == ()


def test_the_object_given_is_not_changed() -> None:
    value = example("spec.extendedResourceName")
    drop_disabled("DeviceClass", value, "1.34")
    assert value == {"spec": {"extendedResourceName": "x"}}
