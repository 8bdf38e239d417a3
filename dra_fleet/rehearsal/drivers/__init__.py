"""The drivers' side of simulated nodes: a folder each, with its node side and the charts that stand in.

A plugin is recognised by what its container would run, and decides from the container's own specification and
the host's hardware, as the real binary would.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final, cast

from dra_fleet import drivers
from dra_fleet.facts.parts import part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.driver_pod import Start
    from dra_fleet.rehearsal.drivers.node_side import NodeSide, OwnProgram, Reach
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.world.node import Host, NodeHardware


DESCRIBED: Final = "described"
"""The folder of the node side of all drivers that stack files describe."""


@cache
def packages() -> Mapping[str, str]:
    """The package of each driver's node side and stand-in charts, by the driver's name."""
    known = {driver.name: f"{driver.package}.simulation" for driver in drivers.known()}
    return {**known, DESCRIBED: f"{drivers.__name__}.{DESCRIBED}.simulation"}


@cache
def node_sides() -> Mapping[str, NodeSide]:
    """The node side of each driver, by the driver's name.

    Raises:
        PartMissing: a driver has none.
    """
    return {
        name: cast("NodeSide", part(f"driver {name} has no node side", f"{package}.node_side", "NODE_SIDE"))
        for name, package in packages().items()
    }


def node_models() -> tuple[type[NodeHardware], ...]:
    """The models of what drivers read of a machine's entry in the hardware file, of those that read any."""
    modules = [f"{package}.hardware" for package in packages().values()]
    return tuple(resolve_name(f"{module}:NODE_MODEL") for module in modules if find_spec(module))


@cache
def chart_folders() -> tuple[Path, ...]:
    """Where each driver keeps its stand-in charts, as `<chart>/<version>/`."""
    return tuple(Path(str(files(package))) / "charts" for package in packages().values())


def plugins_of(pod: Object) -> list[NodePlugin]:
    """The node plugins that a pod's containers would run; empty for a pod that is no driver."""
    return [
        plugin(container)
        for container in pod["spec"]["containers"]
        for side in node_sides().values()
        for plugin in side.plugins
        if plugin.runs_in(container)
    ]


def own_of(plugin: NodePlugin) -> tuple[str, OwnProgram | None]:
    """A plugin's driver by its name in stack files, and the program of its own that may serve for it."""
    return next(
        (name, side.own if side.own and side.own.plugin is type(plugin) else None)
        for name, side in node_sides().items()
        if type(plugin) in side.plugins
    )


def reach_of(pod: Object) -> Reach | None:
    """Who must look again when a pod changes; None for a pod of no driver."""
    return next((reach for side in node_sides().values() if (reach := side.reach(pod))), None)


def waits_for(container: Object, host: Host) -> str | None:
    """What an init container of a driver's pod keeps waiting for on a machine; None once it passes."""
    return next((text for side in node_sides().values() if (text := side.waits_for(container, host))), None)


def start_problem(pod: Object, host: Host) -> Start | None:
    """How a pod that is neither plugin nor program of a driver fails on a machine; None where it starts."""
    return next((start for side in node_sides().values() if (start := side.start_problem(pod, host))), None)
