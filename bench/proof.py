"""Measure a proof and Kubernetes' own allocator on the same claims.

Measures, in one run and side by side: the proof of 5,000 claims from 50 templates over 20 pools of 25 nodes
with 10 devices each in 6 shapes; the Go allocator placing those claims pod by pod, searching nodes itself,
the pickiest first, so that none of its searches is without success; both with 50 pools of 10 nodes, each of a
separate machine; the first proof with 10 times more nodes per pool; `dra-fleet prove dev`, `--help` and
`check` of one file; a bare interpreter; importing the proof. Each proof runs in a separate process, and its
time is taken from the plan to the verdicts. All processes find their modules compiled, as after the first run
of a program; a shell that forbids them (PYTHONDONTWRITEBYTECODE) changes nothing here.
"""

from __future__ import annotations

import gc
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `tests` is not installed

from twins.arguments import parser
from twins.goals import print_beside_goal, print_measured

from dra_fleet.kubernetes.cel import UNKNOWN
from dra_fleet.rehearsal.tools import reference

if TYPE_CHECKING:
    from dra_fleet.fleet.plan import FleetPlan

PROJECT = Path(__file__).resolve().parents[1]
COMMAND = str(Path(sys.executable).parent / "dra-fleet")
ROUNDS = 3
FLEETS = {
    "alike": (20, 25, 0),
    "of 10 x the nodes": (20, 250, 0),
    "of 50 machine shapes": (50, 10, 3),
}
"""Pools, nodes in each, and by how many devices and CPUs machines of one GPU differ."""
DEVICES = 10
TEMPLATES = 50
COPIES = 100
MATCHING_EVERY = 5
"""Period of the templates that have a matchAttribute constraint."""
MODELS = ("T4", "A100-SXM4-40GB", "A100-PCIE-40GB", "A100-SXM4-80GB", "A100-PCIE-80GB", "H100-SXM5-80GB")
LEAST_MEMORY = (10, 20, 39, 60, 4)
"""GiB."""
LEAST_COMPUTE = ("7.0.0", "7.4.0", "7.0.1", "6.1.0")
POD = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: one-gpu, namespace: team}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          selectors: [{cel: {expression: "device.driver == 'gpu.nvidia.com'"}}]
"""


def settings(fleet: str) -> dict[str, Any]:
    """Return the stack of one of this module's fleets."""
    count, nodes, differing = FLEETS[fleet]
    pools = {
        f"pool-{number}": {
            "machine": {
                "gpu": MODELS[number % len(MODELS)],
                "gpus": DEVICES + (number // len(MODELS) % differing if differing else 0),
                "cpus": 256 + (number if differing else 0),
                "memory": 2048,
            },
            "nodes": {"min": nodes, "max": nodes},
            "nodeSelector": {"example.com/pool": f"pool-{number}"},
        }
        for number in range(count)
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


def plan_of(fleet: str) -> FleetPlan:
    """Return the plan to prove."""
    from dra_fleet.fleet import parse  # noqa: PLC0415
    from dra_fleet.fleet.plan import make_plan  # noqa: PLC0415 - importing is measured too

    return make_plan(parse(settings(fleet)))


def prove_here(fleet: str) -> None:
    """Prove once in this process, whose collector rests as in every command; prints seconds and verdicts."""
    from dra_fleet.cli.entry import ALLOCATIONS  # noqa: PLC0415
    from dra_fleet.proof.prove import prove  # noqa: PLC0415

    gc.set_threshold(ALLOCATIONS)
    plan = plan_of(fleet)
    started = time.perf_counter()
    proof = prove(plan)
    seconds = time.perf_counter() - started
    words = [item.word for item in proof.workloads]
    print(json.dumps({"seconds": seconds, "words": {word: words.count(word) for word in sorted(set(words))}}))


def placement(fleet: str) -> str:
    """Return the same claims for the Go allocator, as one line of JSON."""
    from dra_fleet.model.specs import slice_specs  # noqa: PLC0415
    from dra_fleet.proof.demand.asks import class_objects  # noqa: PLC0415
    from dra_fleet.proof.supply.prediction import predict  # noqa: PLC0415

    [cluster] = plan_of(fleet).clusters
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
    """Return a claim's spec with the defaults of the API server."""
    [request] = spec["devices"]["requests"]
    exactly = {"allocationMode": "ExactCount", "count": 1, **request["exactly"]}
    return {"devices": {**spec["devices"], "requests": [{**request, "exactly": exactly}]}}


def _known(device: dict[str, Any]) -> dict[str, Any]:
    """Return a device without its unknown attributes; no claim here reads them."""
    attributes = {
        name: value for name, value in device["attributes"].items() if UNKNOWN not in value.values()
    }
    return {**device, "attributes": attributes}


def allocate(question: str) -> dict[str, Any]:
    """Run the Go allocator; its seconds do not include reading the question."""
    output = subprocess.run(
        [str(reference("1.36"))], input=question, check=True, capture_output=True, text=True
    )
    answer: dict[str, Any] = json.loads(output.stdout)
    if answer.get("error") or answer.get("panic"):
        sys.exit(f"the allocator failed: {answer}")
    return answer


def environment(compiled: str) -> dict[str, str]:
    """Return the variables of a process whose compiled modules are kept in this directory."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": compiled}


def seconds_of(variables: dict[str, str], *arguments: str) -> float:
    """Seconds of a process that must succeed."""
    started = time.perf_counter()
    subprocess.run(arguments, cwd=PROJECT, env=variables, check=True, capture_output=True)
    return time.perf_counter() - started


def proof_of(fleet: str) -> dict[str, Any]:
    """Prove once in a separate process."""
    command = [sys.executable, __file__, "--prove", fleet]
    output: dict[str, Any] = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return output


def one_round(variables: dict[str, str], questions: dict[str, str], file: str) -> dict[str, float]:
    """Seconds of each case, in turns; processes run with these variables."""
    found: dict[str, float] = {}
    for fleet in FLEETS:
        proof = proof_of(fleet)
        print(f"nodes {fleet}: {proof['words']}", file=sys.stderr)
        found[f"proof, nodes {fleet}"] = proof["seconds"]
    for fleet, question in questions.items():
        placed = allocate(question)
        print(f"nodes {fleet}: Go placed {placed['placed']}", file=sys.stderr)
        found[f"Go allocator, nodes {fleet}"] = placed["seconds"]
    commands = {
        "bare python": (sys.executable, "-c", "pass"),
        "prove dev": (COMMAND, "prove", "dev"),
        "--help": (COMMAND, "--help"),
        "check of one file": (COMMAND, "check", file, "--stack", "dev"),
        "import dra_fleet.proof.prove": (sys.executable, "-c", "import dra_fleet.proof.prove"),
    }
    return {**found, **{name: seconds_of(variables, *command) for name, command in commands.items()}}


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """Median seconds of each case."""
    variables = environment(str(folder / "compiled"))
    file = folder / "pod.yaml"
    file.write_text(POD, encoding="utf-8")
    questions = {fleet: placement(fleet) for fleet in ("alike", "of 50 machine shapes")}
    found = [one_round(variables, questions, str(file)) for _ in range(rounds + 1)][1:]
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def main() -> None:
    """Print the medians and the ratios."""
    if sys.argv[1:2] == ["--prove"]:
        prove_here(sys.argv[2])
        return
    rounds = parser(__doc__, ROUNDS).parse_args().rounds
    with TemporaryDirectory(prefix="dra-fleet-bench-") as folder:
        found = measure(Path(folder), rounds)
    for name, value in found.items():
        print_measured(name, f"{value:.3f} s")
    bare, alike = found["bare python"], found["proof, nodes alike"]
    for fleet in ("alike", "of 50 machine shapes"):
        ratio = found[f"proof, nodes {fleet}"] / found[f"Go allocator, nodes {fleet}"]
        print_beside_goal(f"proof / Go allocator, nodes {fleet}", ratio, 0.25)
    print_beside_goal("proof, 10 x nodes / 1 x nodes", found["proof, nodes of 10 x the nodes"] / alike, 1.5)
    print_beside_goal("prove dev beyond bare python", found["prove dev"] - bare, 0.4, "s")
    print_beside_goal("--help", found["--help"], 0.25, "s")
    print_beside_goal("check of one file", found["check of one file"], 0.25, "s")
    print_beside_goal(
        "import of the proof beyond bare python", found["import dra_fleet.proof.prove"] - bare, 0.15, "s"
    )


if __name__ == "__main__":
    main()
