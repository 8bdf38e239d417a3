"""Which programs serve as node plugins: simulated ones, the drivers' own as built here, or any by path."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.rehearsal.drivers import node_sides
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.tools.cache import Cache
from dra_fleet.rehearsal.tools.go import GoToolchain, NoCompilerError
from dra_fleet.rehearsal.world.served_by import ANY, ServedBy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.rehearsal.reporting import Reporter

SIMULATED: Final = "simulated"
REAL: Final = "real"
ELF: Final = b"\x7fELF"
MACHINES: Final = {0x3E: "x86_64", 0xB7: "aarch64"}
"""e_machine of ELF files, as `uname -m` says it: elf(5)."""


def choices(options: Sequence[str], described: Mapping[str, str]) -> Mapping[str, str]:
    """What serves each driver: `simulated`, `real` or a path; the command line before the hardware file.

    Args:
        options: of the command line: `simulated` or `real` for all drivers, or DRIVER=PATH.
        described: the hardware file's, by driver.

    Raises:
        RehearsalError: an option says none of these, or names an unknown driver.
    """
    chosen = dict(described)
    for option in options:
        name, given, value = option.partition("=")
        if not given and option in (SIMULATED, REAL):
            chosen = dict.fromkeys(drivers.names(), option)
        elif given and value:
            chosen[name] = value
        else:
            raise RehearsalError(f"--drivers {option}: say {SIMULATED}, {REAL} or DRIVER=PATH")
    unknown = sorted(set(chosen) - set(drivers.names()))
    if unknown:
        raise RehearsalError(
            f"there is no driver {', '.join(unknown)} to choose a program for; "
            f"allowed: {', '.join(drivers.names())}"
        )
    return chosen


def resolve(plan: FleetPlan, chosen: Mapping[str, str], reporter: Reporter) -> tuple[ServedBy, list[str]]:
    """Find or build the programs that serve a plan's drivers.

    Args:
        plan: whose releases say the drivers and their versions.
        chosen: from `choices`.
        reporter: told of what is built.

    Returns:
        What serves, and sentences about drivers for which `real` cannot be had.

    Raises:
        RehearsalError: a program by path cannot be run here.
        ToolsError: one cannot be built.
    """
    found: dict[str, dict[str, Path]] = {}
    notes: list[str] = []
    for driver, version in _releases(plan):
        choice = chosen.get(driver, SIMULATED)
        if choice == SIMULATED:
            continue
        own = node_sides()[driver].own
        if own is None:
            notes.append(f"driver {driver} is simulated: its own program cannot be run here")
        elif choice != REAL:
            found.setdefault(driver, {})[ANY] = runnable(driver, Path(choice))
            own.prepare()
        elif recipe := own.recipes().get(version):
            try:
                program = GoToolchain.find().build(recipe, Cache.default(), reporter)
                own.prepare()
            except NoCompilerError as error:
                notes.append(f"driver {driver} {version} is simulated: {error}")
            else:
                found.setdefault(driver, {})[version] = program
        else:
            allowed = ", ".join(own.recipes()) or "none"
            notes.append(
                f"driver {driver} {version} is simulated: no module of that version is pinned here "
                f"(pinned: {allowed})"
            )
    return ServedBy(programs=found), notes


def runnable(driver: str, program: Path) -> Path:
    """A driver's program by path, which this machine can run.

    Raises:
        RehearsalError: it is no program for this machine.
    """
    said = f"--drivers {driver}={program}"
    if not program.is_file():
        raise RehearsalError(f"{said}: there is no such file")
    if not os.access(program, os.X_OK):
        raise RehearsalError(f"{said}: the file is not executable; chmod +x it")
    with program.open("rb") as file:
        head = file.read(20)
    machine = MACHINES.get(int.from_bytes(head[18:20], "little")) if head.startswith(ELF) else None
    if head.startswith(ELF) and machine != platform.machine():
        raise RehearsalError(
            f"{said}: the program is for {machine or 'another architecture'}, this machine is "
            f"{platform.machine()}; build it for this one"
        )
    return program.resolve()


def told(plan: FleetPlan, served: ServedBy) -> Mapping[str, str]:
    """What serves each driver of a plan, in words, by driver and version."""
    return {
        f"{driver} {version}": str(served.program(driver, version) or SIMULATED)
        for driver, version in _releases(plan)
    }


def _releases(plan: FleetPlan) -> list[tuple[str, str]]:
    """The drivers whose charts a plan installs, as stack files name them, and the charts' versions."""
    found = {
        (driver.name, item.version)
        for cluster in plan.clusters
        for item in cluster.releases
        if (driver := drivers.publishing(item.driver))
    }
    return sorted(found)
