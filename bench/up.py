"""Measure the first update, one without a change, and destroy, next to a bare program.

Measures, in turns and on one rehearsed cluster that is empty before each: a stack of 250 and 1,000 Kubernetes
objects (or of the numbers given) and its flat twin, which declares the same objects, as our plan has them,
without other dependencies than those of Jobs on their templates and of everything on its namespace (one that
knew none failed to destroy its release, whose namespace was gone). No policy pack. Prints medians, ratios
with their goals, peak memory of the largest process and growth. 4,000 take an hour.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # neither the program nor `tests` is installed

from twins.engine import asked, median_wall, print_costs, print_growth, rehearsed_cluster

if TYPE_CHECKING:
    from twins.engine import Cost

SIZES = (250, 1000)
GOALS = {("dra-fleet", "flat twin"): 1.15}
STEPS = {"first up": "up", "up without a change": "up", "destroy": "destroy"}


def main() -> None:
    """Print all measurements."""
    walls: dict[str, dict[int, float]] = {step: {} for step in STEPS}
    sizes = asked(__doc__, SIZES)
    with rehearsed_cluster() as cluster:
        for objects, rounds in sizes.items():
            twins = dict(zip(("dra-fleet", "flat twin"), cluster.twins(objects), strict=True))
            costs: dict[str, dict[str, list[Cost]]] = {step: {name: [] for name in twins} for step in STEPS}
            for _ in range(rounds):
                for name, twin in twins.items():
                    for step, command in STEPS.items():
                        hooks = ["--run-program"] if command == "destroy" else []
                        costs[step][name].append(twin.run(command, "--yes", "--skip-preview", *hooks))
            for step, found in costs.items():
                print_costs(f"{step} of {objects} objects", found, GOALS)
                walls[step][objects] = median_wall(found["dra-fleet"])
    for step, found in walls.items():
        print_growth(step, found)


if __name__ == "__main__":
    main()
