"""Drivers that stack files describe on simulated machines."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, cast

from typing_extensions import override

from dra_fleet import drivers
from dra_fleet.drivers.common.parameters import check_parameters
from dra_fleet.drivers.common.predicting import published_as
from dra_fleet.drivers.installed import Installed
from dra_fleet.model.settings import DescribedDevices  # noqa: TC001 - pydantic reads it
from dra_fleet.rehearsal.drivers.node_side import NodeSide
from dra_fleet.rehearsal.drivers.plugin import NodePlugin, PrepareFailed
from dra_fleet.rehearsal.simulator.node import Host, NodeHardware

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.model.plan import FleetPlan


DRIVER_NAME: Final = "described"


class DescribedNode(NodeHardware):
    """The devices that described drivers read from a machine's entry. `devices`: as `devices` of a pool."""

    devices: tuple[DescribedDevices, ...] = ()

    @override
    def parts(self, name: str) -> Mapping[str, object]:
        return {**super().parts(name), DRIVER_NAME: self.devices}


def devices_of(host: Host) -> Sequence[DescribedDevices]:
    """Return the devices of a machine that stack files describe."""
    return cast("Sequence[DescribedDevices]", host.parts.get(DRIVER_NAME, ()))


# The plugin of a driver whose devices stack files describe: it publishes what the hardware file says.
#
# It rejects the same configuration of a claim as the real plugin, as far as its opaque parameters are known.
# Otherwise it prepares every device that it published.


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
        own = (item for item in devices_of(host) if item.driver == self.driver)
        return [device.to_object() for item in own for device in published_as(item)]

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


_CHART: Final = Path(__file__).resolve().parent / "chart"


class DescribedNodes(NodeSide):
    """Drivers that stack files describe on simulated machines."""

    plugins = (DescribedPlugin,)
    node_model = DescribedNode


NODE_SIDE: Final = DescribedNodes()


def write_charts(plan: FleetPlan, folder: Path) -> None:
    """Write a chart for each described driver of a plan.

    Args:
        plan: the fleet.
        folder: where they go, as `<chart>/<version>/`; what was there is replaced.
    """
    shutil.rmtree(folder, ignore_errors=True)
    for cluster in plan.clusters:
        described = {
            one.described.publishes: one.described.plugin
            for one in cluster.settings.drivers.values()
            if one.described is not None
        }
        for release in cluster.releases:
            if release.driver in described:
                name = release.chart.rstrip("/").rpartition("/")[2]
                made = folder / name / release.version
                shutil.copytree(_CHART, made, dirs_exist_ok=True)
                reported = {"publishes": release.driver, "plugin": described[release.driver]}
                (made / "Chart.yaml").write_text(_metadata(name, release.version, reported), encoding="utf-8")


def _metadata(name: str, version: str, reported: dict[str, str]) -> str:
    """JSON is YAML."""
    annotations = {f"dra-fleet/{key}": value for key, value in reported.items()}
    body = {"apiVersion": "v2", "name": name, "version": version, "annotations": annotations}
    return json.dumps({**body, "description": "Placeholder for the chart of an unknown driver."})
