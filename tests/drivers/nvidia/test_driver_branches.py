"""Values that differ by vGPU, model or driver branch are reported so, and never make a claim unfit.

Source: https://github.com/aws/karpenter-provider-aws/tree/main/pkg/providers/drametadata.
"""

from typing import Any

import pytest

from dra_fleet.drivers.common.placement import HOST, looks_elsewhere, root_in
from dra_fleet.drivers.nvidia.driver import DRIVER, awaits, undivided
from dra_fleet.drivers.nvidia.facts import OF_OPERATOR, cuda_version_of
from dra_fleet.kubernetes.cel import asked
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


CONFIG = "nvidia.com/mig.config"
STATE = "nvidia.com/mig.config.state"
LAYOUT = {CONFIG: "all-1g.10gb"}
LOOK = "see whether the GPU Operator's MIG manager runs there"

PARTITION = asked("device.attributes['gpu.nvidia.com'].type == 'mig'")
WHOLE = {"attributes": {"type": {"string": "gpu"}}}


def labelled(labels: dict[str, str]) -> dict[str, Any]:
    return {"metadata": {"name": "n1", "labels": labels}}


def driver(key: str = STATE) -> dict[str, Any]:
    term = {"matchExpressions": [{"key": key, "operator": "In", "values": ["success"]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"affinity": {"nodeAffinity": required}}


@pytest.mark.parametrize(
    ("labels", "output"),
    [
        ({}, f"{CONFIG} is all-1g.10gb and no one has begun ({STATE} is not set); {LOOK}"),
        ({STATE: "rebooting"}, f"{STATE} is rebooting for {CONFIG}=all-1g.10gb"),
        (
            {STATE: "failed"},
            f"{STATE} is failed for {CONFIG}=all-1g.10gb; see the log of the MIG manager's pod there",
        ),
    ],
)
def test_a_driver_that_waits_for_partitions_says_how_far_they_are(
    labels: dict[str, str], output: str
) -> None:
    reason = awaits(driver(), labelled({**LAYOUT, **labels}))
    assert reason == f"the driver waits until the GPUs of node n1 are partitioned: {output}"


@pytest.mark.parametrize(
    ("spec", "labels"), [(driver("other"), LAYOUT), (driver(), {}), (driver(), {**LAYOUT, STATE: "success"})]
)
def test_another_reason_is_left_to_be_reported(spec: dict[str, Any], labels: dict[str, str]) -> None:
    assert awaits(spec, labelled(labels)) is None


@pytest.mark.parametrize(
    ("labels", "output"),
    [
        ({}, ": label its pool nvidia.com/mig.config=all-1g.10gb, or another layout, for the GPU Operator"),
        (
            {CONFIG: "all-disabled"},
            f": {CONFIG} is all-disabled, which makes no partitions; name a layout such as all-1g.10gb",
        ),
        (
            {**LAYOUT, STATE: "success"},
            f", though {STATE} is success: the driver started before the partitions; restart its pod",
        ),
        ({**LAYOUT, STATE: "pending"}, f": {STATE} is pending for nvidia.com/mig.config=all-1g.10gb"),
    ],
)
def test_whole_gpus_where_partitions_are_asked_for_are_explained(labels: dict[str, str], output: str) -> None:
    assert undivided(PARTITION, WHOLE, labelled(labels)) == f"the GPUs of node n1 are whole{output}"


def test_nothing_is_said_of_partitions_where_a_partition_is_there_or_none_was_asked_for() -> None:
    part = {"attributes": {"type": {"string": "mig"}}}
    assert not undivided(PARTITION, part, labelled({}))
    assert not undivided(asked("device.attributes['gpu.nvidia.com'].type == 'gpu'"), WHOLE, labelled({}))
