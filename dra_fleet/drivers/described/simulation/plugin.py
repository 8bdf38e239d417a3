"""The plugin of a driver whose devices stack files describe: it publishes what the hardware file says.

What the real one refuses of a claim's configuration is what is known of its opaque parameters; where nothing
is, or it reads none, it prepares every device that it published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from typing_extensions import override

from dra_fleet import drivers
from dra_fleet.drivers.common.parameters import check_parameters
from dra_fleet.drivers.common.told_devices import published_as
from dra_fleet.drivers.described.simulation.hardware import devices_of
from dra_fleet.drivers.installed import Installed
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host


class DescribedPlugin(NodePlugin):
    """Publishes a machine's devices under its name, or under the one that the imitated chart sets."""

    command: ClassVar[str] = "described-devices-plugin"
    publisher: ClassVar[str] = ""

    @property
    @override
    def driver(self) -> str:
        return self.publisher or self.environment["DRIVER_NAME"]

    @override
    def devices(self, host: Host) -> list[Object]:
        ours = (item for item in devices_of(host) if item.driver == self.driver)
        return [device.to_object() for item in ours for device in published_as(item)]

    @override
    def prepare(self, claim: Object, published: dict[str, Object], beside: Sequence[Object] = ()) -> None:
        del beside
        self.require_published(claim, published)
        known = drivers.publishing(self.driver)
        if known is None or not known.facts.parameters:
            return
        running = Installed(driver=known, version=known.facts.versions[-1], values={})
        for config in claim["status"]["allocation"].get("devices", {}).get("config", []):
            opaque = config.get("opaque", {})
            if opaque.get("driver") == self.driver:
                for refusal in check_parameters(self.driver, opaque["parameters"], running):
                    raise PrepareFailed(f"{refusal.path} {refusal.what}")
