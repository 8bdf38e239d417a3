import random
from typing import Any

import pytest
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.proof.answer.workloads import check
from dra_fleet.proof.demand.asks import claim_ask, class_objects
from dra_fleet.proof.demand.pod_sets import pod_sets_of
from dra_fleet.proof.search.contention import Question
from dra_fleet.proof.search.packing import NodeUse
from dra_fleet.proof.search.placements import Placements
from dra_fleet.proof.search.suitability import suitability_of
from dra_fleet.proof.supply.prediction import predict
from tests.proof.proof_helpers import fleet, gpus, plan_of, pool, proved

CLASS = "gpu.nvidia.com"
ROOT = "resource.kubernetes.io/pcieRoot"
CLAIMS = {
    "one": {"requests": {"gpu": {"class": CLASS}}},
    "two": {"requests": {"gpu": {"class": CLASS, "count": 2}}},
    "three": {"requests": {"gpu": {"class": CLASS, "count": 3}}},
    "pair": {"requests": {"gpu": {"class": CLASS, "count": 2}}, "constraints": [{"matchAttribute": ROOT}]},
    "either": {
        "requests": {
            "gpu": {
                "firstAvailable": [{"name": "a", "class": CLASS, "count": 4}, {"name": "b", "class": CLASS}]
            }
        }
    },
}


def question(settings: dict[str, Any]) -> Question:
    cluster = plan_of(settings).clusters[0]
    classes = class_objects(cluster)
    asks = {item.name: claim_ask(item.name, item.spec, classes) for item in cluster.templates}
    pod_sets, _ = pod_sets_of(cluster, cluster.workloads, asks, classes)
    groups = predict(cluster)
    placements = Placements(classes, "1.36")
    suitability = {
        (pod_set, group): suitability_of(pod_sets[pod_set], groups[group], placements.suitability)
        for pod_set in range(len(pod_sets))
        for group in range(len(groups))
    }
    return Question(
        pod_sets=pod_sets,
        groups=groups,
        kinds=range(len(groups)),
        suitability=suitability,
        placements=placements,
    )


