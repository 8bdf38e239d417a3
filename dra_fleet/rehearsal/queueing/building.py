"""Builds Kueue for the stacks that have queues, and puts its chart where releases find it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from dra_fleet.fleet.queueing.kueue import NAME
from dra_fleet.rehearsal.errors import RehearsalError
from dra_fleet.rehearsal.tools.cache import Cache
from dra_fleet.rehearsal.tools.go import GoToolchain
from dra_fleet.rehearsal.tools.recipes import KUEUE
from dra_fleet.rehearsal.world.served_by import ANY

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.rehearsal.reporting import Reporter

LEFT_OUT: Final = "visibility"
"""The API of pending workloads, which the rehearsed controller does not serve: an API that is announced and
not served keeps namespaces from going."""


def built(plan: FleetPlan, charts: Path, reporter: Reporter) -> Mapping[str, Path]:
    """Kueue's controller, built where a stack has queues: what serves as the driver of that name.

    Args:
        plan: the stack's.
        charts: where charts of modules are put, as `<chart>/<version>/`.
        reporter: told of the build.

    Raises:
        RehearsalError: no module of the stack's version is pinned.
        ToolsError: it cannot be built.
    """
    asked = {item.version for one in plan.clusters for item in one.releases if item.name == NAME}
    pinned = KUEUE.version.removeprefix("v")
    if not asked:
        return {}
    if asked != {pinned}:
        raise RehearsalError(
            f"Kueue {', '.join(sorted(asked - {pinned}))} cannot be rehearsed: no module of it is pinned "
            f"(pinned: {pinned})"
        )
    program = GoToolchain.find().build(KUEUE, Cache.default(), reporter)
    chart = charts / NAME / pinned
    if not chart.is_dir():
        chart.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(program.with_name(NAME), chart, ignore=shutil.ignore_patterns(LEFT_OUT))
    return {ANY: program}
