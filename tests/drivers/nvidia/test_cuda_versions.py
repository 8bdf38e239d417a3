import pytest

from dra_fleet.drivers.nvidia.facts import cuda_version_of


@pytest.mark.parametrize(
    ("driver", "cuda"),
    [
        ("595.91.07", "13.2"),
        ("580.126.09", "13.0"),
        ("570.158.01", "12.8"),
        ("572.1", "12.8"),
        ("999.1", "13.3"),
        ("470.1", "12.0"),
    ],
)
def test_a_driver_has_the_cuda_version_of_its_branch(driver: str, cuda: str) -> None:
    assert cuda_version_of(driver) == cuda
