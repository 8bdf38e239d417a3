"""Render a run of the benchmarks as tables in a page."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from .goals import MISSED, Measured

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BEGIN: Final = "<!-- One run of `make bench`, written by it. -->\n"
END: Final = "<!-- The end of that run. -->\n"


@dataclass(frozen=True, kw_only=True)
class Run:
    """A benchmark that was run: what it measured, its exit code and how long it took."""

    name: str
    measured: tuple[Measured, ...]
    code: int
    seconds: float


def write_run(page: Path, machine: str, runs: Sequence[Run]) -> None:
    """Put the tables of a run in place of those of the run before.

    Args:
        page: it has both marks.
        machine: what was measured on.
        runs: in the order of their tables.

    Raises:
        ValueError: the page lacks a mark.
    """
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        raise ValueError(f"{page} lacks a line {BEGIN.strip()} or, after it, {END.strip()}")
    page.write_text(f"{before}{BEGIN}{_tables(machine, runs)}\n{END}{after}", encoding="utf-8")


def _tables(machine: str, runs: Sequence[Run]) -> str:
    goals = [line for run in runs for line in run.measured if line.goal]
    missed = sum(line.checked == MISSED for line in goals)
    minutes = sum(run.seconds for run in runs) / 60
    today = dt.datetime.now(tz=dt.UTC).date()
    head = f"{today}, {machine}; {minutes:.0f} minutes, {len(goals)} goals, {missed} missed.\n"
    return "\n".join([f"\n{head}", *map(_table, runs)])


def _table(run: Run) -> str:
    name, *arguments = run.name.split()
    command = " ".join([f"bench/{name}.py", *arguments])
    failed = f", failed with {run.code}" if run.code else ""
    rows = [f"| {line.name} | {line.value} | {_goal(line)} |" for line in run.measured]
    return "\n".join([f"`{command}`{failed}:\n", "| Measured | Value | Goal |", "|---|---|---|", *rows, ""])


def _goal(line: Measured) -> str:
    checked = f"**{line.checked.lower()}**" if line.checked == MISSED else line.checked
    return f"{line.goal}: {checked}" if line.goal else ""
