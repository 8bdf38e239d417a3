"""Measure a preview and a bare program that declares the same objects.

Measures, in turns and on one rehearsed cluster that has nothing of them: the preview of a stack of 250, 500,
1,000 and 4,000 Kubernetes objects (or of the numbers given), of its flat twin, and of the stack with the
pack; for 250 objects also of a program that is written with components. The twin declares the same objects,
as our own plan has them, without other dependencies than those of Jobs on their templates and of everything
on its namespace. Prints medians, ratios with their goals, peak memory of the largest process and growth.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # neither the program nor `tests` is installed

from twins.engine import PROJECT, Cost, asked, median_wall, print_costs, print_growth, rehearsed_cluster

SIZES = (250, 500, 1000, 4000)
PACK = str(PROJECT / "policies" / "run-pack")
GOALS = {("dra-fleet", "flat twin"): 1.15, ("dra-fleet with the pack", "flat twin"): 1.3}
COMPONENTS = "a program with components"
OF_COMPONENTS = 250
"""Objects of the program: more claims in one program are not usual."""
OF_THE_PROGRAM = {(COMPONENTS, "flat twin"): 1.15}
OF_THE_PACK = {500: {("dra-fleet with the pack", "dra-fleet"): 1.15}}
"""Maximum ratio of a preview with the pack, by number of objects."""


def main() -> None:
    """Print all measurements."""
    walls: dict[int, float] = {}
    sizes = asked(__doc__, SIZES)
    with rehearsed_cluster() as cluster:
        for objects, rounds in sizes.items():
            own, flat = cluster.twins(objects)
            costs: dict[str, list[Cost]] = {"dra-fleet": [], "flat twin": [], "dra-fleet with the pack": []}
            program = cluster.components(objects) if objects == OF_COMPONENTS else None
            for _ in range(rounds):
                costs["dra-fleet"].append(own.run("preview"))
                costs["flat twin"].append(flat.run("preview"))
                costs["dra-fleet with the pack"].append(own.run("preview", "--policy-pack", PACK))
                if program is not None:
                    costs.setdefault(COMPONENTS, []).append(program.run("preview"))
            more = OF_THE_PACK.get(objects, {}) | ({} if program is None else OF_THE_PROGRAM)
            print_costs(f"preview of {objects} objects", costs, GOALS | more)
            walls[objects] = median_wall(costs["dra-fleet"])
    print_growth("preview", walls)


if __name__ == "__main__":
    main()
