"""Interface of a driver on simulated machines; each driver implements it in its own folder."""

from __future__ import annotations

import sys
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.driver_pod import Start
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.drivers.programs import Programs
    from dra_fleet.rehearsal.simulator.node import Host, NodeHardware
    from dra_fleet.rehearsal.tools.recipes import Recipe


class Reach(Enum):
    """Scope of a pod's changes: the pods to look at again."""

    NODE = "the pods of its node"
    CLUSTER = "no one: it looks at all nodes itself"


class Outfit(Struct, frozen=True, kw_only=True):
    """Files and variables of a driver's own program on a machine.

    Args:
        variables: of its environment, which report where it is.
        mounts: what is shown at paths that no variable reports, by these; both are there.
    """

    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    mounts: Mapping[Path, Path] = field(default_factory=dict[Path, Path])


class OwnProgram:
    """A driver's own program, which can replace a simulated plugin.

    Attributes:
        plugin: The plugin.
    """

    plugin: type[NodePlugin]

    def recipes(self) -> Mapping[str, Recipe]:
        """Return by chart version how the program is built, for the versions whose modules are pinned."""
        return {}

    def prepare(self) -> None:
        """Make what `outfit` needs besides the program, such as a library, before a cluster runs."""

    def outfit(self, host: Host, directory: Path) -> Outfit:
        """Write the files that the program looks for on a machine below a directory; return their places."""
        del host, directory
        return Outfit()


class NodeSide:
    """A driver on simulated machines. Subclasses set `plugins` and override the defaults.

    Attributes:
        plugins: Its node plugins, each recognized by the program that a container runs.
        programs: Its other programs that run in pods; each is made once for a cluster.
        node_model: Model of the driver's keys in a machine's entry of the hardware file.
        own: The driver's own program, if one can be run.
    """

    plugins: tuple[type[NodePlugin], ...]
    programs: tuple[type[Programs], ...] = ()
    node_model: type[NodeHardware] | None = None
    own: OwnProgram | None = None

    @property
    def charts(self) -> Path:
        """The folder of the driver's imitated charts, which may be absent."""
        return Path(str(sys.modules[type(self).__module__].__file__)).with_name("charts")

    def waits_for(self, container: Object, host: Host) -> str | None:
        """Return what an init container of the driver's pod waits for on a machine; None once it passes."""
        del container, host
        return None

    def start_problem(self, pod: Object, host: Host) -> Start | None:
        """Return how a pod of the driver that is neither plugin nor program fails on a machine.

        Returns:
            None if the pod starts, and for pods of other drivers.
        """
        del pod, host
        return None

    def reach(self, pod: Object) -> Reach | None:
        """Return who must look again when a pod of the driver changes; None for other pods."""
        del pod
        return None

    def installed(self, host: Host, pods: Sequence[Object], remembered: str) -> Host:
        """Return a machine with what its image, an installer and the driver's changes put on it.

        Args:
            host: The machine as delivered.
            pods: The pods on it.
            remembered: What the driver remembers of it; "" for nothing.
        """
        del pods, remembered
        return host

    def with_pods(self, host: Host, pods: Sequence[Object]) -> Host:
        """Return that machine with what other pods of the driver put on it."""
        del pods
        return host

    def resources(self, host: Host, pods: Sequence[Object], capacity: Mapping[str, str]) -> Mapping[str, str]:
        """Return the extended resources that device plugins advertise on a machine.

        Args:
            host: The machine.
            pods: The pods on it.
            capacity: The node's capacity before.
        """
        del host, pods, capacity
        return {}
