"""Measure how the commands grow with the pools of a stack.

Measures stacks of 10, 50 and 250 pools in a cluster that exists, each with ten claims and workloads: `prove`,
the preview, the same with the policy pack (what `gate` waits for), all of `review` but its preview, and
`rehearse status` with a node for each pool. Prints medians, and of each how much
more a pool takes among 250 than among 10; draws all five into docs/images/growth.svg. Names of steps may
follow: all without them.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # neither the program nor `tests` is installed

from ruamel.yaml import YAML
from twins.arguments import parser
from twins.chart import write_chart
from twins.engine import COMMAND, PROJECT, Twin, rehearsed_cluster
from twins.goals import print_beside_goal, print_measured

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIZES = (10, 50, 250)
ROUNDS = 3
GOAL = 1.2
PACK = str(PROJECT / "policies" / "run-pack")
CHART = PROJECT / "docs" / "images" / "growth.svg"
SALT = "v1:IiWJwkzHM+0=:v1:kz/6fqX9QNkwAKQl:8HkU5a3ywBUO/ZjlcIeSADPy0g8NOA=="
CLAIMS = 10
MACHINES = ("hgx-h100-8", "hgx-a100-40-4", "pcie-l40s-4")


@dataclass(frozen=True, kw_only=True)
class Asks:
    """Sizes to measure: pools of each stack, and the repetitions of each step."""

    pools: Sequence[int]
    rounds: int


def main() -> None:
    """Print and draw all measurements."""
    asking = parser(__doc__, ROUNDS)
    asking.add_argument("step", nargs="*", help=f"of {', '.join(STEPS)}; all without one")
    asking.add_argument("--pools", type=int, nargs="+", default=SIZES)
    asked = asking.parse_args()
    chosen, asks = asked.step or list(STEPS), Asks(pools=tuple(asked.pools), rounds=asked.rounds)
    found: dict[str, dict[int, float]] = {}
    with TemporaryDirectory(prefix="dra-fleet-bench-") as place:
        for measure in dict.fromkeys(STEPS[step] for step in chosen):
            for step, seconds in measure(Path(place), asks).items():
                found[step] = seconds
                output = (f"{value:.2f} s of {size}" for size, value in seconds.items())
                print_measured(f"{step}, pools", ", ".join(output))
                least, most = min(seconds), max(seconds)
                ratio = (seconds[most] / most) / (seconds[least] / least)
                print_beside_goal(f"{step}: a pool among {most} / among {least}", ratio, GOAL)
    if chosen == list(STEPS) and asks.pools == SIZES:
        write_chart(CHART, found, unit="seconds", of="pools")


def _alone(folder: Path, asks: Asks) -> dict[str, dict[int, float]]:
    files = {size: _write(folder / f"grown{size}.yaml", _existing(size)) for size in asks.pools}
    return {
        "prove": {
            size: _seconds([COMMAND, "prove", str(file)], rounds=asks.rounds) for size, file in files.items()
        },
        "review": {
            size: _seconds(
                [sys.executable, "-m", "bench.twins.review_once", str(folder), str(file)], rounds=asks.rounds
            )
            for size, file in files.items()
        },
    }


def _on_engine(_folder: Path, asks: Asks) -> dict[str, dict[int, float]]:
    """Previews on a rehearsed cluster, which needs no nodes for that."""
    found: dict[str, dict[int, float]] = {"preview": {}, "gate": {}}
    with rehearsed_cluster() as simulator:
        for size in asks.pools:
            file = _write(simulator.folder / f"grown{size}.yaml", _existing(size))
            twin: Twin = simulator.stack(simulator.folder, f"grown{size}", ["--config-file", str(file)])
            for step, options in (("preview", ()), ("gate", ("--policy-pack", PACK))):
                costs = [twin.run("preview", *options) for _ in range(asks.rounds)]
                found[step][size] = statistics.median(cost.wall for cost in costs)
    return found


def _rehearsed(folder: Path, asks: Asks) -> dict[str, dict[int, float]]:
    found: dict[int, float] = {}
    for size in asks.pools:
        file = _write(folder / f"rehearsed{size}.yaml", _existing(size))
        machines = folder / f"machines{size}.yaml"
        machines.write_text(json.dumps(_hardware(size)), encoding="utf-8")
        own = {**os.environ, "DRA_FLEET_HOME": str(folder / f"home{size}")}
        try:
            _seconds([COMMAND, "rehearse", "up", str(file), "--hardware", str(machines)], own, rounds=1)
            found[size] = _seconds(
                [COMMAND, "rehearse", "status", str(file), "--json"], own, rounds=asks.rounds
            )
        finally:
            subprocess.run(
                [COMMAND, "rehearse", "down", "--remove"],
                env=own,
                cwd=PROJECT,
                check=False,
                stdout=sys.stderr,
            )
    return {"status": found}


STEPS: dict[str, Callable[[Path, Asks], dict[str, dict[int, float]]]] = {
    "prove": _alone,
    "review": _alone,
    "preview": _on_engine,
    "gate": _on_engine,
    "status": _rehearsed,
}


def _hardware(pools: int) -> dict[str, Any]:
    nodes = [
        {
            "name": f"p{number}",
            "machine": MACHINES[number % len(MACHINES)],
            "labels": {"example.com/pool": f"p{number}", "nvidia.com/gpu.present": "true"},
            "nvidia": {"driverVersion": "580.126.9"},
        }
        for number in range(pools)
    ]
    return {"clusters": {"lab": {"kubernetes": "v1.36.3", "nodes": nodes}}}


def _existing(pools: int) -> dict[str, Any]:
    return {
        "cloud": "existing",
        "kubeconfig": {"context": "lab"},
        "pools": {
            f"p{number}": {
                "machine": MACHINES[number % len(MACHINES)],
                "nodes": {"min": 1, "max": 1},
                "nodeSelector": {"example.com/pool": f"p{number}"},
            }
            for number in range(pools)
        },
    }


def _write(file: Path, cluster: dict[str, Any]) -> Path:
    names = [f"c{number}" for number in range(CLAIMS)]
    fleet = {
        "owner": "ml-platform",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {"lab": {**cluster, "drivers": {"nvidia": {"version": "0.5.0"}}}},
        "classes": {
            name: {"driver": "nvidia", "type": "gpu", "memory": {"min": f"{number + 1}Gi"}}
            for number, name in enumerate(names)
        },
        "claims": {name: {"requests": {"gpu": {"class": name}}} for name in names},
        "workloads": {name: {"cluster": "lab", "claim": name, "copies": 1} for name in names},
    }
    config = {"pulumi:disable-default-providers": ["*"], "dra-fleet:fleet": fleet}
    content = {"encryptionsalt": SALT, "config": config}
    YAML(typ="safe", pure=True).dump(content, file)  # pyright: ignore[reportUnknownMemberType]
    return file


def _seconds(command: list[str], variables: dict[str, str] | None = None, *, rounds: int) -> float:
    """Median seconds of a command that must succeed."""
    taken: list[float] = []
    for _ in range(rounds):
        started = time.perf_counter()
        done = subprocess.run(
            command, cwd=PROJECT, env=variables, capture_output=True, text=True, check=False
        )
        taken.append(time.perf_counter() - started)
        if done.returncode:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return statistics.median(taken)


if __name__ == "__main__":
    main()
