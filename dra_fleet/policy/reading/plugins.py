"""Kubelet plugins of DRA drivers with their nodes, and operators that install the devices' driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, RELEASE_TYPES, releases
from dra_fleet.policy.reading.placement import Tolerated, placement

if TYPE_CHECKING:
    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.drivers import Driver
    from dra_fleet.drivers.resources import Operator, Switch
    from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.reading.homes import Homes


class DriverPlugin(Struct, frozen=True, kw_only=True):
    """The kubelet plugin of a DRA driver's chart."""

    release: ChartRelease
    driver: Driver

    @property
    def resource(self) -> Resource:
        """The resource that installs it."""
        return self.release.resource

    @property
    def where(self) -> RequiredNodeAffinity:
        """The nodes that it chooses by their labels."""
        return placement(self._values, self.driver.facts.plugin_labels)

    @property
    def tolerated(self) -> Tolerated:
        """The taints that it tolerates; nothing reports what the default of an unheard-of version is."""
        version = self.release.driver_version
        given = self._values.get("tolerations")
        if version is None:
            return Tolerated(given=given, otherwise=None)
        default, fixed = (
            [Toleration.of(each) for each in reported]
            for reported in (version.plugin_tolerations, version.fixed_tolerations)
        )
        return Tolerated(given=given, otherwise=default, always=fixed)

    def publishes(self, stack: Stack, pool: NodePool) -> bool:
        """Return whether a pool's nodes have devices of the driver, as far as its machines are known."""
        match self.driver.resources.known_by:
            case "gpus":
                return pool.has_gpus_of(self.driver)
            case "machines":
                return any(self.driver.serves(machine) for machine in pool.known_machines(stack))
            case "placement":
                return self.where.chooses

    @property
    def _values(self) -> Value:
        section = self.driver.plugin_section
        return self.release.values.get(section) if section else self.release.values


def driver_plugin(installed: ChartRelease) -> DriverPlugin | None:
    """Return the plugin that a chart installs; None for other charts, or if it publishes no devices."""
    driver = installed.installs
    if driver is None:
        return None
    publishes = driver.resources.publishes
    if publishes is not None and not is_on(installed, publishes):
        return None
    return DriverPlugin(release=installed, driver=driver)


def driver_plugins(stack: Stack) -> list[DriverPlugin]:
    """Return the driver plugins that a program installs, in order."""
    installed = [each for resource in stack.of(RELEASE_TYPES) for each in releases(resource)]
    found = [driver_plugin(each) for each in installed]
    return [plugin for plugin in found if plugin is not None]


def is_on(installed: ChartRelease, switch: Switch) -> bool:
    """Return whether a chart turns something on; False if unknown, which is noted."""
    given = installed.value(switch.key)
    if given.absent:
        return switch.default
    return bool(given.text) if given.text is not None else given.flag is True  # to Helm, "false" is true


class InstalledOperator(Struct, frozen=True, kw_only=True):
    """An operator's chart in a program."""

    release: ChartRelease
    kind: Operator

    @property
    def resource(self) -> Resource:
        """The resource that installs it."""
        return self.release.resource

    @property
    def switch(self) -> Value:
        """Value that decides whether the operator installs the devices' driver."""
        return self.release.value(self.kind.kernel_driver.key)

    @property
    def installs_driver(self) -> bool:
        """True if the operator installs the devices' driver; False if unknown, which is noted."""
        return is_on(self.release, self.kind.kernel_driver)

    @property
    def root(self) -> str:
        """Installation directory of the driver."""
        return self.release.value(self.kind.root).text or self.kind.default_root


def operators(stack: Stack) -> list[InstalledOperator]:
    """Return the operators that a program installs."""
    return [
        InstalledOperator(release=each, kind=each.operator)
        for resource in stack.of(INSTALLED_TYPES)
        for each in releases(resource)
        if each.operator is not None
    ]


def installer_for(pool: NodePool, among: list[InstalledOperator], homes: Homes) -> InstalledOperator | None:
    """Return the operator that installs the GPU driver on a pool's nodes."""
    near = [
        each
        for each in among
        if not any(pool.label(key).text == "false" for key in each.kind.kernel_driver_kept_off)
        and homes.together(pool.resource, each.resource)
    ]
    return next((each for each in near if each.installs_driver), None)
