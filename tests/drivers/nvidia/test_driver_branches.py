"""Values that differ by vGPU, model or driver branch are reported so, and never make a claim unfit.

Source: https://github.com/aws/karpenter-provider-aws/tree/main/pkg/providers/drametadata.
"""

from typing import Any

import pytest

from tests.proof.proof_helpers import fleet, pool, proved

GPU = "device.driver == 'gpu.nvidia.com'"


def word(machine: Any, *clauses: str, part: str = "", **more: Any) -> str:
    requested = {"class": "requested", **({"capacity": {"memory": part}} if part else {})}
    made = fleet(
        {"a": pool(machine, "a", **more)},
        classes={"requested": {"cel": [GPU, *clauses]}},
        claims={"one": {"requests": {"gpu": requested}}},
        workloads={"train": ("one", 1)},
    )
    [only] = proved(made).workloads
    return only.word


def gpu(name: str) -> dict[str, Any]:
    return {"gpu": name, "gpus": 1, "cpus": 8, "memory": 64}


def brand(name: str) -> str:
    return f"device.attributes['gpu.nvidia.com'].brand == '{name}'"


def memory(least: str) -> str:
    return f"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{least}')) >= 0"


@pytest.mark.parametrize(
    ("model", "output"),
    [("V100-16GB", "Tesla"), ("L4-6GB", "NvidiaVWS"), ("A10-4Q", "NvidiaVWS"), ("L4", "Nvidia")],
)
def test_the_brand_is_the_model_s(model: str, output: str) -> None:
    assert word(gpu(model), brand(output)) == "guaranteed"
    assert word(gpu(model), brand("GeForce")) == "never"


def test_the_brand_of_an_a10_depends_on_whether_the_machine_has_it_by_vgpu() -> None:
    assert word(gpu("A10"), brand("Nvidia")) not in ("guaranteed", "never")


@pytest.mark.parametrize(("profile", "count", "other"), [("2g.10gb", 3, "9984Mi"), ("7g.40gb", 1, "40320Mi")])
def test_memory_that_another_branch_of_the_driver_reports_is_never_out_of_reach(
    profile: str, count: int, other: str
) -> None:
    sharing = {"strategy": "mig", "layout": {profile: count}}
    assert word(gpu("A100-SXM4-40GB"), memory(other), sharing=sharing) not in ("guaranteed", "never")
    assert word(gpu("A100-SXM4-80GB"), memory("9728Mi"), sharing={**sharing, "layout": {"1g.10gb": 7}}) == (
        "guaranteed"
    )


@pytest.mark.parametrize(
    ("model", "reported"),
    [("A100-SXM4-40GB", ("40320Mi", "40960Mi")), ("H100-SXM5-80GB", ("81152Mi", "81559Mi"))],
)
def test_memory_of_a_gpu_is_certain_outside_the_range_that_branches_report(
    model: str, reported: tuple[str, str]
) -> None:
    least, most = reported
    assert word(gpu(model), memory(least)) == "guaranteed"
    assert word(gpu(model), memory(most)) not in ("guaranteed", "never")
    assert word(gpu(model), memory("82Gi")) == "never"
    assert word(gpu(model), f"!({memory('82Gi')}) || {brand('GeForce')}") == "guaranteed"


def test_memory_of_a_partition_is_certain_below_what_every_branch_reports() -> None:
    sharing = {"strategy": "mig", "layout": {"2g.10gb": 3}}
    assert word(gpu("A100-SXM4-40GB"), memory("9856Mi"), sharing=sharing) == "guaranteed"
    assert word(gpu("A100-SXM4-40GB"), memory("10Gi"), sharing=sharing) == "never"


MEMORY = "device.capacity['gpu.nvidia.com'].memory"


@pytest.mark.parametrize(
    "clause",
    [
        f"{MEMORY} == quantity('40500Mi')",
        f"{MEMORY}.compareTo(quantity('40400Mi')) > 0 && {MEMORY}.compareTo(quantity('40800Mi')) < 0",
        f"{MEMORY}.asInteger() == 40500 * 1024 * 1024",
        f"{MEMORY}.asInteger() / 1048576 == 40500",
        f"!({MEMORY} == quantity('40500Mi'))",
        f"[quantity('40500Mi'), quantity('40600Mi')].exists(size, size == {MEMORY})",
    ],
)
def test_nothing_is_certain_of_a_value_between_those_that_branches_report(clause: str) -> None:
    assert word(gpu("A100-SXM4-40GB"), clause) == "unknown"


@pytest.mark.parametrize(
    ("clause", "output"),
    [
        (f"{MEMORY}.asInteger() >= 30 * 1024 * 1024 * 1024", "guaranteed"),
        (f"{MEMORY}.asInteger() > 42949672960", "never"),
        (f"{MEMORY} == quantity('80Gi')", "never"),
        (f"{MEMORY}.compareTo(quantity('38Gi')) > -1", "guaranteed"),
    ],
)
def test_results_for_every_value_in_the_range_are_certain(clause: str, output: str) -> None:
    assert word(gpu("A100-SXM4-40GB"), clause) == output


@pytest.mark.parametrize(
    ("part", "output"),
    [
        ("1Gi", "guaranteed"),
        ("40320Mi", "guaranteed"),
        ("40500Mi", "unknown"),
        ("40960Mi", "unknown"),
        ("41Gi", "never"),
    ],
)
def test_a_part_of_the_memory_is_certain_below_what_every_branch_reports(part: str, output: str) -> None:
    assert word(gpu("A100-SXM4-40GB"), part=part) == output
