"""How long does a proof take, beside Kubernetes' own allocator placing the same claims?

Measures, in one run and side by side: the proof of 5,000 claims from 50 templates over 20 pools of 25 nodes
with 10 devices each in 6 shapes; the Go allocator placing those claims pod by pod, searching nodes itself,
the pickiest first, so that none of its searches is in vain; the same proof with 10 times more nodes per
pool; `dra-fleet prove dev`; a bare interpreter; importing the proof. Each proof runs in a process of its
own, and its time is taken from the plan to the verdicts. All processes find their modules compiled, as after
the first run of a program; a shell that forbids them (PYTHONDONTWRITEBYTECODE) changes nothing here.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from dra_fleet.cel import UNKNOWN
from dra_fleet.rehearsal.tools import oracle

if TYPE_CHECKING:
    from dra_fleet.plan import FleetPlan

PROJECT = Path(__file__).resolve().parents[1]
COMMAND = str(Path(sys.executable).parent / "dra-fleet")
ROUNDS = 5
POOLS = 20
NODES = 25
DEVICES = 10
TEMPLATES = 50
COPIES = 100
MATCHING_EVERY = 5
"""One template of so many has a matchAttribute constraint."""
MODELS = ("T4", "A100-SXM4-40GB", "A100-PCIE-40GB", "A100-SXM4-80GB", "A100-PCIE-80GB", "H100-SXM5-80GB")
LEAST_MEMORY = (10, 20, 39, 60, 4)
"""GiB."""
LEAST_COMPUTE = ("7.0.0", "7.4.0", "7.0.1", "6.1.0")


def settings(nodes: int) -> dict[str, Any]:
    """A stack with so many nodes per pool."""
    pools = {
        f"pool-{number}": {
            "machine": {
                "gpu": MODELS[number % len(MODELS)],
                "gpus": DEVICES,
                "cpus": 256,
                "memory": 2048,
            },
            "nodes": {"min": nodes, "max": nodes},
            "nodeSelector": {"example.com/pool": f"pool-{number}"},
        }
        for number in range(POOLS)
    }
    return {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {
            "lab": {
                "cloud": "existing",
                "kubeconfig": {"context": "lab"},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": pools,
            }
        },
        "classes": {"gpu": {"driver": "nvidia", "type": "gpu"}},
        "claims": {f"template-{number}": _claim(number) for number in range(TEMPLATES)},
        "workloads": {
            f"workload-{number}": {"cluster": "lab", "claim": f"template-{number}", "copies": COPIES}
            for number in range(TEMPLATES)
        },
    }


def _claim(number: int) -> dict[str, Any]:
    memory, compute = LEAST_MEMORY[number % len(LEAST_MEMORY)], LEAST_COMPUTE[number % len(LEAST_COMPUTE)]
    domain = "gpu.nvidia.com"
    request: dict[str, Any] = {
        "class": "gpu",
        "selectors": [
            f"device.attributes['{domain}'].cudaComputeCapability.isGreaterThan(semver('{compute}'))",
            f"device.capacity['{domain}'].memory.compareTo(quantity('{memory}Gi')) >= 0",
        ],
    }
    if number % MATCHING_EVERY:
        return {"requests": {"gpu": request}}
    return {"requests": {"gpu": request}, "constraints": [{"matchAttribute": f"{domain}/architecture"}]}


def plan_of(nodes: int) -> FleetPlan:
    """The plan to prove."""
    from dra_fleet.plan import make_plan  # noqa: PLC0415 - importing is measured too
    from dra_fleet.settings import parse  # noqa: PLC0415

    return make_plan(parse(settings(nodes)))


def prove_here(nodes: int) -> None:
    """Prove once in this process; prints seconds and how many workloads got each verdict."""
    from dra_fleet.proof.prove import prove  # noqa: PLC0415

    plan = plan_of(nodes)
    started = time.perf_counter()
    proof = prove(plan)
    seconds = time.perf_counter() - started
    words = [item.word for item in proof.workloads]
    print(json.dumps({"seconds": seconds, "words": {word: words.count(word) for word in sorted(set(words))}}))


def placement() -> str:
    """The same claims for the Go allocator, as one line of JSON."""
    from dra_fleet.model.published import slice_specs  # noqa: PLC0415
    from dra_fleet.proof.demand.asks import class_objects  # noqa: PLC0415
    from dra_fleet.proof.supply.prediction import predict  # noqa: PLC0415

    [cluster] = plan_of(NODES).clusters
    slices: list[dict[str, Any]] = []
    names: list[str] = []
    for group in predict(cluster):
        for number in range(group.most):
            node = f"{group.pool}-{number}"
            names.append(node)
            by_driver: dict[str, list[dict[str, Any]]] = {}
            for device in group.shape.devices:
                by_driver.setdefault(device.driver, []).append(_known(device.placed))
            slices += [
                {"metadata": {"name": f"{node}-{driver}"}, "spec": spec}
                for driver, devices in by_driver.items()
                for spec in slice_specs(driver, node, devices, 1)
            ]
    pickiest_first = sorted(range(TEMPLATES), key=lambda number: -LEAST_MEMORY[number % len(LEAST_MEMORY)])
    specs = {item.name: _stored(item.spec.to_object()) for item in cluster.templates}
    claims = [
        {"metadata": {"name": f"template-{number}-{copy}"}, "spec": specs[f"template-{number}"]}
        for number in pickiest_first
        for copy in range(COPIES)
    ]
    classes = list(class_objects(cluster).values())
    asked = {"nodes": names, "claims": claims, "classes": classes, "slices": slices}
    return json.dumps({"placement": asked})


def _stored(spec: dict[str, Any]) -> dict[str, Any]:
    """A claim's spec with what the API server fills in."""
    [request] = spec["devices"]["requests"]
    exactly = {"allocationMode": "ExactCount", "count": 1, **request["exactly"]}
    return {"devices": {**spec["devices"], "requests": [{**request, "exactly": exactly}]}}


