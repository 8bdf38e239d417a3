"""Measure a rehearsal of hundreds of nodes, and its use of the machine.

Starts one cluster from nothing, its nodes in one pool and its claims each for a partition of a GPU, until
every pod holds its device; then reads it: `rehearse status`, `review`, of which the engine's preview is
reported too, and the review's page in the system's Chromium, where there is one. Prints seconds, devices per
second beside the figures that Kubernetes publishes of its scheduler alone, processor time and memory by
process, and requests per pod. Numbers of nodes and claims may follow: 500 and 5,000 without them. Tools must
be built already (`make up` once).
"""

from __future__ import annotations

import json
import os
import re
import resource
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import psutil
from review import measure_opening
from twins.goals import print_beside_goal, print_measured

from dra_fleet.clusters.credentials import read_kubeconfig

PROJECT = Path(__file__).resolve().parents[1]
COMMAND = str(Path(sys.executable).parent / "dra-fleet")
PUBLISHED = "241 to 288"
"""Pods with claims that the scheduler alone places in a second, of 5,000 on 500 nodes with 10 devices each:
https://github.com/kubernetes/kubernetes/pull/140877, July 2026"""
MOST_SECONDS = 3
"""Access of users who read such a fleet."""
COPIES = 500
"""Copies of one workload."""
SALT = "v1:IiWJwkzHM+0=:v1:kz/6fqX9QNkwAKQl:8HkU5a3ywBUO/ZjlcIeSADPy0g8NOA=="
METRIC = re.compile(r"apiserver_request_total{(.*)} (\d+)")
LABEL = re.compile(r'(\w+)="([^"]*)"')
HOLDING = ("pulumi up: resources", "pulumi up: after the last resource", "devices")
"""The parts of a run in which pods come and get their devices."""
NOT_ALLOCATED = 3
"""Exit code of `rehearse up` if some pods wait."""
APPROVAL_REQUIRED = 10
"""Exit code of a review that requires approval."""
MOST = 24
"""Kinds of requests to print."""


def stack(nodes: int, claims: int) -> dict[str, Any]:
    """Return a stack of one pool and single partitions."""
    rest = [min(COPIES, claims - begin) for begin in range(0, claims, COPIES)]
    fleet = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {
            "lab": {
                "cloud": "existing",
                "kubeconfig": {"context": "lab"},
                "drivers": {"nvidia": {"version": "0.5.0"}},
                "pools": {
                    "parts": {
                        "machine": "hgx-a100-40-4",
                        "nodes": {"min": nodes, "max": nodes},
                        "nodeSelector": {"example.com/pool": "parts"},
                        "sharing": {"strategy": "mig", "layout": {"2g.10gb": 3}},
                    }
                },
            }
        },
        "classes": {"part": {"driver": "nvidia", "type": "mig", "memory": {"min": "9Gi"}}},
        "claims": {"part": {"requests": {"part": {"class": "part"}}}},
        "workloads": {
            f"infer-{number}": {"cluster": "lab", "claim": "part", "copies": copies}
            for number, copies in enumerate(rest)
        },
    }
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    return {"encryptionsalt": SALT, "config": config}


def hardware(nodes: int) -> dict[str, Any]:
    """Return the machines of that pool."""
    node = {
        "name": "parts",
        "count": nodes,
        "machine": "hgx-a100-40-4",
        "labels": {"example.com/pool": "parts", "nvidia.com/gpu.present": "true"},
        "nvidia": {"driverVersion": "580.126.9", "mig": {"2g.10gb": 3}},
    }
    return {"clusters": {"lab": {"kubernetes": "v1.36.3", "nodes": [node]}}}


@dataclass(frozen=True, kw_only=True)
class Done:
    """A command that has ended: seconds of wall time and CPU time, and what it printed."""

    wall: float
    busy: float
    printed: str


def run(arguments: list[str], environment: dict[str, str], fine: tuple[int, ...] = (0,)) -> Done:
    """Run a command that ends in one of these ways."""
    started, before = time.monotonic(), busy_seconds()
    done = subprocess.run(
        [COMMAND, *arguments], env=environment, cwd=PROJECT, check=False, capture_output=True, text=True
    )
    if done.returncode not in fine:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return Done(wall=time.monotonic() - started, busy=busy_seconds() - before, printed=done.stdout)


