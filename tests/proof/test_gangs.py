import random
from collections.abc import Iterator
from typing import Any

import pytest

from dra_fleet.core.findings.errors import SettingsInvalid
from dra_fleet.proof.answer.verdicts import WorkloadProof
from dra_fleet.proof.demand.asks import claim_ask, class_objects
from dra_fleet.proof.demand.pod_sets import pod_sets_of
from dra_fleet.proof.search.packing import Filled
from dra_fleet.proof.search.placements import Placements
from dra_fleet.proof.supply.prediction import predict
from tests.proof.proof_helpers import fleet, gpus, plan_of, pool, proved

CLASS = "gpu.example.com"
PARTS = "device.attributes['gpu.example.com']"
WHOLE = {"name": "whole", "class": CLASS, "selectors": [f"'full' in {PARTS}"]}
HALF = {"name": "half", "class": CLASS, "selectors": [f"!('full' in {PARTS})"]}
NVIDIA = "gpu.nvidia.com"


def stack(
    claims: dict[str, Any],
    workloads: dict[str, Any],
    *,
    minor: str = "1.37",
    gates: tuple[str, ...] = ("GenericWorkload",),
    devices: int = 1,
    nodes: int = 1,
) -> dict[str, Any]:
    """A cluster whose nodes have GPUs that can each be cut in two, as in kubernetes/kubernetes#140097."""
    values = {"kubeletPlugin": {"numDevices": devices, "gpuPartitions": 2}}
    found = fleet(
        {"gpus": pool(gpus(1), "gpus", (nodes, nodes))},
        drivers={"example": {"version": "0.4.0", "values": values}},
        claims={name: {"requests": {"gpu": request}} for name, request in claims.items()},
        workloads=workloads,
    )
    found["kubernetes"] = minor
    found["clusters"]["lab"]["featureGates"] = list(gates)
    return found


def verdicts(*arguments: Any, **more: Any) -> dict[str, WorkloadProof]:
    return {item.name: item for item in proved(stack(*arguments, **more)).workloads}


def gang(claim: str, copies: int, **more: Any) -> dict[str, Any]:
    return {"claim": claim, "copies": copies, "gang": "native", **more}


def test_a_gang_that_fits_never_starts_if_its_first_pod_takes_the_whole_device() -> None:
    train = verdicts({"either": {"firstAvailable": [WHOLE, HALF]}}, {"train": gang("either", 2)})["train"]
    assert train.word == "never"
    assert train.gang == 2
    assert train.order == (
        "1 x train on gpus-0 (gpu-0-full)",
        "train waits as a whole: no node has free devices for one more of its pods",
    )
    assert train.fix == (
        "list alternative half first in request gpu of claim either; or write minCount: 1: "
        "then the gang starts in every order of arrival"
    )


def test_each_remedy_makes_the_gang_start_in_every_order() -> None:
    either = {"either": {"firstAvailable": [HALF, WHOLE]}}
    assert verdicts(either, {"train": gang("either", 2)})["train"].word == "guaranteed"
    either = {"either": {"firstAvailable": [WHOLE, HALF]}}
    train = verdicts(either, {"train": gang("either", 2, minCount=1)})["train"]
    assert (train.word, train.gang) == ("guaranteed", 1)


def test_a_gang_that_waits_holds_nothing_so_that_others_start() -> None:
    claims = {
        "either": {"firstAvailable": [WHOLE, HALF]},
        "half": {"class": CLASS, "selectors": HALF["selectors"]},
    }
    found = verdicts(claims, {"train": gang("either", 2), "notebook": ("half", 2)}, devices=2)
    assert found["notebook"].word == "possible"
    assert found["train"].word == "possible"
    assert found["notebook"].order[-1] == "notebook waits: no node has free devices for it"