def _known(device: dict[str, Any]) -> dict[str, Any]:
    """A device without the attributes that nobody can know; no claim here reads them."""
    attributes = {
        name: value for name, value in device["attributes"].items() if UNKNOWN not in value.values()
    }
    return {**device, "attributes": attributes}


def allocate(question: str) -> dict[str, Any]:
    """What the Go allocator says, with its own seconds: reading the question is not counted."""
    told = subprocess.run([str(oracle("1.36"))], input=question, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(told.stdout)
    if answer.get("error") or answer.get("panic"):
        sys.exit(f"the allocator failed: {answer}")
    return answer


def environment(compiled: str) -> dict[str, str]:
    """The variables of a process whose compiled modules are kept in this directory."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": compiled}


def seconds_of(variables: dict[str, str], *arguments: str) -> float:
    """Seconds of a process that must succeed."""
    started = time.perf_counter()
    subprocess.run(arguments, cwd=PROJECT, env=variables, check=True, capture_output=True)
    return time.perf_counter() - started


def proof_of(nodes: int) -> dict[str, Any]:
    """One proof in a process of its own."""
    command = [sys.executable, __file__, "--prove", str(nodes)]
    told: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return told


def measure(variables: dict[str, str]) -> dict[str, float]:
    """Median seconds of each case; processes run with these variables."""
    question = placement()
    seconds_of(variables, COMMAND, "prove", "dev")
    rounds: list[dict[str, float]] = []
    for number in range(ROUNDS):
        proof, larger, placed = proof_of(NODES), proof_of(10 * NODES), allocate(question)
        rounds.append(
            {
                "proof": proof["seconds"],
                "proof, 10 x nodes": larger["seconds"],
                "Go allocator": placed["seconds"],
                "prove dev": seconds_of(variables, COMMAND, "prove", "dev"),
                "bare python": seconds_of(variables, sys.executable, "-c", "pass"),
                "import dra_fleet.proof.prove": seconds_of(
                    variables, sys.executable, "-c", "import dra_fleet.proof.prove"
                ),
            }
        )
        words = f"{proof['words']}, with 10 x nodes {larger['words']}; Go placed {placed['placed']}"
        print(f"round {number + 1} of {ROUNDS}: {words}", file=sys.stderr)
    return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}


def main() -> None:
    """Print the medians and the ratios."""
    if sys.argv[1:2] == ["--prove"]:
        prove_here(int(sys.argv[2]))
        return
    with TemporaryDirectory(prefix="dra-fleet-bench-") as compiled:
        found = measure(environment(compiled))
    for name, value in found.items():
        print(f"{name:26} {value:7.3f} s (median of {ROUNDS})")
    bare, proof = found["bare python"], found["proof"]
    command, imported = found["prove dev"], found["import dra_fleet.proof.prove"]
    print(f"proof / Go allocator:         {proof / found['Go allocator']:.2f} (goal: at most 1)")
    print(f"10 x nodes / 1 x nodes:       {found['proof, 10 x nodes'] / proof:.2f} (goal: at most 1.5)")
    print(f"prove dev / bare python:      {command / bare:.1f}")
    print(f"prove dev beyond bare python: {command - bare:.3f} s (goal: at most 1)")
    print(f"import / bare python:         {imported / bare:.1f}")
    print(f"import beyond bare python:    {1000 * (imported - bare):.0f} ms (goal: at most 150)")


if __name__ == "__main__":
    main()