def play(asked: Question, chance: random.Random) -> set[int]:
    """The pod sets of which a pod waits in one order of arrival, with any choice of nodes and of devices."""
    nodes = [(group.shape, NodeUse()) for group in asked.groups for _ in range(group.most)]
    arrivals = [number for number, pod_set in enumerate(asked.pod_sets) for _ in range(pod_set.copies)]
    chance.shuffle(arrivals)
    waiting: set[int] = set()
    for pod_set in arrivals:
        options: list[tuple[int, NodeUse]] = []
        for place, (shape, in_use) in enumerate(nodes):
            devices = tuple(chance.sample(shape.devices, len(shape.devices)))
            started = replace(shape, devices=devices)
            given = asked.placements.place(asked.pod_sets[pod_set].claim, started, in_use)
            options += [] if given is None else [(place, given.in_use)]
        if not options:
            waiting.add(pod_set)
            continue
        place, in_use = chance.choice(options)
        nodes[place] = (nodes[place][0], in_use)
    return waiting


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(25))
def test_in_every_order_of_devices_nothing_guaranteed_waits_and_nothing_called_never_is_placed(
    seed: int,
) -> None:
    chance = random.Random(seed)
    names = chance.sample(sorted(CLAIMS), chance.choice([1, 2, 2, 3]))
    machine, count = chance.choice([("hgx-h100-8", 8), ("dgx-a100-40-8", 8)])
    nodes = chance.choice([1, 2])
    asked = question(
        fleet(
            {"a": pool(machine, "a", (nodes, nodes))},
            claims=CLAIMS,
            workloads={name: (name, chance.randint(1, count * nodes // 2)) for name in names},
        )
    )
    answers = check(asked, [nodes])
    orders = [play(asked, chance) for _ in range(40)]
    for pod_set, answer in answers.items():
        if answer.word == "guaranteed":
            assert not any(pod_set in waiting for waiting in orders)
        if answer.word == "never":
            assert all(pod_set in waiting for waiting in orders)
        if answer.excess:
            assert all(orders)


def test_alike_pods_under_two_names_are_one_sort() -> None:
    proof = proved(
        fleet({"h": pool("hgx-h100-8", "h")}, claims=CLAIMS, workloads={"a": ("pair", 2), "b": ("pair", 2)})
    )
    assert {item.word for item in proof.workloads} == {"guaranteed"}


def test_together_too_many_stops_the_program_but_each_alone_is_possible() -> None:
    proof = proved(
        fleet({"h": pool("hgx-h100-8", "h")}, claims=CLAIMS, workloads={"a": ("one", 5), "b": ("two", 2)})
    )
    assert {item.word for item in proof.workloads} == {"possible"}
    (failure,) = proof.failures
    assert "in every order some pod waits: a, b together request 9 devices, and 8 can match" in failure


def test_never_is_said_of_the_workload_that_cannot_be_placed_not_of_those_beside_it() -> None:
    claims = {**CLAIMS, "large": {"requests": {"gpu": {"class": CLASS, "count": 9}}}}
    workloads = {"fits": ("two", 2), "too-large": ("large", 1), "too-many": ("one", 9)}
    proof = proved(fleet({"h": pool("hgx-h100-8", "h")}, claims=claims, workloads=workloads))
    assert {item.name: item.word for item in proof.workloads} == {
        "fits": "possible",
        "too-large": "never",
        "too-many": "never",
    }
    assert [failure.partition(":")[2].partition(":")[0] for failure in proof.failures] == [
        "fleet.claims.large",
        "fleet.workloads.too-many",
    ]


def test_a_workload_that_always_gets_devices_is_guaranteed_beside_others_that_cannot_all_be_placed() -> None:
    pools = {"h": pool("hgx-h100-8", "h"), "a": pool(gpus(2), "a")}
    workloads = {
        "fits": {"claim": "one", "copies": 2, "nodeSelector": {"example.com/pool": "a"}},
        "too-many": {"claim": "one", "copies": 9, "nodeSelector": {"example.com/pool": "h"}},
    }
    proof = proved(fleet(pools, claims=CLAIMS, workloads=workloads))
    assert {item.name: item.word for item in proof.workloads} == {"fits": "guaranteed", "too-many": "never"}


LAB: dict[str, Any] = fleet(
    {"h": pool("hgx-h100-8", "h")}, claims=CLAIMS, workloads={"single": ("one", 4), "pair": ("pair", 2)}
)
"""Eight GPUs, two below each root: singles that each take another root leave no pair."""


def test_gpus_come_in_any_order_so_that_singles_may_leave_no_pair() -> None:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, v0.5.0, ranges over a Go map of its devices.
    words = {item.name: item for item in proved(LAB).workloads}
    assert {name: item.word for name, item in words.items()} == {"single": "guaranteed", "pair": "possible"}
    assert words["pair"].order == (
        "1 x pair on h-0 (gpu-0+gpu-1)",
        "3 x single on h-0 (gpu-2, gpu-4, gpu-6)",
        "pair waits: no node has free devices for it",
    )


def test_singles_fill_one_root_after_the_other_if_the_driver_keeps_its_order() -> None:
    asked = question(LAB)
    (group,) = asked.groups
    ordered = replace(group, shape=replace(group.shape, in_order=frozenset({"gpu.nvidia.com"})))
    answers = check(replace(asked, groups=[ordered]), [1])
    assert {answer.word for answer in answers.values()} == {"guaranteed"}


@pytest.mark.parametrize(
    ("publisher", "with_counters", "kept"),
    [
        ("gpu.nvidia.com", False, False),
        ("gpu.nvidia.com", True, True),
        ("gpu.example.com", False, True),
        ("gpu.unknown.example", False, False),
    ],
)
def test_the_order_of_devices_is_a_fact_of_the_driver_and_open_if_it_is_unknown_it(
    publisher: str, *, with_counters: bool, kept: bool
) -> None:
    assert drivers.keeps_order(publisher, with_counters=with_counters) is kept


def test_partitions_of_many_gpus_in_any_order_are_followed_to_the_end() -> None:
    mig = {"strategy": "mig", "layout": {"1g.5gb": 7}}
    part = {"class": "mig.nvidia.com"}
    claims = {
        "part": {"requests": {"part": part}},
        "two-of-one": {
            "requests": {"parts": {**part, "count": 2}},
            "constraints": [{"matchAttribute": "gpu.nvidia.com/parentUUID"}],
        },
    }
    proof = proved(
        fleet(
            {"a": pool("hgx-a100-40-4", "a", sharing=mig)},
            claims=claims,
            workloads={"one": ("part", 22), "pair": ("two-of-one", 3)},
        )
    )
    assert {item.name: item.word for item in proof.workloads} == {"one": "guaranteed", "pair": "possible"}


def test_of_many_that_are_too_many_together_a_dozen_are_named() -> None:
    workloads = {f"w{number:02}": ("one", 1) for number in range(14)}
    proof = proved(fleet({"h": pool("hgx-h100-8", "h")}, claims=CLAIMS, workloads=workloads))
    assert "w10, w11 and 2 more together request 14 devices, and 8 can match" in proof.failures[0]


def test_devices_that_no_one_knows_are_not_counted_as_missing() -> None:
    claims = {"near": {"requests": {"gpu": {"class": "gpu.nvidia.com"}, "nic": {"class": "nic"}}}}
    proof = proved(
        fleet(
            {"h": pool("hgx-h100-8", "h")},
            classes={"nic": {"cel": ["device.driver == 'nic.example.org'"]}},
            claims=claims,
            workloads={"a": ("near", 8)},
        )
    )
    assert [item.word for item in proof.workloads] == ["unknown"]
    assert "what driver nic.example.org publishes cannot be predicted" in proof.workloads[0].reason


def test_a_constraint_on_an_unknown_place_is_unknown() -> None:
    proof = proved(
        fleet({"a": pool(gpus(4), "a")}, claims={"pair": CLAIMS["pair"]}, workloads={"a": ("pair", 1)})
    )
    assert [item.word for item in proof.workloads] == ["unknown"]


def test_a_hundred_nodes_are_checked_by_counting() -> None:
    asked = question(
        fleet(
            {"a": pool(gpus(8), "a", (100, 100))},
            claims=CLAIMS,
            workloads={"one": ("one", 300), "two": ("two", 150)},
        )
    )
    assert {answer.word for answer in check(asked, [100]).values()} == {"guaranteed"}


def test_units_of_a_shared_claim_are_one_copy() -> None:
    proof = proved(
        fleet(
            {"a": pool(gpus(1), "a")},
            claims={"one": {**CLAIMS["one"], "shared": True}},
            workloads={"a": ("one", 3), "b": ("one", 4)},
        )
    )
    assert {item.word for item in proof.workloads} == {"guaranteed"}
