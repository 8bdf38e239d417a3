"""The proof's verdicts on gangs against the scheduler of Kubernetes 1.37 with its feature gate on."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

import pytest

from dra_fleet.fleet import parse
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove
from dra_fleet.rehearsal.access import connect
from dra_fleet.rehearsal.home import Home
from tests.engine.arrival_mixes import Mix
from tests.engine.arrivals import agree, prepare
from tests.engine.rehearsed import STACKS
from tests.proof.test_gangs import REQUESTS, gang, stack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.tools import Toolset
    from tests.engine.rehearsed import Rehearsed
    from tests.engine_support import RehearsalWorld, SimulatedCluster

pytestmark = pytest.mark.engine

SEEDS: Final = range(100)
FIRST: Final = 20
NODES: Final = 2
GPUS: Final = 2
PARTS: Final = 3
"""Devices of a GPU: itself and its two halves."""
HARDWARE: Final[dict[str, Any]] = {
    "kubernetes": "v1.37.2",
    "featureGates": ["GenericWorkload"],
    "nodes": [
        {
            "name": "gpus",
            "count": NODES,
            "gpus": {"model": "A100-SXM4-40GB", "count": 1},
            "cpu": "64",
            "memory": "512Gi",
            "labels": {"example.com/pool": "gpus"},
        }
    ],
}


def mix(workloads: dict[str, Any], chance: random.Random) -> Mix:
    plan = make_plan(parse(stack(REQUESTS, workloads, devices=GPUS, nodes=NODES)))
    pods = [item.name for item in plan.clusters[0].workloads for _ in range(item.copies)]
    chance.shuffle(pods)
    return Mix(cluster=plan.clusters[0], proof=prove(plan), arrivals=tuple(pods))


def drawn(seed: int) -> Mix:
    chance = random.Random(seed)
    workloads: dict[str, Any] = {}
    for number in range(chance.choice([1, 2, 2, 3])):
        claim, copies = chance.choice(sorted(REQUESTS)), chance.randint(1, 10)
        is_gang = chance.random() < 0.75
        least = chance.randint((copies + 1) // 2, copies)
        workloads[f"w{number}"] = gang(claim, copies, minCount=least) if is_gang else (claim, copies)
    return mix(workloads, chance)


@pytest.fixture(scope="module")
def cluster(
    rehearsal_simulator: RehearsalWorld, tools: Toolset, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SimulatedCluster]:
    """Two machines with GPUs that can be cut in two, and a scheduler that places gangs."""
    made = rehearsal_simulator.new_cluster(HARDWARE)
    values = tmp_path_factory.mktemp("values") / "values.json"
    asyncio.run(prepare(made, drawn(0), NODES * GPUS * PARTS, tools, values))
    yield made
    rehearsal_simulator.remove(made)


def test_the_drawn_gangs_have_each_verdict_often_enough() -> None:
    for seeds in (SEEDS[:FIRST], SEEDS[FIRST:]):
        mixes = [drawn(seed) for seed in seeds]
        words = Counter(item.word for one in mixes for item in one.proof.workloads if item.gang)
        assert min(words[word] for word in ("guaranteed", "possible", "never")) >= len(seeds) / 10, words


def test_a_gang_that_takes_whole_devices_first_waits_and_starts_with_the_remedy(
    cluster: SimulatedCluster,
) -> None:
    either = {"firstAvailable": REQUESTS["either"]["firstAvailable"][::-1]}
    copies = 2 * NODES * GPUS
    blocked = mix({"train": gang("either", copies)}, random.Random(0))
    assert blocked.words("never") == {"train"}
    assert blocked.proof.workloads[0].fix.startswith("list alternative half first in request gpu")
    assert asyncio.run(agree(cluster, blocked, "blocked"))["train"] == 0
    settings = stack({"either": either}, {"train": gang("either", copies)}, devices=GPUS, nodes=NODES)
    plan = make_plan(parse(settings))
    cured = Mix(cluster=plan.clusters[0], proof=prove(plan), arrivals=("train",) * copies)
    assert cured.words("guaranteed") == {"train"}
    assert asyncio.run(agree(cluster, cured, "cured"))["train"] == copies


@pytest.mark.parametrize("seed", SEEDS[:FIRST])
def test_no_guaranteed_gang_ever_waits_and_none_called_never_starts(
    cluster: SimulatedCluster, seed: int
) -> None:
    asyncio.run(agree(cluster, drawn(seed), f"gangs-{seed}"))


@pytest.mark.full
@pytest.mark.parametrize("seed", SEEDS[FIRST:])
def test_no_guaranteed_gang_of_the_other_mixes_ever_waits(cluster: SimulatedCluster, seed: int) -> None:
    asyncio.run(agree(cluster, drawn(seed), f"gangs-{seed}"))


def test_a_rehearsed_stack_creates_its_gang_and_reports_if_the_provider_drops_it(
    rehearsed: Rehearsed,
) -> None:
    shown = rehearsed.up(STACKS / "gangs.yaml")
    train = shown["clusters"]["lab"]["workloads"]["train"]
    assert [len(pod["devices"]) for pod in train["pods"]] == [1, 1]
    workload, group, *pods = asyncio.run(_objects(rehearsed))
    assert workload["spec"]["podGroupTemplates"][0]["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert group["spec"]["workloadRef"] == {
        "workloadName": workload["metadata"]["name"],
        "templateName": "pods",
    }
    dropped = [text for text in shown["notes"] if "the pods of train start without their gang" in text]
    reference = None if dropped else {"podGroupName": group["metadata"]["name"]}
    assert [pod["spec"].get("schedulingGroup") for pod in pods] == [reference, reference]


async def _objects(rehearsed: Rehearsed) -> list[Object]:
    api_version, namespace = "scheduling.k8s.io/v1beta1", "gpu-workloads"
    async with connect(Home.at(rehearsed.home), "lab") as api:
        kinds = ((api_version, "Workload"), (api_version, "PodGroup"), ("v1", "Pod"))
        return [item for kind in kinds for item in (await api.list(*kind, namespace))["items"]]
