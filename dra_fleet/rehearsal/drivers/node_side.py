"""What a rehearsal asks of one driver on simulated machines; each driver answers in its own folder."""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.driver_pod import Start
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.drivers.programs import Programs
    from dra_fleet.rehearsal.tools.recipes import Recipe
    from dra_fleet.rehearsal.world.node import Host


class Reach(Enum):
    """Who must look again when a pod comes, goes or changes."""

    NODE = "the pods of its node"
    CLUSTER = "nobody: it looks at all nodes itself"


def _nothing(*_: object) -> None:
    return None


def _same_host(host: Host, *_: object) -> Host:
    return host


def _no_resources(*_: object) -> Mapping[str, str]:
    return {}


def _no_outfit(*_: object) -> Outfit:
    return Outfit()


def _no_recipes() -> Mapping[str, Recipe]:
    return {}


@dataclass(frozen=True, kw_only=True)
class Outfit:
    """What a driver's own program finds on a machine.

    Args:
        variables: of its environment, which tell where it is.
        mounts: what is shown at paths that no variable tells, by these; both are there.
    """

    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    mounts: Mapping[Path, Path] = field(default_factory=dict[Path, Path])


@dataclass(frozen=True, kw_only=True)
class OwnProgram:
    """A driver's own program, which can serve in a simulated plugin's place.

    Args:
        plugin: the plugin.
        recipes: how it is built, by chart version, where its modules are pinned.
        prepare: makes what `outfit` needs beside the program, such as a library, before a cluster runs.
        outfit: puts what the program looks for on a machine below a directory, and tells what.
    """

    plugin: type[NodePlugin]
    recipes: Callable[[], Mapping[str, Recipe]] = _no_recipes
    prepare: Callable[[], object] = _nothing
    outfit: Callable[[Host, Path], Outfit] = _no_outfit


@dataclass(frozen=True, kw_only=True)
class NodeSide:
    """One driver on simulated machines.

    Args:
        plugins: its node plugins, each recognised by the binary a container runs.
        programs: what else of it runs in pods; each is made once for a cluster.
        waits_for: what an init container of the driver's own pod keeps waiting for on a machine.
        start_problem: how a pod of the driver that is neither plugin nor program fails on a machine; None
            where it starts, and for every other pod.
        reach: who must look again when a pod of the driver changes; None for every other pod.
        installed: a machine with what its image, an installer and the driver's own changes put on it. Gets
            the machine as delivered, the pods on it, and what the driver remembers of it, empty for nothing.
        with_pods: that machine with what other pods of the driver put on it.
        resources: the extended resources that device plugins advertise on a machine. Gets the machine, the
            pods on it and the node's capacity before.
        own: the driver's own program, where one can be run.
    """

    plugins: tuple[type[NodePlugin], ...]
    programs: tuple[type[Programs], ...] = ()
    waits_for: Callable[[Object, Host], str | None] = _nothing
    start_problem: Callable[[Object, Host], Start | None] = _nothing
    reach: Callable[[Object], Reach | None] = _nothing
    installed: Callable[[Host, Sequence[Object], str], Host] = _same_host
    with_pods: Callable[[Host, Sequence[Object]], Host] = _same_host
    resources: Callable[[Host, Sequence[Object], Mapping[str, str]], Mapping[str, str]] = _no_resources
    own: OwnProgram | None = None
