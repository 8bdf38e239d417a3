import copy
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.fleet.plan import FleetPlan
from dra_fleet.proof.prove import prove
from dra_fleet.proof.report import RecordingInvalid
from dra_fleet.proof.supply.recorded_pools import read_recordings
from tests.proof.proof_helpers import fleet, plan_of, pool

HALVES = 2
SEED = 20_261_121


def node(name: str, **labels: str) -> dict[str, Any]:
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {"example.com/pool": "gpus", **labels}},
        "spec": {"taints": [{"key": "sku", "value": "gpu", "effect": "PreferNoSchedule"}]},
        "status": {"allocatable": {"cpu": "60", "memory": "500Gi", "pods": "110"}},
    }


def cut(number: int) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """A GPU and its halves, and the counter that keeps them apart."""
    name = f"gpu-{number}"
    parts = [(name, "gpu", HALVES), *((f"{name}-half-{half}", "mig", 1) for half in range(HALVES))]
    devices = [
        {
            "name": part,
            "attributes": {"type": {"string": kind}},
            "consumesCounters": [{"counterSet": name, "counters": {"halves": {"value": str(taken)}}}],
        }
        for part, kind, taken in parts
    ]
    return devices, {"name": name, "counters": {"halves": {"value": str(HALVES)}}}


def spec(where: str, slices: int, **more: Any) -> dict[str, Any]:
    pool_of = {"name": where, "generation": 1, "resourceSliceCount": slices}
    return {"driver": "gpu.nvidia.com", "nodeName": where, "pool": pool_of, **more}


def sliced(name: str, body: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "ResourceSlice", "metadata": {"name": name}, "spec": body}


def split(where: str, gpus: int = 2) -> list[dict[str, Any]]:
    """As from 1.35: the counters in a separate slice."""
    made = [cut(number) for number in range(gpus)]
    counters = spec(where, gpus + 1, sharedCounters=[entry for _, entry in made])
    bodies = [counters, *(spec(where, gpus + 1, devices=devices) for devices, _ in made)]
    return [node(where), *(sliced(f"{where}-{number}", body) for number, body in enumerate(bodies))]


def combined(where: str, gpus: int = 2) -> list[dict[str, Any]]:
    """As on 1.34: counters and devices of a GPU in one slice."""
    made = [cut(number) for number in range(gpus)]
    bodies = [spec(where, gpus, sharedCounters=[entry], devices=devices) for devices, entry in made]
    return [node(where), *(sliced(f"{where}-{number}", body) for number, body in enumerate(bodies))]


def plan(copies: int, kubernetes: str = "1.36", kind: str = "mig", nodes: int = 1) -> FleetPlan:
    settings = fleet(
        {"gpus": pool("hgx-h100-8", "gpus", (nodes, nodes))},
        classes={"part": {"driver": "nvidia", "type": kind}},
        claims={"one": {"requests": {"gpu": {"class": "part"}}}},
        workloads={"serve": ("one", copies)},
    )
    return plan_of({**settings, "kubernetes": kubernetes})


def answer(stack: FleetPlan, tmp_path: Path, items: Sequence[dict[str, Any]]) -> tuple[str, str]:
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps({"items": items}))
    (workload,) = prove(stack, read_recordings(stack, [str(file)])).workloads
    return workload.word, workload.reason


@pytest.mark.parametrize(("copies", "word"), [(4, "guaranteed"), (5, "never")])
@pytest.mark.parametrize("record", [split, combined])
def test_recorded_partitions_are_counted_by_the_counters_they_share(
    tmp_path: Path, record: Any, copies: int, word: str
) -> None:
    assert answer(plan(copies), tmp_path, record("n1"))[0] == word


@pytest.mark.parametrize(("copies", "word"), [(2, "guaranteed"), (3, "never")])
def test_a_whole_gpu_takes_all_counters_of_its_partitions(tmp_path: Path, copies: int, word: str) -> None:
    assert answer(plan(copies, kind="gpu"), tmp_path, split("n1"))[0] == word


def test_a_recording_of_1_37_with_its_new_fields_is_read(tmp_path: Path) -> None:
    items = split("n1")
    for item in items[1:]:
        item["spec"] |= {"skipNodeOperations": ["*"]}
        if any("consumesCounters" in device for device in item["spec"].get("devices", [])):
            item["spec"]["partitionTypeAttribute"] = "gpu.nvidia.com/type"
        for device in item["spec"].get("devices", []):
            device["nodeAllocatableResources"] = {"cpu": {"mapping": {"deviceMultiplier": "1"}}}
    assert answer(plan(4, "1.37"), tmp_path, items)[0] == "guaranteed"


def test_nodes_that_differ_in_counters_only_are_not_alike(tmp_path: Path) -> None:
    halved = split("n2")
    halved[1]["spec"]["sharedCounters"][0]["counters"]["halves"]["value"] = "1"
    items = [*split("n1"), *halved]
    assert answer(plan(7, nodes=2), tmp_path, items)[0] == "guaranteed"
    assert answer(plan(8, nodes=2), tmp_path, items)[0] == "never"


