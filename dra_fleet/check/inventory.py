"""Devices that each pool's nodes of a stack's clusters will publish, and the DeviceClasses.

Values that nothing public reports before the machine runs are unknown, so that no verdict rests on them.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import clouds, drivers
from dra_fleet.drivers.installed import drivers_of
from dra_fleet.kubernetes.cel import UNKNOWN, CelDevice
from dra_fleet.kubernetes.minors import is_on
from dra_fleet.model.settings import ExclusiveSharing
from dra_fleet.proof.supply.prediction import predict

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.model.nodes import NodeDevice, NodeShape
    from dra_fleet.model.plan import ChartValues, ClusterPlan, FleetPlan, PoolPlan


class FleetDevice(Struct, frozen=True, kw_only=True, eq=False):
    """A device of a node.

    Args:
        pool: the pool whose nodes publish it.
        name: its name there.
        type: gpu, mig and so on; empty where the driver has no types.
        cel: the device as a selector sees it.
        bare: the same without the attributes that a device of its type may lack.
        published: its entry in a slice, with UNKNOWN for what no one can know yet.
    """

    pool: str
    name: str
    type: str
    cel: CelDevice
    bare: CelDevice
    published: Mapping[str, Any]

    def value(self, variable: str, domain: str, identity: str) -> str:
        """Return a published value as text; empty if there is none or it is unknown."""
        key = "attributes" if variable == "device.attributes" else "capacity"
        entries: Mapping[str, Any] = self.published.get(key, {})
        qualified = f"{domain}/{identity}"
        entry = entries.get(identity if domain == self.cel.driver and identity in entries else qualified, {})
        value = next(iter(entry.values()), UNKNOWN)
        return "" if value is UNKNOWN else str(value)


class NodeDevices(Struct, frozen=True, kw_only=True, eq=False):
    """The devices of one node of a pool.

    Args:
        plan: the pool.
        shape: a node as the allocator sees it, with why what a driver publishes there is unknown.
        devices: what it publishes.
        unpartitioned: the whole GPUs before MIG partitions exist.
    """

    plan: PoolPlan
    shape: NodeShape
    devices: tuple[FleetDevice, ...]
    unpartitioned: tuple[FleetDevice, ...]

    def doubt(self, names: Collection[str]) -> str:
        """Return why the values under these names, or all values, are unknown."""
        reported = {device.driver for device in self.shape.devices} | self.shape.known_drivers
        strange = sorted(name for name in names if name not in reported and not _is_familiar(name))
        if strange:
            return f"what driver {strange[0]} publishes cannot be predicted"
        reasons = self.shape.unpredictable
        return next((text for name, text in reasons.items() if not names or name in names), "")


class ClusterInventory(Struct, frozen=True, eq=False, dict=True):
    """A cluster of the stack; `named` are the drivers that the selectors of files name."""

    plan: ClusterPlan
    named: frozenset[str] = frozenset()

    @cached_property
    def pools(self) -> tuple[NodeDevices, ...]:
        return tuple(
            NodeDevices(
                plan=pool,
                shape=(shape := self._shape(pool)),
                devices=self._devices(pool, shape),
                unpartitioned=self._unpartitioned(pool),
            )
            for pool in self.plan.pools
        )

    @cached_property
    def drivers(self) -> list[Installed]:
        """The drivers that it runs; if it has its own, the assumed ones."""
        return drivers_of(self.plan, self.named)

    @cached_property
    def classes(self) -> dict[str, tuple[str, ...]]:
        """Every class that the stack, a driver's chart or the cloud itself puts there, with its selectors."""
        settings = self.plan.settings
        cloud = clouds.named(settings.cloud)
        brought = {name: (cel,) for name, cel in cloud.own_classes(settings).items()}
        chart = {
            name: (selector,)
            for driver in self.drivers
            for name, selector in driver.driver.classes(driver).items()
        }
        stack = {
            item.name: tuple(selector.cel.expression for selector in item.spec.selectors)
            for item in self.plan.classes
        }
        return brought | chart | stack

    @cached_property
    def extended_resources(self) -> dict[str, str]:
        """Extended resource names that a class answers there, each with the class; empty below 1.36.

        Excludes the names of assumed drivers that publish nothing while a device plugin serves the name.
        """
        if not is_on("DRAExtendedResource", self.plan.kubernetes):
            return {}
        published = {device.driver for pool in self.pools for device in pool.shape.devices}
        chart = {
            resource: name
            for driver in self.drivers
            for resource, name in driver.version.extended_resources.items()
            if not driver.is_assumed
            or driver.facts.driver in published
            or resource not in self.plugin_resources
        }
        stack = {
            item.spec.extended_resource_name: item.name
            for item in self.plan.classes
            if item.spec.extended_resource_name
        }
        return chart | stack

    @cached_property
    def plugin_resources(self) -> dict[str, dict[str, int]]:
        """Extended resource names that device plugins answer, each with the devices of one node by pool."""
        found: dict[str, dict[str, int]] = {}
        for pool in self.plan.pools:
            for driver in drivers.in_place_of_plugins(pool.machine) if pool.by_plugin else ():
                operator = driver.resources.operator
                values: ChartValues = next(
                    (one.values for one in self.plan.releases if operator and one.chart == operator.chart),
                    dict[str, Any](),
                )
                for resource, count in driver.plugin_resources(pool, values).items():
                    found.setdefault(resource, {})[pool.name] = count
        return found

    def _shape(self, pool: PoolPlan) -> NodeShape:
        (group,) = predict(replace(self.plan, pools=(pool,)), self.named)
        return group.shape

    def _devices(self, pool: PoolPlan, shape: NodeShape) -> tuple[FleetDevice, ...]:
        installed = {driver.facts.driver: driver for driver in self.drivers}
        return tuple(
            _fleet_device(pool.name, device, installed.get(device.driver)) for device in shape.devices
        )

    def _unpartitioned(self, pool: PoolPlan) -> tuple[FleetDevice, ...]:
        if isinstance(pool.sharing, ExclusiveSharing):
            return ()
        whole = replace(pool, sharing=ExclusiveSharing())
        return self._devices(whole, self._shape(whole))


def clusters(plan: FleetPlan, named: Collection[str] = ()) -> tuple[ClusterInventory, ...]:
    return tuple(ClusterInventory(cluster, frozenset(named)) for cluster in plan.clusters)


def _fleet_device(pool: str, device: NodeDevice, driver: Installed | None) -> FleetDevice:
    attributes: Mapping[str, Any] = device.seen["attributes"]
    written = attributes.get("type", {}).get("string", "")
    kind = "" if written is UNKNOWN else str(written)
    optional = _optional(driver, kind) if driver is not None else frozenset[str]()
    bare = {key: value for key, value in attributes.items() if key not in optional}
    return FleetDevice(
        pool=pool,
        name=device.name,
        type=kind,
        cel=CelDevice.of(device.seen, device.driver),
        bare=CelDevice.of({**device.seen, "attributes": bare}, device.driver),
        published=device.seen,
    )


def _optional(driver: Installed, kind: str) -> frozenset[str]:
    """Return the attributes that a device of a type may lack; a partition lacks its UUID before it exists."""
    surely = driver.facts.surely_in(driver.version.version)
    return frozenset(
        item.name
        for item in driver.facts.attributes
        if kind in item.sometimes and item.name not in surely and item.name != "uuid"
    )


def _is_familiar(name: str) -> bool:
    driver = drivers.publishing(name)
    return driver is not None and driver.owns_names
