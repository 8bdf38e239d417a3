import pytest

from dra_fleet.drivers.common.placement import HOST, looks_elsewhere, root_in
from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.drivers.nvidia.labels import OF_OPERATOR


@pytest.mark.parametrize(
    ("given", "roots", "elsewhere"),
    [
        (HOST, [HOST], False),
        (HOST, [OF_OPERATOR], True),
        (HOST, [OF_OPERATOR, HOST], False),
        ("/run/nvidia/driver/", [OF_OPERATOR], False),
        ("/home/kubernetes/bin/nvidia", ["/home/kubernetes/bin/nvidia/"], False),
        (OF_OPERATOR, [HOST], True),
    ],
)
def test_a_driver_looks_elsewhere_where_no_root_is_its_own(
    given: str, roots: list[str], elsewhere: bool
) -> None:
    assert looks_elsewhere(given, roots) == elsewhere


@pytest.mark.parametrize(
    ("values", "root"),
    [({}, HOST), ({"nvidiaDriverRoot": None}, HOST), ({"nvidiaDriverRoot": OF_OPERATOR}, OF_OPERATOR)],
)
def test_values_that_name_no_root_leave_it_to_the_chart(values: dict[str, object], root: str) -> None:
    assert root_in(DRIVER, values) == root
