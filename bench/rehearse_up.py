"""Measure a rehearsal of the dev stack, and its use of the machine.

Measures, in turns: a bare program that declares nothing; the dev stack, and the dev stack without its last
cluster, each from nothing until every workload holds its devices, again without a change, and its `status`.
Prints medians of seconds and processor seconds, ratios beside their goals, and the most memory that all
processes of a rehearsal had at once. Tools must be built already (`make up` once).

The dev stack of an earlier commit, which had four clusters, is measured in turns with these: it is checked
out and set up in a temporary folder, and lent the tools of this commit. `--beside ""` leaves it out.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import psutil
import yaml
from twins.arguments import parser
from twins.earlier import NoEarlierError, earlier
from twins.goals import print_beside_goal, print_measured

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping

PROJECT = Path(__file__).resolve().parents[1]
COMMAND = Path(".venv", "bin", "dra-fleet")
FLEET = "dra-fleet:fleet"
SAMPLE_SECONDS = 2.0
ROUNDS = 2
BESIDE = "0f4c2fe"
"""The commit before the first that made rehearsals faster."""
WAIT = "900"
"""Seconds for workloads; other work on the machine is not a failure."""

BARE = "import pulumi\nimport pulumi_kubernetes.resource.v1\nimport pulumi_kubernetes.helm.v3\n"
"""Declares nothing; imports the SDK modules that the dev stack needs."""


@dataclass(kw_only=True)
class Spent:
    """Seconds of wall time and CPU time, and megabytes at most."""

    wall: list[float] = field(default_factory=list[float])
    busy: list[float] = field(default_factory=list[float])
    memory: list[float] = field(default_factory=list[float])


Cases = dict[str, Spent]


def of_home(home: Path) -> list[psutil.Process]:
    """Return the processes that work in a home."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "cwd"])
        if str(home) in " ".join([*(process.info["cmdline"] or []), process.info["cwd"] or ""])
    ]


