"""Measure README's first command in a fresh clone with an empty home.

Runs `make up` in a fresh clone of this commit with an empty home: it sets the environment up, makes every
tool again and rehearses the dev stack. Prints minutes of wall time and CPU time beside their goals, which
are for two cores. `make bench` leaves it out: it takes ten minutes and everything the machine has.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rehearse_up import busy_seconds
from twins.goals import print_beside_goal

PROJECT: Final = Path(__file__).resolve().parents[1]
MINUTES: Final = 10
PROCESSOR_MINUTES: Final = 18
OF_A_USER: Final = (
    "DRA_FLEET_",
    "GOCACHE",
    "GOMODCACHE",
    "GOPATH",
    "PULUMI_",
    "PYTHON",
    "VIRTUAL_ENV",
    "XDG_",
)
"""Variables that would lead to what this user has already."""


def main() -> None:
    """Print both values."""
    with TemporaryDirectory(prefix="dra-fleet-bench-") as place:
        clone, home = Path(place, "clone"), Path(place, "home")
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OF_A_USER)}
        variables = {**kept, "HOME": str(home)}
        subprocess.run(["git", "clone", "--quiet", str(PROJECT), str(clone)], check=True)
        started, before = time.monotonic(), busy_seconds(Path(place))
        try:
            done = subprocess.run(["make", "up"], cwd=clone, env=variables, check=False, stdout=sys.stderr)
            taken, busy = time.monotonic() - started, busy_seconds(Path(place)) - before
        finally:
            subprocess.run(
                [clone / ".venv" / "bin" / "dra-fleet", "rehearse", "down", "--remove"],
                cwd=clone,
                env=variables,
                check=False,
                stdout=sys.stderr,
            )
    if done.returncode:
        sys.exit(f"make up ended with {done.returncode}")
    print_beside_goal("make up in a fresh clone, empty home", taken / 60, MINUTES, "min")
    print_beside_goal("the same, CPU time", busy / 60, PROCESSOR_MINUTES, "min")


if __name__ == "__main__":
    main()
