import pytest

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.sharing.mig import check_layout

GPUS = nvidia_facts.gpus()


def output(gpu: str, layout: dict[str, int]) -> list[tuple[str, str]]:
    return [(error.path, error.what) for error in check_layout(GPUS[gpu], layout, "pool.sharing.layout")]


@pytest.mark.parametrize(
    ("gpu", "layout"),
    [
        ("A100-SXM4-40GB", {"1g.5gb": 7}),
        ("A100-SXM4-40GB", {"3g.20gb": 2}),
        ("A100-SXM4-40GB", {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}),
        ("A100-SXM4-80GB", {"7g.80gb": 1}),
        ("H100-SXM5-80GB", {"1g.10gb+me": 1, "1g.10gb": 6}),
    ],
)
def test_a_layout_that_fits_is_accepted(gpu: str, layout: dict[str, int]) -> None:
    assert output(gpu, layout) == []


def test_a_gpu_without_mig_is_refused() -> None:
    [(path, what)] = output("L40S", {"1g.5gb": 7})
    assert (path, what) == ("pool.sharing.layout", "requests MIG partitions, which L40S cannot have")


def test_an_unknown_profile_names_those_of_the_gpu() -> None:
    [error] = check_layout(GPUS["A100-SXM4-40GB"], {"1g.10gbb": 1}, "pool.sharing.layout")
    assert error.what == "is not a MIG profile of A100-SXM4-40GB"
    assert error.fix == "did you mean 1g.10gb?"
    assert "7g.40gb" in error.allowed


def test_more_instances_than_the_profile_allows_are_refused() -> None:
    assert output("A100-SXM4-40GB", {"1g.5gb": 8}) == [
        ("pool.sharing.layout.1g.5gb", "is more instances than A100-SXM4-40GB can hold of this profile")
    ]


@pytest.mark.parametrize(
    "layout", [{"1g.5gb": 7, "2g.10gb": 1}, {"3g.20gb": 2, "1g.5gb": 1}, {"4g.20gb": 1, "1g.10gb": 4}]
)
def test_instances_that_fit_alone_but_not_together_are_refused(layout: dict[str, int]) -> None:
    [(path, what)] = output("A100-SXM4-40GB", layout)
    assert path == "pool.sharing.layout"
    assert what.startswith("does not fit on one A100-SXM4-40GB: it takes ")
