import pytest
from hypothesis import given
from hypothesis import strategies as st

from dra_fleet.kubernetes.devices.quantity import Quantity


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1024Mi", "1Gi"),
        ("9728Mi", "9728Mi"),
        ("1.5Gi", "1536Mi"),
        ("512Ki", "512Ki"),
        ("0.5Gi", "512Mi"),
        ("0", "0"),
        ("500m", "500m"),
        ("1000m", "1"),
        ("1500", "1500"),
        ("2000", "2k"),
        ("1e3", "1e3"),
        ("12e6", "12e6"),
        (".5", "500m"),
        ("5.", "5"),
        ("+3", "3"),
        ("-2Gi", "-2Gi"),
        ("1023", "1023"),
        ("0.1n", "1n"),
        ("1E", "1E"),
    ],
)
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
