"""Programs that advertise devices, and the pools of a stack on which they run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, cast

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.core.declared.values import Value
from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, Requirement
from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, releases
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.reading.placement import Tolerated, declared_taints, placement, pool_labels
from dra_fleet.policy.reading.plugins import driver_plugin, is_on
from dra_fleet.policy.reading.pods import POD_TYPES, Program, may_advertise, pod_specs, quiet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.drivers import Driver
    from dra_fleet.drivers.resources import DevicePlugin, Operator
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.reading.plugins import DriverPlugin
    from dra_fleet.policy.reading.pods import PodSpec


Kind = Literal["dra", "plugin"]

_GPUS: Final = re.compile(r"(?i)(?<![a-z])(v?gpus?|cuda|rocm|mig)(?![a-z])")
_OFF: Final = "remove it, or keep it off the pools of the DRA driver by a nodeSelector"
SOCKETS: Final = "/var/lib/kubelet/device-plugins"
"""Directory where device plugins register with the kubelet."""


class Advertiser(Struct, frozen=True, kw_only=True):
    """Something that reports the scheduler of the devices of nodes.

    Attributes:
        driver: the driver whose devices it advertises.
        title: what it is, for messages.
        at: the place that turns it on.
        off: how to turn it off.
        where: the nodes that it chooses by their labels.
        tolerated: the taints that do not keep it off; None for every one.
    """

    resource: Resource
    kind: Kind
    driver: Driver
    title: str
    at: Value
    off: str
    where: RequiredNodeAffinity
    tolerated: Tolerated | None = None

    @property
    def replaces_plugin(self) -> bool:
        """Return whether it is a DRA driver whose vendor has a known device plugin."""
        return self.kind == "dra" and self.driver.resources.device_plugin is not None


def advertisers(stack: Stack) -> list[Advertiser]:
    """Return the advertisers that a program installs, in order."""
    found: list[Advertiser] = []
    for resource in stack.resources:
        for installed in releases(resource):
            found += _of_chart(resource, installed)
        if POD_TYPES.fullmatch(resource.type):
            found += (each for pods in pod_specs(resource) for each in _of_pods(pods))
    return found


def discovers(stack: Stack) -> list[Resource]:
    """Return the charts that label nodes by the devices found on them."""
    installed = [each for resource in stack.of(INSTALLED_TYPES) for each in releases(resource)]
    return [each.resource for each in installed if _discovers(each)]


def plugin_of(installed: ChartRelease) -> DevicePlugin | None:
    """Return the device plugin whose chart is installed; None for other charts."""
    found = (driver.resources.device_plugin for driver in drivers.known())
    return next((each for each in found if each is not None and each.chart == installed.chart_name), None)


def _discovers(installed: ChartRelease) -> bool:
    operator, plugin = installed.operator, plugin_of(installed)
    if operator is not None and installed.value(operator.discovers.key).flag is not False:
        return True
    if plugin is not None and installed.value(plugin.discovers.key).flag:
        return True
    return any(installed.chart_name in driver.resources.discovery_charts for driver in drivers.known())


def _of_chart(resource: Resource, installed: ChartRelease) -> Iterator[Advertiser]:
    driver = installed.installs
    if installed.operator is not None:
        yield from _of_operator(resource, installed, installed.operator)
    elif driver is not None:
        plugin, switch = driver_plugin(installed), driver.resources.publishes
        if plugin is not None and (driver.resources.device_plugin or driver.resources.other_plugins):
            yield Advertiser(
                resource=resource,
                kind="dra",
                driver=driver,
                title="the DRA driver",
                at=installed.chart if switch is None else installed.value(switch.key),
                off="remove it" if switch is None else f"set {switch.key}: false",
                where=plugin.where,
                tolerated=plugin.tolerated,
            )
    else:
        yield from _of_plugin_chart(resource, installed)


def _of_plugin_chart(resource: Resource, installed: ChartRelease) -> Iterator[Advertiser]:
    name = installed.chart_name
    for driver in drivers.known():
        charted = driver.resources.device_plugin
        charted = charted if charted is not None and charted.chart == name else None
        others = [each for each in driver.resources.other_plugins if name in each.charts]
        if charted is None and not others:
            continue
        default = None if charted is None else [Toleration.of(each) for each in charted.tolerations]
        yield Advertiser(
            resource=resource,
            kind="plugin",
            driver=driver,
            title="the device plugin's chart"
            if charted
            else f"the chart of {others[0].title}'s device plugin",
            at=installed.chart,
            off=_OFF,
            where=placement(installed.values, charted.labels if charted else {}),
            tolerated=Tolerated(given=installed.value("tolerations"), otherwise=default),
        )


def _of_operator(resource: Resource, installed: ChartRelease, operator: Operator) -> Iterator[Advertiser]:
    driver = next(each for each in drivers.known() if each.resources.operator is operator)
    if is_on(installed, operator.dra):
        yield Advertiser(
            resource=resource,
            kind="dra",
            driver=driver,
            title=f"{operator.title}'s DRA driver",
            at=installed.value(operator.dra.key),
            off=f"remove {operator.dra.key}",
            where=RequiredNodeAffinity(),
        )
        return
    if is_on(installed, operator.device_plugin):
        version, kept_off = installed.known_version, operator.device_plugin_kept_off
        default = None if version is None else [Toleration.of(each) for each in version.plugin_tolerations]
        on_all = tuple(Requirement(key=key, operator="NotIn", values=("false",)) for key in kept_off)
        yield Advertiser(
            resource=resource,
            kind="plugin",
            driver=driver,
            title=f"{operator.title}'s device plugin",
            at=installed.value(operator.device_plugin.key),
            off=f'set {operator.device_plugin.key}: false, or label the pools {kept_off[-1]}: "false"',
            where=RequiredNodeAffinity(selector=on_all),
            tolerated=Tolerated(given=installed.value(operator.tolerations), otherwise=default),
        )


def _of_pods(pods: PodSpec) -> Iterator[Advertiser]:
    """Find what containers run, whatever declares their pods and whatever the images are called."""
    pods = pods if may_advertise(pods) else quiet(pods)
    for container in (each.value for each in pods.containers):
        for driver, kind in _run_by(container, pods.value):
            by = pods.resource.type.rpartition(":")[2].removesuffix("Patch")
            yield Advertiser(
                resource=pods.resource,
                kind=kind,
                driver=driver,
                title=f"the {'DRA driver' if kind == 'dra' else 'device plugin'}'s {by}",
                at=container.get("image"),
                off=_OFF,
                where=placement(pods.value),
                tolerated=Tolerated(given=pods.value.get("tolerations")),
            )


def _run_by(container: Value, pods: Value) -> Iterator[tuple[Driver, Kind]]:
    """Find whose devices a container advertises, and how; at most one driver's."""
    runs, image = Program.of(container), container.get("image").text or ""
    for driver in drivers.known():
        plugin, others = driver.resources.device_plugin, driver.resources.other_plugins
        if runs.finds(driver.resources.program):
            yield driver, "dra"
            return
        if plugin is not None and _is_run(plugin, container, runs, pods):
            yield driver, "plugin"
            return
        if any(runs.finds(each.programs) or each.programs.search(image) for each in others):
            yield driver, "plugin"
            return
    if reaches_sockets(pods):
        texts = " ".join(str(value.peek) for value in pods.walk() if isinstance(value.peek, str))
        for driver in drivers.known():
            plugin = driver.resources.device_plugin
            named = re.search(rf"(?i)(?<![a-z]){driver.name}(?![a-z])", texts) and _GPUS.search(texts)
            if named and not (plugin is not None and runs.finds(plugin.other_programs)):
                yield driver, "plugin"
                return


