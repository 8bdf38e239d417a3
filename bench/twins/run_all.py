"""Run every benchmark, and print at the end each value that has a goal, whether it is met, and who failed.

A benchmark that fails hides no other; the exit code is 1 then. A goal that is missed fails nothing: what is
measured depends on what else the machine does.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from .goals import is_beside_goal, is_missed

BENCH = Path(__file__).resolve().parents[1]


def main() -> None:
    """Run those that are named, else all, one after the other."""
    names = sys.argv[1:] or sorted(file.stem for file in BENCH.glob("*.py"))
    found = {name: _run(name) for name in names}
    print("\nBeside their goals:")
    for name, (lines, _) in found.items():
        for line in lines:
            print(f"  {name}: {line}")
    missed = sum(is_missed(line) for lines, _ in found.values() for line in lines)
    failed = [name for name, (_, code) in found.items() if code]
    print(f"{sum(len(lines) for lines, _ in found.values())} goals, {missed} missed")
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def _run(name: str) -> tuple[list[str], int]:
    """The lines of a benchmark that have goals, and its exit code; everything it prints is passed on."""
    print(f"== {name}", flush=True)
    command = [sys.executable, str(BENCH / f"{name}.py")]
    lines: list[str] = []
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            if is_beside_goal(line):
                lines.append(line.rstrip())
    return lines, process.returncode


if __name__ == "__main__":
    main()