def test_a_selector_keeps_a_gang_to_partitions() -> None:
    settings = fleet(
        {"gpus": pool({"gpu": "H100-SXM5-80GB", "gpus": 1, "cpus": 64, "memory": 512}, "gpus")},
        drivers={"nvidia": {"version": "0.5.0", "values": {"featureGates": {"DynamicMIG": True}}}},
        classes={"any": {"cel": [f"device.driver == '{NVIDIA}'"]}},
        claims={"any": {"requests": {"gpu": {"class": "any"}}}},
        workloads={"train": gang("any", 2)},
    )
    settings["kubernetes"] = "1.37"
    settings["clusters"]["lab"]["featureGates"] = ["GenericWorkload"]
    (train,) = proved(settings).workloads
    assert train.word == "never"
    selector = f'device.attributes["{NVIDIA}"].type == "mig"'
    assert train.fix.startswith(f"add selector {selector} to request gpu of claim any; or write minCount: 1")
    settings["claims"]["any"]["requests"]["gpu"]["selectors"] = [selector]
    assert proved(settings).workloads[0].word == "guaranteed"


def test_two_gangs_that_each_fit_start_in_some_order() -> None:
    whole = {"class": CLASS, "selectors": WHOLE["selectors"]}
    found = proved(stack({"whole": whole}, {"a": gang("whole", 2), "b": gang("whole", 1)}, devices=2))
    assert {item.name: item.word for item in found.workloads} == {"a": "possible", "b": "possible"}
    assert any("in every order some pod waits" in text for text in found.failures)


def test_a_gang_needs_min_count_pods_to_start_and_more_pods_take_what_is_left() -> None:
    half = {"half": {"class": CLASS, "selectors": HALF["selectors"]}}
    found = proved(stack(half, {"train": gang("half", 4, minCount=2)}))
    assert found.workloads[0].word == "guaranteed"
    assert found.fits
    assert verdicts(half, {"train": gang("half", 4, minCount=3)})["train"].word == "never"


@pytest.mark.parametrize(
    ("minor", "word", "defect"),
    [("1.35", "never", "137617"), ("1.36", "unknown", "140087"), ("1.37", "guaranteed", "")],
)
def test_claims_that_a_gang_shares_depend_on_the_version(minor: str, word: str, defect: str) -> None:
    gates = ("GenericWorkload",) if minor == "1.37" else ("GenericWorkload", "GangScheduling")
    settings = stack({"one": {"class": CLASS}}, {"train": gang("one", 2)}, minor=minor, gates=gates)
    settings["claims"]["one"]["shared"] = True
    (train,) = proved(settings).workloads
    assert train.word == word
    assert defect in train.reason


@pytest.mark.parametrize(("minor", "word"), [("1.35", "unknown"), ("1.36", "guaranteed")])
def test_a_version_that_keeps_devices_of_a_waiting_gang_leaves_the_verdict_open(
    minor: str, word: str
) -> None:
    half = {"half": {"class": CLASS, "selectors": HALF["selectors"]}}
    gates = ("GenericWorkload", "GangScheduling")
    found = verdicts(half, {"train": gang("half", 4, minCount=2)}, minor=minor, gates=gates, devices=1)
    assert found["train"].word == word


def test_too_many_orders_leave_the_verdict_open() -> None:
    claims = {
        "either": {"firstAvailable": [WHOLE, HALF]},
        "half": {"class": CLASS, "selectors": HALF["selectors"]},
    }
    workloads = {"train": gang("either", 40), "notebook": ("half", 60), "tune": gang("half", 50)}
    found = verdicts(claims, workloads, devices=8, nodes=20)
    assert found["train"].word == "unknown"
    assert "too many orders" in found["train"].reason


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"gates": ()},
            "requires feature gate GenericWorkload and --runtime-config=scheduling.k8s.io/v1beta1=true",
        ),
        ({"minor": "1.34"}, "requires Kubernetes 1.35 or later; cluster lab runs 1.34"),
        (
            {"minor": "1.36"},
            "requires feature gate GangScheduling and --runtime-config=scheduling.k8s.io/v1alpha2",
        ),
    ],
)
def test_a_cluster_without_gang_scheduling_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        plan_of(stack({"one": {"class": CLASS}}, {"train": gang("one", 1)}, **change))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"minCount": 3}, "must be at most copies, which is 2"),
        ({"gang": None, "minCount": 2}, "requires gang: native"),
        ({"kind": "Deployment"}, "must be a Job in a gang"),
        ({"queue": "team"}, "cannot be combined with a queue"),
    ],
)
def test_a_gang_that_contradicts_itself_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsInvalid, match=message):
        plan_of(stack({"one": {"class": CLASS}}, {"train": gang("one", 2) | more}))