def busy_seconds(home: Path) -> float:
    """Processor seconds of all commands that have ended and of what runs in a home."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = ended.ru_utime + ended.ru_stime
    for process in of_home(home):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        used += times.user + times.system
    return used


@contextmanager
def most_memory(home: Path, found: list[float]) -> Generator[None]:
    """Note the most megabytes that the processes of a home use at once, now and then."""
    over, most = threading.Event(), [0.0]

    def look() -> None:
        while not over.wait(SAMPLE_SECONDS):
            now = 0.0
            for process in of_home(home):
                try:
                    memory = process.memory_info()
                except psutil.NoSuchProcess:
                    continue
                now += (memory.rss - getattr(memory, "shared", 0)) / 1e6
            most[0] = max(most[0], now)

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield
    finally:
        over.set()
        looking.join()
        found.append(most[0])


def run(
    arguments: list[str], environment: dict[str, str], directory: Path, spent: Spent | None = None
) -> None:
    """Run a command that must succeed, and note what it took of a home's processes too."""
    home = Path(environment["DRA_FLEET_HOME"])
    started, before = time.monotonic(), busy_seconds(home)
    done = subprocess.run(
        arguments, env=environment, cwd=directory, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    if spent is not None:
        spent.wall.append(time.monotonic() - started)
        spent.busy.append(busy_seconds(home) - before)


def measure_bare(directory: Path, environment: dict[str, str], cases: Cases) -> None:
    """Measure a bare project in the rehearsal's engine."""
    directory.mkdir()
    (directory / "Pulumi.yaml").write_text("name: bare\nruntime: python\n")
    (directory / "__main__.py").write_text(BARE)
    shown = subprocess.run(
        [PROJECT / COMMAND, "rehearse", "env", "--json"], env=environment, check=True, capture_output=True
    ).stdout
    variables = {**environment, **json.loads(shown)}
    pulumi = ["pulumi", "--cwd", str(directory)]  # which wins over the rehearsed project's
    run([*pulumi, "stack", "init", "bare"], variables, directory)
    up = [*pulumi, "up", "--yes", "--skip-preview", "--stack", "bare"]
    run(up, variables, directory, cases.setdefault("bare program", Spent()))


def measure(
    project: Path,
    stack: Path,
    name: str,
    cases: Cases,
    *,
    bare: bool = False,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Measure a stack in a separate home, which is deleted afterwards."""
    command, hardware = str(project / COMMAND), str(project / "hardware" / "dev.yaml")
    first, again, status = (
        cases.setdefault(f"{name}{case}", Spent()) for case in (" from nothing", " again", ", status")
    )
    with tempfile.TemporaryDirectory(prefix="dra-fleet-bench-") as place:
        environment = {**os.environ, **variables, "DRA_FLEET_HOME": f"{place}/home"}
        up = [command, "rehearse", "up", str(stack), "--hardware", hardware, "--json", "--wait", WAIT]
        try:
            with most_memory(Path(place), first.memory):
                run(up, environment, project, first)
                run(up, environment, project, again)
                run([command, "rehearse", "status", str(stack)], environment, project, status)
            if bare:
                measure_bare(Path(place, "bare"), environment, cases)
        finally:
            run([command, "rehearse", "down", "--remove"], environment, project)


def without_last(stack: Path, folder: Path) -> Path:
    """Write a stack file without its last cluster and without the settings for it."""
    content: dict[str, Any] = yaml.safe_load(stack.read_text())
    fleet = content["config"][FLEET]
    last = list(fleet["clusters"])[-1]
    del fleet["clusters"][last]
    for part in ("workloads", "computeDomains", "queues"):
        kept = {name: item for name, item in fleet.get(part, {}).items() if item.get("cluster") != last}
        fleet.pop(part, None)
        fleet |= {part: kept} if kept else {}
    fewer = folder / "fewer.yaml"
    fewer.write_text(yaml.safe_dump(content, sort_keys=False))
    return fewer


def median(cases: Cases, name: str, what: str) -> float:
    """Return the median of `wall`, `busy` or `memory` of one case."""
    return statistics.median(getattr(cases[name], what))


def print_ratio(cases: Cases, name: str, other: str, goal: float) -> None:
    """Print how much longer one case takes than another, in wall time and CPU time."""
    for what, title in (("wall", "seconds"), ("busy", "processor seconds")):
        ratio = median(cases, name, what) / median(cases, other, what)
        print_beside_goal(f"{name} / {other}, {title}", ratio, goal)


def checkout_of(commit: str, open_until: ExitStack) -> tuple[Path, Mapping[str, str]] | None:
    """Check out an earlier commit to measure; return None if none is requested or it cannot be run."""
    if not commit:
        return None
    try:
        return open_until.enter_context(earlier(commit))
    except NoEarlierError as problem:
        print_measured(f"beside {commit}", f"not measured, because {str(problem).replace(': ', ' ')}")
        return None


def main() -> None:
    """Print the medians and the ratios."""
    asking = parser(__doc__, ROUNDS)
    asking.add_argument("--beside", default=BESIDE, help=f"an earlier commit; {BESIDE} without it")
    asked = asking.parse_args()
    cases: Cases = {}
    with tempfile.TemporaryDirectory(prefix="dra-fleet-bench-") as folder, ExitStack() as open_until:
        stack = PROJECT / "Pulumi.dev.yaml"
        fewer = without_last(stack, Path(folder))
        before = checkout_of(asked.beside, open_until)
        for number in range(asked.rounds):
            measure(PROJECT, stack, "dev", cases, bare=True)
            measure(PROJECT, fewer, "four clusters", cases)
            if before:
                other, variables = before
                measure(other, other / "Pulumi.dev.yaml", asked.beside, cases, variables=variables)
            print(f"round {number + 1} of {asked.rounds}", file=sys.stderr)
    for name, spent in cases.items():
        memory = f", at most {max(spent.memory):.0f} MB" if spent.memory else ""
        wall, busy = median(cases, name, "wall"), median(cases, name, "busy")
        print_measured(name, f"{wall:.1f} s, CPU {busy:.1f} s{memory}")
    print_beside_goal("dev, status", median(cases, "dev, status", "wall"), 1, "s")
    print_beside_goal("dev, memory", max(cases["dev from nothing"].memory) / 1e3, 4.5, "GB")
    print_ratio(cases, "dev from nothing", "four clusters from nothing", 1.3)
    if before:
        print_ratio(cases, "four clusters from nothing", f"{asked.beside} from nothing", 0.6)
        print_ratio(cases, "four clusters again", f"{asked.beside} again", 0.5)


if __name__ == "__main__":
    main()