@pytest.mark.parametrize("minor", ["1.34", "1.35"])
def test_counters_that_only_an_alpha_gate_keeps_promise_nothing(tmp_path: Path, minor: str) -> None:
    word, reason = answer(plan(1, kubernetes=minor), tmp_path, combined("n1"))
    assert word == "unknown"
    assert reason == (
        f"pool gpus: devices of driver gpu.nvidia.com share counters, which Kubernetes {minor} keeps only "
        "with the alpha feature gate DRAPartitionableDevices, and how that alpha counts them is not proved; "
        "use Kubernetes 1.36 or later, which counts them as it should"
    )


def fabric(**nodes: Any) -> dict[str, Any]:
    """A slice of a driver whose devices depend on a network."""
    body = {
        "driver": "fabric.example.com",
        "pool": {"name": "rack", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": "link", "nodeName": "n1"} if "perDeviceNodeSelection" in nodes else {"name": "link"}
        ],
        **nodes,
    }
    return sliced("fabric-0", body)


SERVING_SEVERAL = [
    {"allNodes": True},
    {
        "nodeSelector": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "In", "values": ["1"]}]}]
        }
    },
    {"perDeviceNodeSelection": True},
]


@pytest.mark.parametrize("nodes", SERVING_SEVERAL, ids=lambda nodes: next(iter(nodes)))
def test_a_claim_on_devices_that_serve_several_nodes_is_left_open_with_the_slice_and_the_reason(
    tmp_path: Path, nodes: dict[str, Any]
) -> None:
    settings = fleet(
        {"gpus": pool("hgx-h100-8", "gpus")},
        classes={"link": {"cel": ["device.driver == 'fabric.example.com'"]}},
        claims={"one": {"requests": {"link": {"class": "link"}}}},
        workloads={"serve": ("one", 1)},
    )
    word, reason = answer(plan_of(settings), tmp_path, [*split("n1"), fabric(**nodes)])
    assert word == "unknown"
    assert reason == (
        "pool gpus: ResourceSlice fabric-0 of driver fabric.example.com serves several nodes "
        f"({next(iter(nodes))}): what is left of it for a pod depends on the pods of all of them, while this "
        "proof checks each node by itself"
    )


@pytest.mark.parametrize(("copies", "word"), [(4, "guaranteed"), (5, "never")])
def test_slices_that_serve_several_nodes_do_not_touch_claims_on_other_drivers(
    tmp_path: Path, copies: int, word: str
) -> None:
    assert answer(plan(copies), tmp_path, [*split("n1"), fabric(allNodes=True)])[0] == word


def refused(tmp_path: Path, items: Sequence[dict[str, Any]]) -> str:
    with pytest.raises(RecordingInvalid) as output:
        answer(plan(1), tmp_path, items)
    return str(output.value).removeprefix(f"{tmp_path}/")


def test_an_incomplete_pool_is_reported(tmp_path: Path) -> None:
    assert refused(tmp_path, split("n1")[:-1]).startswith(
        "nodes.json holds 2 of the 3 ResourceSlices of pool n1 of driver gpu.nvidia.com; "
    )


def test_a_node_that_is_none_is_reported(tmp_path: Path) -> None:
    items = split("n1")
    items[0]["spec"]["taints"][0]["effect"] = "Never"
    assert refused(tmp_path, items).startswith("nodes.json: Node n1 is wrong at spec.taints.0.effect: ")
    items = split("n1")
    items[0]["status"]["allocatable"]["cpu"] = "many"
    assert refused(tmp_path, items).startswith(
        "nodes.json: Node n1 is wrong at status: 'many' is not a quantity"
    )


@pytest.mark.parametrize("seed", range(40))
def test_a_recording_with_anything_in_it_is_used_or_refused_but_never_raises_anything_else(
    tmp_path: Path, seed: int
) -> None:
    chance = random.Random(SEED + seed)
    items = copy.deepcopy(split("n1"))
    for _ in range(3):
        _break(chance, items)
    try:
        word, _ = answer(plan(1), tmp_path, items)
    except RecordingInvalid:
        return
    assert word in ("guaranteed", "possible", "never", "unknown", "error")


def _break(chance: random.Random, root: list[Any]) -> None:
    """Put something else in place of one value somewhere below."""
    junk = [None, True, 0, -1, "", "x" * 300, [], {}, [None], {"a": None}, 10**30]
    container, key = chance.choice(_places(root))
    container[key] = chance.choice(junk)


def _places(container: Any) -> list[tuple[Any, Any]]:
    """Every value below, as where it stands."""
    pairs: list[tuple[Any, Any]] = list(
        container.items() if isinstance(container, dict) else enumerate(container)  # pyright: ignore[reportUnknownArgumentType]
    )
    below = [found for _, item in pairs if isinstance(item, dict | list) for found in _places(item)]
    return [*((container, key) for key, _ in pairs), *below]