def reaches_sockets(pods: Value) -> bool:
    """Return whether pods mount the folder of device plugins' sockets. Looking notes nothing."""
    paths = pods.get("volumes").peek
    listed = cast("list[object]", paths) if isinstance(paths, list) else []
    quiet_paths = (Value(each, (), {}).get("hostPath", "path").peek for each in listed)
    return any(f"{path}/".startswith(f"{SOCKETS}/") for path in quiet_paths)


def _is_run(plugin: DevicePlugin, container: Value, runs: Program, pods: Value) -> bool:
    """Return whether a container is a device plugin: by its program, its image, or its typical arguments."""
    image = container.get("image").text or ""
    if runs.finds(plugin.other_programs):
        return False
    if runs.finds(plugin.programs) or plugin.programs.search(image):
        return True
    if any(plugin.settings.fullmatch(name.text or "") for name in container.every("env", "*", "name")):
        return any(path.text == SOCKETS for path in pods.every("volumes", "*", "hostPath", "path"))
    return plugin.shared_images.search(image) is not None and not any(
        plugin.vendors.search(text) for value in pods.walk() for text in (value.place, str(value.peek))
    )


class Nodes:
    """The pools of a stack's clusters, and what runs on them.

    Attributes:
        homes: the clusters of the stack.
    """

    def __init__(self, stack: Stack) -> None:
        """Find the clusters."""
        self.homes = Homes(stack)
        self._stack = stack
        self._labelling = discovers(stack)

    def with_gpus(self, drivers: Sequence[Advertiser]) -> list[NodePool]:
        """Return the pools with GPUs of drivers in their clusters."""
        near = self._near([driver.resource for driver in drivers])
        return [pool for pool in near if any(pool.has_gpus_in(self._stack, each.driver) for each in drivers)]

    def served(self, plugin: DriverPlugin) -> list[NodePool]:
        """Return the pools whose devices a driver's plugin publishes, if it tolerates their taints."""
        return [
            pool
            for pool in self._near([plugin.resource])
            if plugin.publishes(self._stack, pool) and self.chosen(plugin, pool)
        ]

    def advertise(self, drivers: Sequence[Advertiser], pool: NodePool) -> bool:
        """Return whether one of the drivers may run on a pool and advertise its GPUs."""
        near = any(self.homes.together(pool.resource, driver.resource) for driver in drivers)
        return near and any(self.has_gpus(pool, each) and self.chosen(each, pool) for each in drivers)

    def has_gpus(self, pool: NodePool, advertiser: Advertiser) -> bool:
        """Return whether a pool has the GPUs that something advertises."""
        return pool.has_gpus_in(self._stack, advertiser.driver)

    def chosen(self, found: Advertiser | DriverPlugin, pool: NodePool) -> bool:
        """Return whether the labels of a pool match the node selector."""
        labelled = any(self.homes.together(pool.resource, chart) for chart in self._labelling)
        together = self.homes.together(pool.resource, found.resource)
        labels = pool_labels(pool, discovered=labelled or pool.cloud.labels_gpus)
        return together and found.where.may_match(labels)

    def tolerated(self, found: Advertiser, pool: NodePool) -> bool:
        """Return whether the pods tolerate a pool's declared taints; False if unknown, which is noted."""
        taints = declared_taints(pool)
        if pool.taint_list.possible and pool.taint_list.plain is None:
            return False
        if not taints or found.tolerated is None:
            return True
        return not found.tolerated.unknown and not found.tolerated.missing(taints)

    def _near(self, installed: Sequence[Resource]) -> list[NodePool]:
        return [
            pool
            for resource in self._stack.of(POOL_TYPES)
            if any(self.homes.together(resource, each) for each in installed)
            for pool in pools(resource)
        ]
