"""The TPU driver on simulated machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from typing_extensions import override

from dra_fleet.drivers.tpu.driver import DRIVER as TPU
from dra_fleet.drivers.tpu.driver import NAME as DRIVER
from dra_fleet.drivers.tpu.driver import chips_of, is_found, tpu_devices
from dra_fleet.rehearsal.drivers.node_side import NodeSide
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed, StartFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.simulator.node import Host


# The TPU driver's kubelet plugin: publishes the chips of a node, and prepares all of them or none.
#
# Source: https://github.com/kubernetes-sigs/dra-driver-google-tpu/tree/v0.1.0/cmd/tpu-dra-kubeletplugin.

ACCELERATOR = "cloud.google.com/gke-tpu-accelerator"

COUNT = "cloud.google.com/gke-accelerator-count"

TOPOLOGY = "cloud.google.com/gke-tpu-topology"


class TpuPlugin(NodePlugin):
    """Reads the node's labels and counts the chips, as the real one does."""

    command: ClassVar[str] = "tpu-dra-kubeletplugin"

    @property
    @override
    def driver(self) -> str:
        return DRIVER

    @override
    def devices(self, host: Host) -> list[Object]:
        count = host.labels.get(COUNT, "")
        tpu = chips_of(host.machine) if host.machine else None
        if tpu is None:
            return []
        if not count.isdigit():
            raise StartFailed(f'invalid TPU chip count "{count}"')
        facts = TPU.facts
        version = facts.version(self.version) or facts.versions[-1]
        if int(count) != tpu.chips or is_found(tpu.generation, version, facts) is False:
            raise StartFailed("enumerated tpu devices not equal to chipCount")
        devices = tpu_devices(
            node=host.name,
            generation=tpu.generation,
            accelerator=host.labels.get(ACCELERATOR, tpu.accelerator),
            chips=tpu.chips,
            topology=host.labels.get(TOPOLOGY, tpu.topology),
            published=facts.attributes_in(version.version),
        )
        return [device.to_object() for device in devices]

    @override
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        del beside
        self.require_published(claim, published)
        if len(self.results(claim)) != len(published):
            raise PrepareFailed(
                f"invalid TPU chip count request, you must request all {len(published)} chips on this node "
                "together"
            )


class TpuNodes(NodeSide):
    """The TPU driver on simulated machines."""

    plugins = (TpuPlugin,)


NODE_SIDE: Final = TpuNodes()
