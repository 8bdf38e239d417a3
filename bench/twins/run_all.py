"""Run every benchmark, and print at the end each value that has a goal, whether it is met, and who failed.

A benchmark that fails hides no other; the exit code is 1 then. A goal that is missed fails nothing: what is
measured depends on what else the machine does. `--markdown FILE` writes the run into a page, between marks.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

from .goals import MISSED, read_measured
from .machine import describe
from .page import Run, write_run

BENCH: Final = Path(__file__).resolve().parents[1]
ASKED: Final = {
    "cold_start": "README's first command, nothing being there: at most 10 minutes, 18 of CPU time",
    "up 4000": "4,000 objects on the engine: `python bench/up.py 4000`, an hour",
}
"""Benchmarks that run only on request, and why."""


def main() -> None:
    """Run those that are named, else all but those to ask for, one after the other."""
    asking = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    asking.add_argument("benchmark", nargs="*", help="with its own arguments, as one word: 'up 4000'")
    asking.add_argument("--markdown", type=Path, help="the page to write into")
    asked = asking.parse_args()
    usual = [file.stem for file in sorted(BENCH.glob("*.py")) if file.stem not in ASKED]
    # A shell has it ignored for what runs behind it, and then the engine waits 5 s for each plugin to end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    machine, runs = describe(), list[Run]()
    print(machine, flush=True)
    for name in asked.benchmark or usual:
        runs.append(_run(name))
        if asked.markdown:
            write_run(asked.markdown, machine, runs)
    _print_goals(runs)
    if not asked.benchmark:
        for name, what in ASKED.items():
            print(f"not run: {name} ({what})")
    failed = [run.name for run in runs if run.code]
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _print_goals(runs: list[Run]) -> None:
    print("\nBeside their goals:")
    beside = [(run.name, line) for run in runs for line in run.measured if line.goal]
    for name, line in beside:
        print(f"  {line.checked:6} {name}: {line.name}: {line.value} ({line.goal})")
    missed = sum(line.checked == MISSED for _, line in beside)
    minutes = sum(run.seconds for run in runs) / 60
    print(f"{len(beside)} goals, {missed} missed; {minutes:.0f} minutes")


def _run(named: str) -> Run:
    name, *arguments = named.split()
    print(f"== {named}", flush=True)
    command = [sys.executable, str(BENCH / f"{name}.py"), *arguments]
    started = time.monotonic()
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            lines.append(line)
    found = tuple(said for said in map(read_measured, lines) if said)
    taken = time.monotonic() - started
    print(f"== {named} took {taken:.0f} s", flush=True)
    return Run(name=named, measured=found, code=process.returncode, seconds=taken)


if __name__ == "__main__":
    main()
