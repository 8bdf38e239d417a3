"""How much longer than a bare program on the same engine does a rehearsal take?

Measures, in one run and side by side: a bare program that declares nothing, the dev stack from nothing
running until every workload holds its devices, and the dev stack again without a change. Prints medians and
their ratios. Tools must be built already (`make up` once).

The folder of another checkout may follow, such as a worktree of an earlier commit in which `make up` and
`make down` have run: its own dev stack is measured in turns with this one's, and the ratios are printed.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from twins.goals import print_beside_goal

PROJECT = Path(__file__).resolve().parents[1]
COMMAND = str(Path(sys.executable).parent / "dra-fleet")
ROUNDS = 5

BARE = "import pulumi\nimport pulumi_kubernetes.resource.v1\nimport pulumi_kubernetes.helm.v3\n"
"""Declares nothing; imports the SDK modules that the dev stack needs."""


GOALS = {"first": 0.6, "second": 0.5}
"""How much of an earlier state's time each case may take."""


def run(arguments: list[str], environment: dict[str, str], directory: Path = PROJECT) -> float:
    """Run a command that must succeed; returns its seconds."""
    started = time.monotonic()
    done = subprocess.run(
        arguments, env=environment, cwd=directory, check=False, capture_output=True, text=True
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")
    return time.monotonic() - started


def bare_program(environment: dict[str, str], directory: Path) -> tuple[list[str], dict[str, str]]:
    """Make a bare project; returns the command that runs it, and its environment."""
    (directory / "Pulumi.yaml").write_text("name: bare\nruntime: python\n")
    (directory / "__main__.py").write_text(BARE)
    shown = subprocess.run(
        [COMMAND, "rehearse", "env", "--json"], env=environment, check=True, capture_output=True
    ).stdout
    variables = {**environment, **json.loads(shown)}
    run(["pulumi", "stack", "init", "bare"], variables, directory)
    return ["pulumi", "up", "--yes", "--skip-preview", "--stack", "bare"], variables


def one_round(environment: dict[str, str], root: Path, project: Path) -> dict[str, float]:
    """Seconds of each case, in a home of their own that is gone afterwards; the bare one of this checkout."""
    command = str(project / ".venv" / "bin" / "dra-fleet")
    up = [command, "rehearse", "up", "--json"]
    try:
        first, second = run(up, environment, project), run(up, environment, project)
        if project != PROJECT:
            return {"first": first, "second": second}
        (root / "bare").mkdir()
        program, variables = bare_program(environment, root / "bare")
        return {"bare": run(program, variables, root / "bare"), "first": first, "second": second}
    finally:
        run([command, "rehearse", "down", "--remove"], environment, project)


def measure(projects: list[Path]) -> list[dict[str, float]]:
    """Median seconds of each case, per checkout, measured in turns."""
    rounds: list[list[dict[str, float]]] = [[] for _ in projects]
    for number in range(ROUNDS):
        for project, found in zip(projects, rounds, strict=True):
            with tempfile.TemporaryDirectory() as place:
                environment = {**os.environ, "DRA_FLEET_HOME": f"{place}/home"}
                found.append(one_round(environment, Path(place), project))
        print(f"round {number + 1} of {ROUNDS}", file=sys.stderr)
    return [{name: statistics.median(one[name] for one in found) for name in found[0]} for found in rounds]


def main() -> None:
    """Print the medians and the ratios."""
    others = [Path(word).resolve() for word in sys.argv[1:]]
    found, *before = measure([PROJECT, *others])
    for name, value in found.items():
        print(f"{name:7} {value:6.1f} s (median of {ROUNDS})")
    print(f"from nothing to all allocated / bare program: {found['first'] / found['bare']:.1f}")
    print(f"again without a change / bare program:        {found['second'] / found['bare']:.1f}")
    for other, seconds in zip(others, before, strict=True):
        for case, goal in GOALS.items():
            print_beside_goal(f"{case} up / that of {other.name}", found[case] / seconds[case], goal)


if __name__ == "__main__":
    main()
