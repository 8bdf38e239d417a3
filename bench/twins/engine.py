"""Both twins on the real engine: seconds of wall time and CPU time, and memory of the largest process."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from .arguments import parser
from .fleets import write_flat, write_hardware, write_program, write_stack
from .goals import print_beside_goal, print_measured

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

PROJECT: Final = Path(__file__).resolve().parents[2]
COMMAND: Final = str(Path(sys.executable).parent / "dra-fleet")
SMALL: Final = 30
"""Objects of the stack with which the cluster is started."""
_ROUNDS: Final = 3
_OBJECTS: Final = 1500
"""Approximate number of objects in all rounds of one size: the largest are measured once."""
_PROJECT_FILE: Final = f"""\
name: dra-fleet
main: {PROJECT}
runtime: {{name: python, options: {{virtualenv: {PROJECT / ".venv"}}}}}
"""
"""Our program as a project elsewhere, so that the engine writes nothing into this one."""
_OF_ONE_PROJECT: Final = ("PULUMI_OPTION_CWD", "PULUMI_STACK")
"""Variables that lead the engine to the rehearsed stack; a twin has its own project."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Cost of a command: seconds of wall time and CPU time, and megabytes of its largest process."""

    wall: float
    processor: float
    memory: float


@dataclass(frozen=True, kw_only=True)
class Twin:
    """A stack of the engine that nothing is deployed to yet."""

    project: Path
    stack: str
    options: Sequence[str]
    variables: Mapping[str, str]

    def run(self, command: str, *options: str) -> Cost:
        """Measure a command of the engine.

        Args:
            command: such as `up`.
            options: beside those of every command.
        """
        arguments = ["pulumi", command, "--stack", self.stack, "--non-interactive", *self.options, *options]
        return _cost(arguments, self.project, self.variables)


@dataclass(frozen=True, kw_only=True)
class RehearsedCluster:
    """A rehearsed cluster for all twins."""

    folder: Path
    variables: Mapping[str, str]

    def twins(self, objects: int) -> tuple[Twin, Twin]:
        """dra-fleet's stack and the flat twin of so many objects, each fresh."""
        file = write_stack(self.folder, objects)
        bare = self.folder / f"flat{objects}"
        # Elsewhere, because what this process needs at most counts as its children's.
        with ProcessPoolExecutor(1) as elsewhere:
            elsewhere.submit(write_flat, bare, file).result()
        mine = self.stack(self.folder, f"fleet{objects}", ["--config-file", str(file)])
        return mine, self.stack(bare, f"flat{objects}", [])

    def components(self, objects: int) -> Twin:
        """Return a program of so many objects that is written with components, on a fresh stack."""
        project = self.folder / f"components{objects}"
        write_program(project, write_stack(self.folder, objects))
        found = self.stack(project, f"components{objects}", [])
        return replace(found, variables={**found.variables, "PYTHONPATH": str(PROJECT)})

    def stack(self, project: Path, name: str, options: Sequence[str]) -> Twin:
        """Create a fresh stack.

        Args:
            project: the folder of its project.
            name: its name.
            options: of every command on it.
        """
        _cost(["pulumi", "stack", "init", name, "--no-select", "--non-interactive"], project, self.variables)
        return Twin(project=project, stack=name, options=options, variables=self.variables)


@contextmanager
def rehearsed_cluster() -> Generator[RehearsedCluster]:
    """Start a cluster without twins in a separate home."""
    with TemporaryDirectory(prefix="dra-fleet-bench-") as place:
        folder = Path(place)
        own = {**os.environ, "DRA_FLEET_HOME": f"{place}/home"}
        small, hardware = write_stack(folder, SMALL), write_hardware(folder)
        (folder / "Pulumi.yaml").write_text(_PROJECT_FILE, encoding="utf-8")
        try:
            _cost([COMMAND, "rehearse", "up", str(small), "--hardware", str(hardware)], PROJECT, own)
            shown = subprocess.run(
                [COMMAND, "rehearse", "env", "--json"], env=own, check=True, capture_output=True
            ).stdout
            changes = {
                name: value for name, value in json.loads(shown).items() if name not in _OF_ONE_PROJECT
            }
            found = RehearsedCluster(folder=folder, variables={**own, **changes})
            emptied = Twin(
                project=folder,
                stack=small.stem,
                options=["--config-file", str(small)],
                variables=found.variables,
            )
            emptied.run("destroy", "--yes", "--skip-preview", "--run-program")
            yield found
        finally:
            _cost([COMMAND, "rehearse", "down", "--remove"], PROJECT, own)


def print_costs(
    name: str, costs: Mapping[str, Sequence[Cost]], goals: Mapping[tuple[str, str], float]
) -> None:
    """Print the medians of each case, and the ratios that have goals.

    Args:
        name: what was measured.
        costs: by case.
        goals: by two cases, how much of the second the first may cost.
    """
    medians = {case: _median(found) for case, found in costs.items()}
    for case, cost in medians.items():
        output = f"{cost.wall:.1f} s, CPU {cost.processor:.1f} s, {cost.memory:.0f} MB at most"
        print_measured(f"{name}, {case}", output)
    for (mine, theirs), goal in goals.items():
        ratio = f"{name}, {mine} / {theirs}"
        print_beside_goal(ratio, medians[mine].wall / medians[theirs].wall, goal)
        cpu_ratio = medians[mine].processor / medians[theirs].processor
        print_beside_goal(f"{ratio}, CPU time", cpu_ratio, goal)


def print_growth(name: str, walls: Mapping[int, float]) -> None:
    """Print how much longer the largest takes than the smallest, beside how much larger it is."""
    least, most = min(walls), max(walls)
    if most > least:
        print_measured(f"{name}, {most} / {least} objects", f"{walls[most] / walls[least]:.1f} x the seconds")


def median_wall(costs: Sequence[Cost]) -> float:
    """Return the median of wall time in seconds."""
    return _median(costs).wall


def asked(text: str | None, usual: Sequence[int]) -> dict[int, int]:
    """Return the repetitions for each number of objects: from the command line, otherwise fewer for more.

    Args:
        text: what is measured.
        usual: the numbers of objects, where the command line names none.
    """
    given = parser(text, _ROUNDS)
    given.add_argument("objects", nargs="*", type=int, help=f"{', '.join(map(str, usual))} without any")
    found = given.parse_args()
    return {size: max(1, min(found.rounds, _OBJECTS // size)) for size in found.objects or usual}


def _median(costs: Sequence[Cost]) -> Cost:
    return Cost(
        wall=statistics.median(cost.wall for cost in costs),
        processor=statistics.median(cost.processor for cost in costs),
        memory=statistics.median(cost.memory for cost in costs),
    )


def _cost(arguments: Sequence[str], directory: Path, variables: Mapping[str, str]) -> Cost:
    """Run a command that must succeed; what it starts and waits for counts as its own."""
    with TemporaryDirectory(prefix="dra-fleet-said-") as place:
        said = Path(place) / "said"
        with said.open("wb") as out:
            started = time.perf_counter()
            process = subprocess.Popen(
                arguments,
                cwd=directory,
                env=dict(variables),
                stdout=out,
                stderr=out,
                stdin=subprocess.DEVNULL,
            )
            _, status, used = os.wait4(process.pid, 0)
            wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(arguments)} failed:\n{said.read_text(errors='replace')[-3000:]}")
    return Cost(wall=wall, processor=used.ru_utime + used.ru_stime, memory=used.ru_maxrss / 1024)
