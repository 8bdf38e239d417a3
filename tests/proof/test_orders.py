"""Verdicts on sets of workloads, held to orders of arrival that are played one by one."""

from __future__ import annotations

import random
from typing import Any

import pytest

from dra_fleet.proof.answer.workloads import judge
from dra_fleet.proof.demand.asks import claim_ask, class_objects
from dra_fleet.proof.demand.pod_sets import pod_sets_of
from dra_fleet.proof.search.contention import Question
from dra_fleet.proof.search.packing import Packing
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
    pod_sets, _ = pod_sets_of(cluster.workloads, asks, classes)
    groups = predict(cluster)
    suitability = {
        (pod_set, group): suitability_of(pod_sets[pod_set], groups[group], "1.36")
        for pod_set in range(len(pod_sets))
        for group in range(len(groups))
    }
    return Question(
        pod_sets=pod_sets, groups=groups, suitability=suitability, placements=Placements(classes, "1.36")
    )


def play(asked: Question, chance: random.Random) -> set[int]:
    """The pod sets of which a pod waits in one order of arrival, with any choice of nodes."""
    packing = Packing(
        [group.shape for group in asked.groups],
        asked.pod_sets,
        asked.placements,
        counts_resources=[True] * len(asked.groups),
        sure=False,
    )
    nodes = [packing.empty(index) for index, group in enumerate(asked.groups) for _ in range(group.most)]
    arrivals = [number for number, pod_set in enumerate(asked.pod_sets) for _ in range(pod_set.copies)]
    chance.shuffle(arrivals)
    waiting: set[int] = set()
    for pod_set in arrivals:
        options = [
            (place, after)
            for place, node in enumerate(nodes)
            if (after := packing.place(pod_set, node)) is not None
        ]
        if not options:
            waiting.add(pod_set)
            continue
        place, after = chance.choice(options)
        nodes[place] = after
    return waiting


@pytest.mark.parametrize("seed", range(25))
def test_nothing_guaranteed_ever_waits_and_nothing_called_never_is_ever_placed(seed: int) -> None:
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
    answers = judge(asked, [nodes])
    orders = [play(asked, chance) for _ in range(40)]
    for pod_set, answer in answers.items():
        if answer.word == "guaranteed":
            assert not any(pod_set in waiting for waiting in orders)
    if "never" in {answer.word for answer in answers.values()}:
        assert all(orders)


def test_alike_pods_under_two_names_are_one_sort() -> None:
    proof = proved(
        fleet({"h": pool("hgx-h100-8", "h")}, claims=CLAIMS, workloads={"a": ("pair", 2), "b": ("pair", 2)})
    )
    assert {item.word for item in proof.workloads} == {"guaranteed"}


def test_together_too_many_is_never_though_each_alone_would_fit() -> None:
    proof = proved(
        fleet({"h": pool("hgx-h100-8", "h")}, claims=CLAIMS, workloads={"a": ("one", 5), "b": ("two", 2)})
    )
    assert {item.word for item in proof.workloads} == {"never"}
    assert "a, b together ask for 9 devices and 8 can match" in proof.failures[0]


def test_of_many_that_are_too_many_together_a_dozen_are_named() -> None:
    workloads = {f"w{number:02}": ("one", 1) for number in range(14)}
    proof = proved(fleet({"h": pool("hgx-h100-8", "h")}, claims=CLAIMS, workloads=workloads))
    assert "w10, w11 and 2 more together ask for 14 devices and 8 can match" in proof.failures[0]


def test_devices_that_nobody_can_tell_are_not_counted_as_missing() -> None:
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


def test_a_hundred_nodes_are_judged_by_counting() -> None:
    asked = question(
        fleet(
            {"a": pool(gpus(8), "a", (100, 100))},
            claims=CLAIMS,
            workloads={"one": ("one", 300), "two": ("two", 150)},
        )
    )
    assert {answer.word for answer in judge(asked, [100]).values()} == {"guaranteed"}


def test_units_of_a_shared_claim_are_one_copy() -> None:
    proof = proved(
        fleet(
            {"a": pool(gpus(1), "a")},
            claims={"one": {**CLAIMS["one"], "shared": True}},
            workloads={"a": ("one", 3), "b": ("one", 4)},
        )
    )
    assert {item.word for item in proof.workloads} == {"guaranteed"}