def busy_seconds() -> float:
    """Processor seconds of all commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def processes(home: Path) -> dict[str, tuple[float, float]]:
    """Processor seconds and megabytes of each process that works in a home."""
    found: dict[str, tuple[float, float]] = {}
    for process in psutil.process_iter(["cmdline", "cpu_times", "memory_info", "cwd"]):
        words: list[str] = process.info["cmdline"] or [""]
        if str(home) not in " ".join([*words, process.info["cwd"] or ""]):
            continue
        name = "simulator" if "dra_fleet.rehearsal.simulator" in words else Path(words[0]).name
        used = process.info["cpu_times"]
        name = words[1] if name == "controlplane" else name
        found[name] = (used.user + used.system, process.info["memory_info"].rss / 1e6)
    return found


def requests(home: Path) -> Counter[str]:
    """Count the requests that the cluster's API server answered, by verb, resource and answer."""
    pki = home / "clusters" / "lab" / "pki"
    trust = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    trust.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    server = read_kubeconfig(str(home / "clusters" / "lab" / "admin.kubeconfig")).cluster.server
    text = httpx2.get(f"{server}/metrics", verify=trust, trust_env=False).text
    found = Counter[str]()
    for labels, value in METRIC.findall(text):
        parts = dict(LABEL.findall(labels))
        found[" ".join(parts[key] for key in ("verb", "resource", "subresource", "code"))] += int(value)
    return found


def main() -> None:
    """Print all measurements."""
    nodes, claims = (int(word) for word in sys.argv[1:] or ("500", "5000"))
    with tempfile.TemporaryDirectory(prefix="dra-fleet-bench-") as folder:
        root = Path(folder)
        (root / "large.yaml").write_text(json.dumps(stack(nodes, claims)))
        (root / "machines.yaml").write_text(json.dumps(hardware(nodes)))
        environment = {**os.environ, "DRA_FLEET_HOME": str(root / "home")}
        try:
            print_measured("nodes, claims", f"{nodes}, {claims}")
            measure_up(root, environment, claims)
            measure_reading(root, environment)
        finally:
            run(["rehearse", "down", "--remove"], environment)


def measure_up(root: Path, environment: dict[str, str], claims: int) -> None:
    """Start the fleet."""
    file, machines = str(root / "large.yaml"), str(root / "machines.yaml")
    up = ["rehearse", "up", file, "--hardware", machines, "--json", "--timings", "--wait", "1200"]
    done = run(up, environment, fine=(0, NOT_ALLOCATED))
    output = json.loads(done.printed)
    for part in output["timings"]:
        print(f"  {part['part']:40} {part['seconds']:7.1f} s")
    missing = "" if output["all_allocated"] else ", without all"
    print_measured("from nothing until all devices are allocated", f"{done.wall:.0f} s{missing}")
    waited = sum(part["seconds"] for part in output["timings"] if part["part"] in HOLDING)
    print_measured(
        f"devices per second ({PUBLISHED} are published of the scheduler alone)", f"{claims / waited:.1f}"
    )
    for name, (used, memory) in sorted(processes(root / "home").items(), key=lambda item: -item[1][0]):
        print_measured(f"{name}, its process", f"{used:.1f} s CPU time, {memory:.0f} MB")
    answered = requests(root / "home")
    print_measured("requests to the API server per claim", f"{answered.total() / claims:.1f}")
    for what, number in answered.most_common(MOST):
        print(f"  {what:50} {number / claims:6.2f}")


def measure_reading(root: Path, environment: dict[str, str]) -> None:
    """Read the fleet that is up."""
    shown = json.loads(run(["rehearse", "env", "--json"], environment).printed)
    file, out = str(root / "large.yaml"), root / "review"
    for title, arguments in {
        "rehearse status": ["rehearse", "status", file],
        "review": ["review", file, "--running", "clusters", "--out", str(out)],
    }.items():
        done = run(arguments, environment | shown, fine=(0, APPROVAL_REQUIRED))
        print_beside_goal(f"dra-fleet {title}", done.wall, MOST_SECONDS, "s")
        print_measured(f"dra-fleet {title}, CPU time without the cluster's", f"{done.busy:.2f} s")
    preview = json.loads((out / "review.json").read_text())["engine"]["seconds"]
    print_measured("dra-fleet review, the engine's preview in it", f"{preview:.2f} s")
    print_measured("its page", f"{(out / 'index.html').stat().st_size / 1e6:.2f} MB")
    measure_opening(out / "index.html", MOST_SECONDS)


if __name__ == "__main__":
    main()
