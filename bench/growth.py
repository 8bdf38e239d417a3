"""How do the commands grow with the pools of a stack?

Measures stacks of 10, 50 and 250 pools in a cluster that exists, each with ten claims and workloads: `prove`,
the preview, the same with the policy pack (what `gate` waits for), all of `review` but its preview, and
`rehearse status` with a node for each pool. Prints medians, and of each how much
more a pool takes among 250 than among 10; draws them into docs/images/growth.svg. Names of steps may follow:
all without them.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # neither the program nor `tests` is installed

from ruamel.yaml import YAML
from twins.chart import write_chart
from twins.engine import COMMAND, PROJECT, Twin, room
from twins.goals import print_beside_goal

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = (10, 50, 250)
ROUNDS = 3
GOAL = 1.2
PACK = str(PROJECT / "policies" / "run-pack")
CHART = PROJECT / "docs" / "images" / "growth.svg"
SALT = "v1:IiWJwkzHM+0=:v1:kz/6fqX9QNkwAKQl:8HkU5a3ywBUO/ZjlcIeSADPy0g8NOA=="
CLAIMS = 10
REVIEW = """
import sys, datetime as dt
from pathlib import Path
from dra_fleet.review.assemble import Known, fleet_of, make_review
from dra_fleet.review.events import Preview
from dra_fleet.review.was import Was
from dra_fleet.review.writing import StackText, write_review
from ruamel.yaml import YAML
settings = YAML(typ="safe", pure=True).load(Path(sys.argv[1]))["config"]["dra-fleet:fleet"]
seen = Preview(stack="grown", started=dt.datetime(2026, 11, 21, tzinfo=dt.UTC), result="succeeded")
known = Known(stack="grown", preview=seen, fleet=fleet_of(settings), was=Was(), running=None)
write_review(make_review(known), Path(sys.argv[2]), StackText(path="Pulumi.grown.yaml", text=""))
"""


def main() -> None:
    """Print and draw all measurements."""
    chosen = sys.argv[1:] or list(STEPS)
    found: dict[str, dict[int, float]] = {}
    with TemporaryDirectory(prefix="dra-fleet-bench-") as place:
        for measure in dict.fromkeys(STEPS[step] for step in chosen):
            for step, seconds in measure(Path(place)).items():
                found[step] = seconds
                told = (f"{size} pools {value:.2f} s" for size, value in seconds.items())
                print(f"{step}: {', '.join(told)}")
                least, most = min(seconds), max(seconds)
                ratio = (seconds[most] / most) / (seconds[least] / least)
                print_beside_goal(f"{step}: a pool among {most} / among {least}", ratio, GOAL)
    if chosen == list(STEPS):
        write_chart(CHART, found, unit="seconds", of="pools")


def _alone(folder: Path) -> dict[str, dict[int, float]]:
    """What needs no engine."""
    files = {size: _write(folder / f"grown{size}.yaml", _existing(size)) for size in SIZES}
    return {
        "prove": {size: _seconds([COMMAND, "prove", str(file)]) for size, file in files.items()},
        "review": {
            size: _seconds([sys.executable, "-c", REVIEW, str(file), str(folder)])
            for size, file in files.items()
        },
    }


def _on_engine(_folder: Path) -> dict[str, dict[int, float]]:
    """Previews on a rehearsed cluster, which needs no nodes for that."""
    found: dict[str, dict[int, float]] = {"preview": {}, "gate": {}}
    with room() as world:
        for size in SIZES:
            file = _write(world.folder / f"grown{size}.yaml", _existing(size))
            twin: Twin = world.stack(world.folder, f"grown{size}", ["--config-file", str(file)])
            for step, options in (("preview", ()), ("gate", ("--policy-pack", PACK))):
                costs = [twin.run("preview", *options) for _ in range(ROUNDS)]
                found[step][size] = statistics.median(cost.wall for cost in costs)
    return found


def _rehearsed(folder: Path) -> dict[str, dict[int, float]]:
    """`rehearse status` of one cluster, a node for each pool."""
    found: dict[int, float] = {}
    for size in SIZES:
        file = _write(folder / f"rehearsed{size}.yaml", _existing(size))
        own = {**os.environ, "DRA_FLEET_HOME": str(folder / f"home{size}")}
        try:
            _seconds([COMMAND, "rehearse", "up", str(file)], own, rounds=1)
            found[size] = _seconds([COMMAND, "rehearse", "status", "--json"], own)
        finally:
            subprocess.run([COMMAND, "rehearse", "down", "--remove"], env=own, cwd=PROJECT, check=False)
    return {"status": found}


STEPS: dict[str, Callable[[Path], dict[str, dict[int, float]]]] = {
    "prove": _alone,
    "review": _alone,
    "preview": _on_engine,
    "gate": _on_engine,
    "status": _rehearsed,
}


def _existing(pools: int) -> dict[str, Any]:
    """A cluster that is there, of machines of three kinds."""
    machines = ("hgx-h100-8", "hgx-a100-40-4", "pcie-l40s-4")
    return {
        "cloud": "existing",
        "kubeconfig": {"context": "lab"},
        "pools": {
            f"p{number}": {
                "machine": machines[number % len(machines)],
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


def _seconds(command: list[str], variables: dict[str, str] | None = None, rounds: int = ROUNDS) -> float:
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
