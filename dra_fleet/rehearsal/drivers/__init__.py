"""The drivers' side of simulated nodes: a folder each, with its node side and its charts.

A plugin is recognised by what its container would run, and decides from the container's own specification and
the host's hardware, as the real binary would.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.rehearsal.drivers.node_side import NodeSide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.driver_pod import Start
    from dra_fleet.rehearsal.drivers.node_side import OwnProgram, Reach
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.simulator.node import Host, NodeHardware


DESCRIBED: Final = "described"
"""The name of the node side of all drivers that stack files describe."""


@cache
def node_sides() -> Mapping[str, NodeSide]:
    """Return the node side of each driver by the driver's name.

    Raises:
        ExpectedError: A driver of another package has none.
    """
    from dra_fleet.drivers.amd.simulation.node_side import NODE_SIDE as AMD
    from dra_fleet.drivers.described.simulation.node_side import NODE_SIDE as OF_STACK_FILES
    from dra_fleet.drivers.dracpu.simulation.node_side import NODE_SIDE as DRACPU
    from dra_fleet.drivers.dranet.simulation.node_side import NODE_SIDE as DRANET
    from dra_fleet.drivers.example.simulation.node_side import NODE_SIDE as EXAMPLE
    from dra_fleet.drivers.intel.simulation.node_side import NODE_SIDE as INTEL
    from dra_fleet.drivers.nvidia.simulation.node_side import NODE_SIDE as NVIDIA
    from dra_fleet.drivers.tpu.simulation.node_side import NODE_SIDE as TPU

    built_in: tuple[NodeSide, ...] = (NVIDIA, AMD, INTEL, TPU, DRANET, DRACPU, EXAMPLE)
    found: dict[str, NodeSide] = dict(zip(drivers.BUILT_IN, built_in, strict=True))
    for driver in drivers.known():
        if driver.name not in found:
            side = driver.node_side()
            if not isinstance(side, NodeSide):
                raise ExpectedError(f"driver {driver.name}: {side!r} is not a NodeSide")
            found[driver.name] = side
    return {**found, DESCRIBED: OF_STACK_FILES}


def node_models() -> tuple[type[NodeHardware], ...]:
    """Return the models of the drivers' keys in a machine's entry of the hardware file."""
    models = (side.node_model for side in node_sides().values())
    return tuple(model for model in models if model is not None)


@cache
def chart_folders() -> tuple[Path, ...]:
    """Return the folders with a folder per chart, which holds `versions.yaml`."""
    return tuple(side.charts for side in node_sides().values() if side.charts.is_dir())


def plugins_of(pod: Object) -> list[NodePlugin]:
    """Return the node plugins that a pod's containers would run; empty for other pods."""
    return [
        plugin(container)
        for container in pod["spec"]["containers"]
        for side in node_sides().values()
        for plugin in side.plugins
        if plugin.runs_in(container)
    ]


def own_of(plugin: NodePlugin) -> tuple[str, OwnProgram | None]:
    """Return a plugin's driver by its name in stack files, and the real program that may serve for it."""
    return next(
        (name, side.own if side.own and side.own.plugin is type(plugin) else None)
        for name, side in node_sides().items()
        if type(plugin) in side.plugins
    )


def reach_of(pod: Object) -> Reach | None:
    """Return the scope of a pod's changes; None for a pod of no driver."""
    return next((reach for side in node_sides().values() if (reach := side.reach(pod))), None)


def waits_for(container: Object, host: Host) -> str | None:
    """Return the condition that a driver's init container waits for on a machine; None once it passes."""
    return next((text for side in node_sides().values() if (text := side.waits_for(container, host))), None)


def start_problem(pod: Object, host: Host) -> Start | None:
    """Return the failure of a driver's pod that is neither plugin nor program; None if it starts."""
    return next((start for side in node_sides().values() if (start := side.start_problem(pod, host))), None)
