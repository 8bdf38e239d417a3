"""dra-example-driver's kubelet plugin: devices without hardware.

Source: https://github.com/kubernetes-sigs/dra-example-driver, `cmd/dra-example-kubeletplugin` (v0.4.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from dra_fleet.drivers.example.devices import example_devices
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, StartFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host


class ExamplePlugin(NodePlugin):
    """Publishes NUM_DEVICES devices under DRIVER_NAME."""

    command: ClassVar[str] = "dra-example-kubeletplugin"

    @property
    @override
    def driver(self) -> str:
        return self.environment.get("DRIVER_NAME", "gpu.example.com")

    @override
    def devices(self, host: Host) -> list[Object]:
        count = self.environment.get("NUM_DEVICES", "8")
        if not count.isdigit():
            raise StartFailed(f'invalid value "{count}" for flag -num-devices: parse error')
        return [device.to_object() for device in example_devices(node=host.name, count=int(count))]

    @override
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        del beside
        self.require_published(claim, published)