REQUESTS: dict[str, dict[str, Any]] = {
    "whole": {"class": CLASS, "selectors": WHOLE["selectors"]},
    "half": {"class": CLASS, "selectors": HALF["selectors"]},
    "either": {"firstAvailable": [WHOLE, HALF]},
    "two": {"class": CLASS, "selectors": HALF["selectors"], "count": 2},
    "any": {"class": CLASS},
}


class Played:
    """Every order of arrival of some pods, played one by one; a gang that does not start takes nothing."""

    def __init__(self, settings: dict[str, Any]) -> None:
        cluster = plan_of(settings).clusters[0]
        classes = class_objects(cluster)
        asks = {item.name: claim_ask(item.name, item.spec, classes) for item in cluster.templates}
        self.pod_sets, _ = pod_sets_of(cluster, cluster.workloads, asks, classes)
        (group,) = predict(cluster)
        self.shape, self.placements = group.shape, Placements(classes, cluster.kubernetes)
        self.waits: set[str] = set()
        self.placed: set[str] = set()
        self._seen: set[tuple[tuple[Filled, ...], tuple[int, ...]]] = set()
        self._play((Filled(),) * group.most, (0,) * len(self.pod_sets))

    def word(self, name: str) -> str:
        return "guaranteed" if name not in self.waits else "possible" if name in self.placed else "never"

    def _play(self, nodes: tuple[Filled, ...], running: tuple[int, ...]) -> None:
        if (nodes, running) in self._seen:
            return
        self._seen.add((nodes, running))
        for number, pod_set in enumerate(self.pod_sets):
            is_placed = running[number] >= (pod_set.gang or pod_set.copies)
            self.placed |= {pod_set.name} if is_placed else set()
            if running[number] == pod_set.copies:
                continue
            size = 1 if is_placed or not pod_set.gang else pod_set.gang
            for after in self._run(number, nodes, size):
                if after is not None:
                    self._play(after, (*running[:number], running[number] + size, *running[number + 1 :]))
                elif not is_placed:
                    self.waits.add(pod_set.name)

    def _run(self, number: int, nodes: tuple[Filled, ...], size: int) -> Iterator[tuple[Filled, ...] | None]:
        """The nodes after so many pods in a row, on any node each; None if one of them finds none."""
        if not size:
            yield nodes
            return
        claim = self.pod_sets[number].claim
        found = [self.placements.place(claim, self.shape, node[0]) for node in nodes]
        if not any(found):
            yield None
        for place, placed in enumerate(found):
            if placed is not None:
                yield from self._run(
                    number, (*nodes[:place], Filled(placed[1]), *nodes[place + 1 :]), size - 1
                )


def test_verdicts_on_random_gangs_are_those_of_every_order_played() -> None:
    words: list[str] = []
    for seed in range(60):
        chance = random.Random(seed)
        workloads: dict[str, Any] = {}
        for number in range(chance.choice([1, 2, 2, 3])):
            copies = chance.randint(1, 4)
            claim = chance.choice(sorted(REQUESTS))
            least = chance.randint(1, copies)
            workloads[f"w{number}"] = (
                gang(claim, copies, minCount=least) if chance.random() < 0.7 else (claim, copies)
            )
        settings = stack(REQUESTS, workloads, devices=chance.randint(1, 2), nodes=chance.randint(1, 2))
        played = Played(settings)
        found = {item.name: item.word for item in proved(settings).workloads}
        assert found == {name: played.word(name) for name in found}, f"seed {seed}"
        words += found.values()
    assert min(words.count(word) for word in ("guaranteed", "possible", "never")) >= 10
