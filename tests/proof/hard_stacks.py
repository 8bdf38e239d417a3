"""Stacks that may be hard to prove: pools, classes, claims and workloads, as many as fit into a size."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.proof.proof_helpers import fleet

Part = dict[str, Any]
Draw = Any
GPU, MIG = "gpu.nvidia.com", "mig.nvidia.com"
ROOT, PARENT = "resource.kubernetes.io/pcieRoot", "gpu.nvidia.com/parentUUID"
FPGA = "fpga.example.com"
DESCRIBED = {
    "version": "1.0.0",
    "described": {"publishes": FPGA, "chart": "oci://registry.example.com/charts/fpga"},
}

MACHINES: list[Callable[[int], Part]] = [
    lambda _: {"machine": "hgx-h100-8"},
    lambda number: {
        "machine": {"gpu": "A100-SXM4-40GB", "gpus": 1 + number % 128, "cpus": 64, "memory": 512}
    },
    lambda number: {"machine": {"gpu": "A100-SXM4-40GB", "gpus": 128, "cpus": 64 + number, "memory": 512}},
    lambda _: {"machine": "dgx-a100-40-8", "sharing": {"strategy": "mig", "layout": {"1g.5gb": 7}}},
    lambda number: {
        "machine": "dgx-a100-80-8",
        "sharing": {"strategy": "mig", "layout": {"1g.10gb": 1 + number % 4, "2g.20gb": 1}},
    },
    lambda number: {
        "machine": "cpu-16",
        "devices": [{"driver": FPGA, "name": "f", "count": 128, "attributes": {"a": number % 97}}],
    },
]
"""Variants of a pool, by number."""
SELECTORS = [
    "device.attributes['gpu.nvidia.com'].architecture != 'x{}'",
    "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{}Mi')) >= 0",
    "device.attributes['gpu.nvidia.com'].productName.matches('^(N|V|.)*{}$')",
    "device.attributes['gpu.nvidia.com'].index == {}",
    "[1, 2, 3, 4, 5, 6, 7, 8, 9].all(x, [1, 2, 3, 4, 5, 6, 7, 8, 9].all(y, x * y < 9{}))",
    "device.driver == 'fpga.example.com' && device.attributes['fpga.example.com'].a > {}",
]


@st.composite
def stacks(draw: st.DrawFn, most_bytes: int) -> dict[str, Any]:
    """A stack file of at most so many bytes, whose parts follow a few patterns in turns."""
    share = draw(st.lists(st.integers(1, 8), min_size=4, max_size=4))
    pools = draw(st.lists(_pools(), min_size=1, max_size=3))
    classes = draw(st.lists(_classes(), min_size=0, max_size=2))
    claims = draw(st.lists(_claims(bool(classes)), min_size=1, max_size=3))
    workloads = draw(st.lists(_workloads(), min_size=0, max_size=3))
    patterns = [pools, classes, claims, workloads]
    sizes = [
        most_bytes * part // sum(share) if found else 0 for part, found in zip(share, patterns, strict=True)
    ]
    made: list[dict[str, Part]] = []
    for letter, found, size in zip("pkcw", patterns, sizes, strict=True):
        parts: dict[str, Part] = {}
        left = size
        while left > 0 and found:
            number = len(parts)
            part = found[number % len(found)](number, [len(one) for one in made])
            left -= len(json.dumps(part)) + 8
            parts[f"{letter}{number}"] = part
        made.append(parts)
    return fleet(
        made[0],
        classes=made[1],
        claims=made[2],
        workloads=made[3],
        drivers={"nvidia": {"version": "0.5.0"}, "fpga": DESCRIBED},
    )


Pattern = st.SearchStrategy["Callable[[int, list[int]], Part]"]


@st.composite
def _pools(draw: st.DrawFn) -> Any:
    machine = draw(st.sampled_from(MACHINES))
    least, most = draw(st.sampled_from([(1, 1), (0, 3), (1, 100)]))
    tainted = draw(st.booleans())

    def pool(number: int, _: list[int]) -> Part:
        taints = [{"key": f"t{number % 7}", "effect": "NoSchedule"}] if tainted else []
        return {
            **machine(number),
            "nodes": {"min": least, "max": most},
            "nodeSelector": {"p": f"p{number}"},
            **({"taints": taints} if taints else {}),
        }

    return pool


@st.composite
def _classes(draw: st.DrawFn) -> Any:
    selector = draw(st.sampled_from(SELECTORS))

    def named(number: int, _: list[int]) -> Part:
        return {"cel": [f"device.driver != 'x' && {selector.format(number)}"]}

    return named


@st.composite
def _claims(draw: st.DrawFn, own: bool) -> Any:
    requests = draw(st.sampled_from([1, 1, 2, 4, 32]))
    count = draw(st.sampled_from([1, 1, 2, 7, 8, 32]))
    selector = draw(st.sampled_from(["", *SELECTORS]))
    class_name = draw(st.sampled_from([GPU, MIG] + (["own"] if own else [])))
    constraint = draw(
        st.sampled_from(
            [None, {"matchAttribute": ROOT}, {"matchAttribute": PARENT}, {"distinctAttribute": PARENT}]
        )
    )
    kind = draw(st.sampled_from(["one", "one", "all", "first"]))
    shared = draw(st.booleans())

    def claim(number: int, made: list[int]) -> Part:
        named = (
            f"k{number % made[1]}"
            if class_name == "own" and made[1]
            else GPU
            if class_name == "own"
            else class_name
        )
        one: Part = {"class": named}
        if selector:
            one["selectors"] = [selector.format(number)]
        each = max(1, min(count, 32 // requests))
        if kind == "all":
            one["allocationMode"] = "All"
        elif each > 1:
            one["count"] = each
        if kind == "first":
            one = {"firstAvailable": [{"name": "a", **one}, {"name": "b", "class": GPU}]}
        body: Part = {"requests": {f"r{index}": one for index in range(requests)}}
        if constraint is not None:
            body["constraints"] = [constraint]
        if shared:
            body["shared"] = True
        return body

    return claim


@st.composite
def _workloads(draw: st.DrawFn) -> Any:
    copies = draw(st.sampled_from([1, 2, 3, 50, 9_990]))
    selects, tolerates = draw(st.booleans()), draw(st.booleans())
    cpu = draw(st.sampled_from(["", "1", "60"]))

    def workload(number: int, made: list[int]) -> Part:
        body: Part = {"claim": f"c{number % made[2]}", "copies": copies + number % 5}
        if selects:
            body["nodeSelector"] = {"p": f"p{number % made[0]}"}
        if tolerates:
            body["tolerations"] = [{"key": f"t{number % 5}", "operator": "Exists"}]
        if cpu:
            body["cpu"] = f"{cpu}.{number % 9}"
        return body

    return workload
