import pytest

from dra_fleet.kubernetes.cel import asked
from dra_fleet.kubernetes.cel.intent import Bound

MEMORY = "device.capacity['gpu.nvidia.com'].memory"


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver == 'gpu.nvidia.com'",
        '"gpu.nvidia.com"==device.driver',
        "(device.driver == r'gpu.nvidia.com')",
    ],
)
def test_a_driver_is_named_however_the_comparison_is_written(expression: str) -> None:
    assert asked(expression).drivers == {"gpu.nvidia.com"}
    assert asked(expression).only_driver == "gpu.nvidia.com"


def test_drivers_are_named_anywhere_but_only_one_by_itself_is_all_that_is_asked() -> None:
    asks = asked("device.driver == 'a.example' || device.driver == 'b.example'")
    assert asks.drivers == {"a.example", "b.example"}
    assert asks.only_driver == ""


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver != 'gpu.nvidia.com'",
        "'device.driver == \\'gpu.nvidia.com\\'' != ''",
        "true // device.driver == 'gpu.nvidia.com'",
    ],
)
def test_expressions_without_a_comparison_of_the_driver_name_no_driver(expression: str) -> None:
    assert asked(expression).drivers == frozenset()


@pytest.mark.parametrize(
    ("clause", "is_least"),
    [
        (f"{MEMORY}.compareTo(quantity('20Gi')) >= 0", True),
        (f"{MEMORY}.compareTo(quantity('20Gi')) > 0", True),
        (f"{MEMORY}.isGreaterThan(quantity('20Gi'))", True),
        ("device.capacity['gpu.nvidia.com']['memory'].isGreaterThan(quantity('20Gi'))", True),
        ("device.capacity[device.driver].memory.compareTo(quantity('20Gi')) >= 0", True),
        (f"{MEMORY}.compareTo(quantity('20Gi')) <= 0", False),
        (f"{MEMORY}.isLessThan(quantity('20Gi'))", False),
    ],
)
def test_a_bound_is_read_with_its_direction(clause: str, is_least: bool) -> None:
    assert asked(clause).bounds == (Bound("memory", is_least, "20Gi"),)


def test_bounds_are_those_that_every_device_must_keep() -> None:
    low, high = (f"{MEMORY}.compareTo(quantity('{text}')) >= 0" for text in ("10Gi", "20Gi"))
    assert [bound.limit for bound in asked(f"({low} && true) && {high}").bounds] == ["10Gi", "20Gi"]
    assert asked(f"{low} || {high}").bounds == ()
    assert asked(f"!({low})").bounds == ()


@pytest.mark.parametrize(
    "expression",
    [
        f"{MEMORY}.compareTo(quantity('20Gi')) == 0",
        f"{MEMORY}.compareTo(quantity('20Gi')) >= 1",
        "device.attributes['a.example'].v.compareTo(semver('1.0.0')) >= 0",
        f"quantity('20Gi').compareTo({MEMORY}) >= 0",
    ],
)
def test_expressions_without_a_literal_quantity_have_no_bound(expression: str) -> None:
    assert asked(expression).bounds == ()


def test_texts_that_an_attribute_is_equal_to_and_names_that_are_read() -> None:
    asks = asked(
        "device.attributes['a.example'].type == 'mig' && device.attributes['a.example'].model != 'x' && "
        "'profile' in device.attributes['a.example']"
    )
    assert asks.texts("type") == {"mig"}
    assert asks.texts("model") == frozenset()
    assert asks.reads("profile")
    assert not asks.reads("mig")


@pytest.mark.parametrize("expression", ["device.driver ==", "nonsense == 'a'", "'\ud800' == device.driver"])
def test_invalid_expressions_request_nothing(expression: str) -> None:
    asks = asked(expression)
    assert (asks.drivers, asks.bounds, asks.lookups) == (frozenset(), (), frozenset())
