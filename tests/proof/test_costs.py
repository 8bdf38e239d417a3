from pathlib import Path
from typing import Any

from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.answer.costs import CopyCost, DeviceAmounts, Stranded, Waste
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


MACHINE = "hgx-a100-40-4"
AT_MOST_A_SEVENTH = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('4864Mi')) <= 0"


def stranded(memory: str, per_hour: float | None = None, multiprocessors: int | None = None) -> Stranded:
    return Stranded(amounts=DeviceAmounts(memory=memory, multiprocessors=multiprocessors), per_hour=per_hour)


def mixed(copies: int, **more: Any) -> dict[str, Any]:
    """A stack with four GPUs of 20 GB and 5 GB partitions, and copies that need 4864Mi each."""
    layout = {"strategy": "mig", "layout": {"3g.20gb": 1, "1g.5gb": 4}}
    return fleet(
        {"parts": pool(MACHINE, "parts", sharing=layout)},
        classes={"part": {"driver": "nvidia", "type": "mig", "memory": {"min": "4864Mi"}}},
        claims={"part": {"requests": {"gpu": {"class": "part", **more}}}},
        workloads={"infer": ("part", copies)},
    )


def waste_of(settings: dict[str, Any]) -> Waste | None:
    (workload,) = proved(settings).workloads
    return workload.waste


def test_first_fit_can_strand_large_partitions_and_a_bound_on_memory_avoids_it() -> None:
    found = waste_of(mixed(copies=16))
    assert found == Waste(
        copies=16,
        stranded=stranded(f"{4 * (19968 - 4864) // 1024}Gi"),
        change=f"add the selector `{AT_MOST_A_SEVENTH}` to request gpu",
        after=stranded("0"),
    )


def test_the_proposed_selector_strands_nothing_and_every_copy_still_finds_a_device() -> None:
    proof = proved(mixed(copies=16, selectors=[AT_MOST_A_SEVENTH]))
    (workload,) = proof.workloads
    assert (workload.word, workload.waste, proof.warnings) == ("guaranteed", None, ())


def test_no_bound_is_proposed_where_copies_need_the_large_partitions_too() -> None:
    found = waste_of(mixed(copies=17))
    assert found is not None
    assert (found.change, found.after) == ("", None)


def test_alternatives_with_the_larger_partition_first_are_put_in_the_order_of_their_size() -> None:
    settings = mixed(copies=16)
    settings["classes"] = {
        name: {"driver": "nvidia", "type": "mig", "profile": profile, "memory": {"min": "4864Mi"}}
        for name, profile in (("large", "3g.20gb"), ("small", "1g.5gb"))
    }
    alternatives = [{"name": name, "class": name} for name in ("large", "small")]
    settings["claims"] = {"part": {"requests": {"gpu": {"firstAvailable": alternatives}}}}
    assert waste_of(settings) == Waste(
        copies=16,
        stranded=stranded(f"{4 * (19968 - 4864) // 1024}Gi"),
        change="in request gpu write the alternatives in the order small, large",
        after=stranded("0"),
    )
    alternatives.reverse()
    assert waste_of(settings) is None


def test_the_money_of_stranded_memory_is_its_part_of_the_nodes_price() -> None:
    plan = make_plan(read_stack_file(EXAMPLES / "eks-mig.yaml").settings)
    machine = next(pool.machine for pool in plan.clusters[0].pools if pool.name == "h100")
    assert machine.price is not None
    (found,) = [item.waste for item in prove(plan).workloads if item.waste is not None]
    # The H100 has seven partitions of 9984Mi and 16 multiprocessors; copies request 9728Mi and 14.
    per_hour = round(machine.price.per_hour * (9984 - 9728) / 9984, 4)
    assert found.stranded == stranded("1792Mi", per_hour, multiprocessors=14)
    assert found.change == ""
