"""Base of every simulated node plugin."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.simulator.node import Host


class StartFailed(Exception):  # noqa: N818 - a state to show, not a bug
    """The container exits; the message is what it would have logged last."""


class PrepareFailed(Exception):  # noqa: N818 - a state to show, not a bug
    """NodePrepareResources answers with this error."""


class AtWork(Struct, frozen=True, kw_only=True):
    """A plugin at work in a cluster.

    Args:
        api: acts as the driver's pod.
        namespace: of that pod.
        host: the node's machine.
    """

    api: KubeApi
    namespace: str
    host: Host


class NodePlugin(ABC):
    """A container that publishes and prepares one driver's devices.

    Args:
        container: its part of the pod's specification.
    """

    command: ClassVar[str]
    """The binary's name, by which the container is recognised."""

    def __init__(self, container: Object) -> None:
        self.container = container
        self.container_name: str = container["name"]
        self.environment = environment_of(container)
        self.version = container.get("image", "").rpartition(":")[2].removeprefix("v")

    @classmethod
    def runs_in(cls, container: Object) -> bool:
        """Return whether the container would run this plugin's binary."""
        words = " ".join([*container.get("command", []), *container.get("args", [])]).split()
        return cls.command in words

    fault_codes: ClassVar[Mapping[str, int]] = {}
    """Names of hardware errors and their codes, for `rehearse fault`."""

    @property
    @abstractmethod
    def driver(self) -> str:
        """The driver's name in slices and claims."""

    @abstractmethod
    def devices(self, host: Host) -> list[Object]:
        """Return the device objects to publish for this host.

        Raises:
            StartFailed: the binary would exit instead.
        """

    def after_error(self, device: Object, code: int) -> Object | None:
        """Return a device as it is published after a hardware error; None if it is omitted.

        Args:
            device: As it is published without errors.
            code: The error's.
        """
        del code
        return device

    def counters(self) -> list[Object]:
        """Return the shared counters of the devices, in separate ResourceSlices; most drivers have none."""
        return []

    @abstractmethod
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        """Prepare this driver's devices of a claim.

        Args:
            claim: the allocated ResourceClaim.
            published: the plugin's devices by name, as it publishes them.
            beside: the other claims that are prepared on the node and hold parts of devices.

        Raises:
            PrepareFailed: with the driver's own text.
        """

    async def settle(self, at: AtWork, claim: Object) -> None:
        """Do in the cluster what preparing a claim takes besides; most drivers do nothing there.

        Args:
            at: who asks, and where.
            claim: the allocated ResourceClaim, prepared otherwise.

        Raises:
            PrepareFailed: with the driver's own text; it is tried again later.
        """
        del at, claim

    async def release(self, at: AtWork, claim: Object) -> None:
        """Undo in the cluster what `settle` did.

        Args:
            at: who asks, and where.
            claim: the ResourceClaim that is unprepared.
        """
        del at, claim

    def node_labels(self, host: Host) -> dict[str, str]:
        """Labels that the plugin puts on its node when it starts."""
        del host
        return {}

    def results(self, claim: Object) -> list[Object]:
        """Return the claim's allocation results for this driver."""
        allocated = claim["status"]["allocation"].get("devices", {})
        return [item for item in allocated.get("results", []) if item["driver"] == self.driver]

    def require_published(self, claim: Object, published: dict[str, Object]) -> None:
        """Check that every allocated device is still there.

        Raises:
            PrepareFailed: one is gone.
        """
        for result in self.results(claim):
            if result["device"] not in published:
                raise PrepareFailed(f"requested device is not allocatable: {result['device']}")


def environment_of(container: Object) -> dict[str, str]:
    """Return the plain values of a container's environment; the last of two equal names counts."""
    return {item["name"]: item["value"] for item in container.get("env", []) if "value" in item}
