from pathlib import Path
from typing import Any

from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.answer.costs import CopyCost, DeviceAmounts
from dra_fleet.proof.prove import prove
from tests.proof.proof_helpers import fleet, pool, proved

EXAMPLES = Path(__file__).parents[2] / "examples"
UNTOLD = DeviceAmounts(memory=None, multiprocessors=None)
NOTHING = DeviceAmounts(memory="0", multiprocessors=0)


def amounts(memory: str | None, multiprocessors: int | None) -> DeviceAmounts:
    return DeviceAmounts(memory=memory, multiprocessors=multiprocessors)


def costs(machine: str, requested: dict[str, Any], request: dict[str, Any], **more: Any) -> CopyCost:
    """Return the cost of one copy of a claim of a class on a node of a machine."""
    values = more.pop("values", {})
    settings = fleet(
        {"gpus": pool(machine, "gpus", **more)},
        classes={"some": {"driver": "nvidia", **requested}},
        claims={"one": {"requests": {"gpu": {"class": "some", **request}}}},
        workloads={"train": ("one", 1)},
        drivers={"nvidia": {"version": "0.5.0", "values": values}},
    )
    (workload,) = proved(settings).workloads
    cost = workload.pools[0].cost
    assert cost is not None
    return cost


def test_a_whole_gpu_for_twenty_gibibytes_strands_the_rest_of_it() -> None:
    found = costs("hgx-h100-8", {"type": "gpu", "memory": {"min": "20Gi"}}, {})
    assert found == CopyCost(
        asked=amounts("20Gi", None),
        got=amounts("81559Mi", 132),
        stranded=amounts("61079Mi", None),
        left_on_node=NOTHING,
    )


def test_a_partition_that_is_asked_for_exactly_strands_nothing() -> None:
    requested = {"type": "mig", "memory": {"min": "9728Mi"}, "multiprocessors": {"min": "14"}}
    found = costs("dgx-a100-80-8", requested, {}, sharing={"strategy": "mig", "layout": {"1g.10gb": 7}})
    assert found == CopyCost(
        asked=amounts("9728Mi", 14), got=amounts("9728Mi", 14), stranded=NOTHING, left_on_node=NOTHING
    )


def test_pairs_of_an_odd_number_of_partitions_leave_one_of_each_gpu() -> None:
    settings = fleet(
        {"gpus": pool("dgx-a100-80-8", "gpus", sharing={"strategy": "mig", "layout": {"1g.10gb": 7}})},
        claims={
            "pair": {
                "requests": {"gpu": {"class": "mig.nvidia.com", "count": 2}},
                "constraints": [{"matchAttribute": "gpu.nvidia.com/parentUUID"}],
            }
        },
        workloads={"train": ("pair", 1)},
    )
    (workload,) = proved(settings).workloads
    cost = workload.pools[0].cost
    assert cost is not None
    assert cost.asked == UNTOLD
    assert cost.got == amounts("19Gi", 28)
    assert cost.left_on_node == amounts(f"{8 * 9728 // 1024}Gi", 8 * 14)


def test_a_part_of_a_shared_gpu_is_what_it_asked_for_and_a_full_node_has_little_left() -> None:
    found = costs(
        "hgx-h100-8",
        {"type": "gpu"},
        {"capacity": {"memory": "20Gi"}},
        values={"featureGates": {"ConsumableShares": True}, "consumableShares": "memory"},
    )
    assert (found.asked.memory, found.got.memory, found.stranded.memory) == ("20Gi", "20Gi", "0")
    assert found.left_on_node.memory == f"{8 * (81559 - 3 * 20 * 1024)}Mi"


def test_of_a_vgpu_the_part_is_reported_and_what_no_source_reports_stays_unknown() -> None:
    plan = make_plan(read_stack_file(EXAMPLES / "aks-vgpu.yaml").settings)
    prices = {
        fit.pool: fit.cost
        for workload in prove(plan).workloads
        for fit in workload.pools
        if fit.cost is not None
    }
    assert {pool: cost.parts for pool, cost in prices.items()} == {
        pool.name: (f"{pool.machine.gpu_fraction} of a GPU ({pool.machine.gpu})",)
        for pool in plan.clusters[0].pools
        if pool.name in prices
    }
    for cost in prices.values():
        assert cost.got == cost.stranded == UNTOLD


def test_of_several_bounds_a_copy_asks_for_the_highest() -> None:
    memory = "device.capacity['gpu.nvidia.com'].memory"
    found = costs(
        "hgx-h100-8",
        {"type": "gpu", "memory": {"min": "20Gi"}},
        {"selectors": [f"{memory}.compareTo(quantity('30Gi')) >= 0"]},
    )
    assert found.asked == amounts("30Gi", None)
