"""The worst files of strangers: how long the commands that read them take, and how much memory.

python bench/worst_inputs.py
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from twins.goals import print_beside_goal

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECONDS: Final = 5
_MEGABYTES: Final = 500
_PROGRAM: Final = str(Path(sys.executable).with_name("dra-fleet"))
_HEAD: Final = "config:\n  dra-fleet:fleet:\n    kubernetes: '1.35'\n"
_CLAIM: Final = """apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {{name: c{number}, namespace: a}}
spec:
  devices:
    requests:
    - name: g
      exactly:
        deviceClassName: gpu.nvidia.com
        selectors: [{{cel: {{expression: "device.attributes['gpu.nvidia.com'].index == {number}"}}}}]
---
"""


def _bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "\n".join(lines) + "\n"


def _pools(size: int) -> str:
    text = f"{_HEAD}    clusters:\n      c:\n        cloud: gke\n        pools:\n"
    number = 0
    while len(text) < size:
        text += f"          p{number}: {{machine: a2-highgpu-1g, nodes: 1}}\n"
        number += 1
    return text


def _alike_pools(pools: int, claims: int, *, selectors: bool = False) -> str:
    """Pools of one machine that serve all workloads; with selectors each of these has a separate class."""
    names = [f"k{number}" if selectors else "gpu.nvidia.com" for number in range(claims)]
    parts = {
        "pools": [
            f"          p{number}: {{machine: hgx-h100-8, nodes: {{min: 1, max: {1 + number}}}, "
            f"nodeSelector: {{p: a{number}}}}}"
            for number in range(pools)
        ],
        "claims": [
            f"      c{number}: {{requests: {{g: {{class: {name}}}}}}}" for number, name in enumerate(names)
        ],
        "workloads": [
            f"      w{number}: {{cluster: c, claim: c{number}, copies: 1}}" for number in range(claims)
        ],
        "classes": [
            f"      {name}: {{driver: nvidia, type: gpu, memory: {{min: {number + 1}Mi}}}}"
            for number, name in enumerate(names if selectors else [])
        ],
    }
    cluster = ["cloud: existing", "kubeconfig: {context: c}", "drivers: {nvidia: {version: 0.5.0}}"]
    head = [*_HEAD.splitlines(), "    owner: a", "    environment: development", "    clusters:", "      c:"]
    text = [*head, *(f"        {line}" for line in cluster), "        pools:", *parts.pop("pools")]
    for name, lines in parts.items():
        text += [f"    {name}:", *lines] if lines else []
    return "\n".join(text) + "\n"


def _differing_pools(size: int) -> str:
    """Pools whose machines all differ, and claims of many requests, each with separate selectors."""
    stack: dict[str, dict[str, object]] = {"pools": {}, "classes": {}, "claims": {}, "workloads": {}}
    for number in range(size // 1_000):
        for one in (2 * number, 2 * number + 1):
            stack["pools"][f"p{one}"] = {
                "machine": {"gpu": "A100-SXM4-40GB", "gpus": 1 + one % 128, "cpus": 64, "memory": 512},
                "nodes": {"min": 1, "max": 3},
                "nodeSelector": {"p": f"p{one}"},
            }
        cel = f"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{number}Mi')) >= 0"
        stack["classes"][f"k{number}"] = {"cel": [cel]}
        request = {"class": f"k{number}", "count": 7}
        stack["claims"][f"c{number}"] = {
            "requests": {"a": request, "b": request},
            "constraints": [{"matchAttribute": "resource.kubernetes.io/pcieRoot"}],
        }
        for one in range(5 * number, 5 * number + 5):
            stack["workloads"][f"w{one}"] = {"cluster": "c", "claim": f"c{number}", "copies": 50}
    pools = stack.pop("pools")
    cluster = {
        "cloud": "existing",
        "kubeconfig": {"context": "c"},
        "drivers": {"nvidia": {"version": "0.5.0"}},
        "pools": pools,
    }
    fleet = {"owner": "a", "environment": "development", "kubernetes": "1.35", "clusters": {"c": cluster}}
    return json.dumps({"config": {"dra-fleet:fleet": {**fleet, **stack}}})


def _one_claim(requests: int = 1, count: int = 1, cel: str = "device.driver == 'gpu.nvidia.com'") -> str:
    """Return a pool of 128 devices, and a claim of so many requests for so many matching devices."""
    machine = {"gpu": "A100-SXM4-40GB", "gpus": 128, "cpus": 256, "memory": 2048}
    cluster = {
        "cloud": "existing",
        "kubeconfig": {"context": "c"},
        "drivers": {"nvidia": {"version": "0.5.0"}},
        "pools": {"p": {"machine": machine, "nodes": {"min": 1, "max": 1}, "nodeSelector": {"p": "p"}}},
    }
    asked = {f"r{number}": {"class": "k", "count": count} for number in range(requests)}
    fleet = {
        "owner": "a",
        "environment": "development",
        "kubernetes": "1.35",
        "clusters": {"c": cluster},
        "classes": {"k": {"cel": [cel]}},
        "claims": {"c": {"requests": asked}},
    }
    return json.dumps({"config": {"dra-fleet:fleet": fleet}})


def _dear_selector() -> str:
    """Five loops in one another, which cost 855,551 of the million that a server lets pass."""
    cel = "device.driver == 'gpu.nvidia.com'"
    for depth in range(5):
        cel = f"{list(range(10))}.all(v{depth},{cel})"
    return cel


def _events_of(claims: int) -> str:
    """Return the events of a preview that creates so many templates and as many jobs of them."""
    urn = "urn:pulumi:input::dra-fleet::{0}::{1}"
    template, job = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate", "kubernetes:batch/v1:Job"
    devices = {"requests": [{"name": "g", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}
    lines: list[str] = []
    for number in range(claims):
        for kind, spec in ((template, {"spec": {"devices": devices}}), (job, {"parallelism": 1})):
            new = {"inputs": {"metadata": {"name": f"a{number}"}, "spec": spec}}
            metadata = {"op": "create", "urn": urn.format(kind, number), "logical": True, "new": new}
            lines.append(json.dumps({"resourcePreEvent": {"metadata": metadata}}) + "\n")
    return "".join(lines) + json.dumps({"summaryEvent": {"result": "succeeded"}}) + "\n"


def _events(lines: int) -> str:
    urn = "urn:pulumi:dev::other::{0}::{1}"
    root = "pulumi:pulumi:Stack"
    kind = "kubernetes:core/v1:ConfigMap"
    inputs = {"metadata": {"name": "a", "namespace": "b"}, "data": {"text": "x" * 200}}
    resources: list[tuple[str, object]] = [(urn.format(root, "other-dev"), {})]
    resources += [(urn.format(kind, number), {"inputs": inputs}) for number in range(lines)]
    text = "".join(
        json.dumps(
            {"resourcePreEvent": {"metadata": {"op": "create", "urn": each, "logical": True, "new": new}}}
        )
        + "\n"
        for each, new in resources
    )
    return text + json.dumps({"summaryEvent": {"result": "succeeded"}}) + "\n"


def _inputs() -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """Yield the name of each input, its text (`FILE`), and its command, perhaps with saved `EVENTS`."""
    prove, check, gate = ("prove", "FILE"), ("check", "FILE", "--stack", "dev"), ("gate", "--events", "FILE")
    for size, name in ((100_000, "100 kB"), (1_000_000, "1 MB")):
        nested = "[" * (size // 2) + "]" * (size // 2)
        yield f"stack file, {name} of pools", _pools(size), prove
        yield f"stack file, {name} of one text", f"{_HEAD}    a: {'x' * size}\n", prove
        yield f"stack file, {name} of brackets", f"{_HEAD}    a: {nested}\n", prove
        yield f"manifest, {name} of brackets", nested, check
        claims = "".join(_CLAIM.format(number=number) for number in range(size // 300))
        yield f"manifest, {name} of claims with a selector each", claims, check
        yield f"events, {name} in one line", '{"summaryEvent": {"a": "' + "x" * size + '"}}', gate
        yield f"events, {name} of brackets", '{"summaryEvent": ' + nested + "}", gate
    yield "stack file, 300 alike pools, 500 claims and workloads", _alike_pools(300, 500), prove
    yield "stack file, 300 alike pools, 400 selectors", _alike_pools(300, 400, selectors=True), prove
    yield "stack file, 90 kB of machines and claims that differ", _differing_pools(90_000), prove
    yield "stack file, a pool and 5,000 claims and workloads", _alike_pools(1, 5_000), prove
    review = ("review", "FILE", "--events", "EVENTS", "--out", "OUT")
    yield "review of a pool and 5,000 claims and workloads", _alike_pools(1, 5_000), review
    yield "stack file, a claim of 32 x 32 devices", _one_claim(32, 32), prove
    yield (
        "stack file, a selector at the limit of cost on 128 devices",
        _one_claim(cel=_dear_selector()),
        prove,
    )
    yield "stack file, aliases of 10^12 texts", _HEAD + "    x:\n" + _indented(_bomb()), prove
    yield "manifest, aliases of 10^12 texts", _bomb(), check
    yield "events, 10,000 resources without the pack", _events(10_000), gate
    yield "events, 100,000 unread lines", '{"sequence": 1, "preludeEvent": {}}\n' * 100_000, gate


def _indented(text: str) -> str:
    return "".join(f"      {line}\n" for line in text.splitlines())


def _run(command: list[str]) -> tuple[float, int]:
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=output)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if "Traceback" in (errors := output.read()):
            raise SystemExit(f"{' '.join(command)} failed:\n{errors[-2000:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss // 1024


def main() -> None:
    """Print processor time and memory of each beside their bounds."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text, command in _inputs():
            file = Path(folder) / "input.yaml"
            file.write_text(text, encoding="utf-8")
            if "EVENTS" in command:
                (Path(folder) / "events.jsonl").write_text(_events_of(5_000), encoding="utf-8")
            places = {"FILE": str(file), "EVENTS": f"{folder}/events.jsonl", "OUT": f"{folder}/review"}
            given = [_PROGRAM, *(places.get(part, part) for part in command)]
            used, memory = _run(given)
            print_beside_goal(name, used, _SECONDS, "s CPU")
            print_beside_goal(name, memory, _MEGABYTES, "MB")


if __name__ == "__main__":
    main()
