"""Accelerators of a program; unknown machines and machines made elsewhere count as accelerators."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from dra_fleet import drivers
from dra_fleet.policy.reading.advertisers import SOCKETS, advertisers
from dra_fleet.policy.reading.charts import INSTALLED_TYPES, releases
from dra_fleet.policy.reading.clouds import CLUSTERS, all_resources, any_of, declared_by
from dra_fleet.policy.reading.homes import Homes
from dra_fleet.policy.reading.partitions import POOL_TYPES, pools
from dra_fleet.policy.reading.pods import POD_TYPES
from dra_fleet.policy.reading.unread import may_have_devices, unread
from dra_fleet.policy.rule import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.clouds.pools import NodePool
    from dra_fleet.clouds.resources import CloudResources, OtherPools
    from dra_fleet.core.declared.resources import Resource, Stack
    from dra_fleet.core.declared.values import Value
    from dra_fleet.policy.reading.charts import ChartRelease
    from dra_fleet.policy.rule import Settings

EVERYWHERE: Final = Parameter(
    name="everywhere",
    schema={"type": "boolean"},
    default=False,
    description="If true, also fail programs without accelerators, DRA objects and drivers.",
)
_DRA: Final = re.compile(r"kubernetes:resource\.k8s\.io/.*|dra-fleet:.*")
_HOLDERS: Final = ("spec", "template", "containers", "resources", "limits", "requests", "resourceClaims")
"""Below one of these that is unknown, devices may be asked for."""
_TEMPLATES: Final = any_of(lambda resources: [each.types for each in resources.machine_templates])


def needs_none(stack: Stack, settings: Settings) -> bool:
    """Return whether nothing in a program allocates devices; never if the policy config sets `everywhere`."""
    return not settings.flag(EVERYWHERE.name) and not may_have_accelerators(stack)


def may_have_accelerators(stack: Stack) -> bool:
    """Return whether a program has or may have an accelerator pool, a DRA object or a driver's chart.

    Unknown values are noted.
    """
    return (
        bool(stack.of(_DRA))
        or any(_may_serve(found) for each in stack.of(INSTALLED_TYPES) for found in releases(each))
        or any(_may_accelerate(stack, pool) for each in stack.of(POOL_TYPES) for pool in pools(each))
        or any(_may_be(cloud, name) for cloud, name in _of_templates(stack))
        or _is_open(stack)
        or any(_asks(each) or may_have_devices(stack, each, what) for each, what in unread(stack))
        or any(_asks(each) for each in stack.of(POD_TYPES))
        or bool(advertisers(stack))
    )


def _may_serve(installed: ChartRelease) -> bool:
    plugins = [driver.resources.device_plugin for driver in drivers.known()]
    plugin_charts = (each.charts for one in drivers.known() for each in one.resources.other_plugins)
    return (
        installed.chart.unknown
        or installed.installs is not None
        or installed.operator is not None
        or any(installed.chart_name in charts for charts in plugin_charts)
        or any(plugin is not None and plugin.chart == installed.chart_name for plugin in plugins)
    )


def _asks(resource: Resource) -> bool:
    """Return whether an object requests devices by claim or extended resource, or advertises some.

    Extended resources: https://kubernetes.io/docs/tasks/configure-pod-container/extended-resource/
    """
    return any(_asks_at(value) for value in resource.properties.walk())


def _asks_at(value: Value) -> bool:
    above, own = (*value.path[-2:-1], ""), (*value.path[-1:], "")
    if value.possible and value.peek is None:
        return own[0] in _HOLDERS
    return (
        (above[0] in ("limits", "requests") and "/" in str(own[0]))
        or (own[0] == "resourceClaims" and bool(value.items))
        or (own[0] == "path" and str(value.peek).startswith(SOCKETS))
    )


def _may_accelerate(stack: Stack, pool: NodePool) -> bool:
    names = pool.machines_in(stack)
    if pool.has_gpus or any(_may_be(pool.cloud, name) for name in names):
        return True
    places = [pool.machines_at, *(pool.get(each.named_at) for each in pool.cloud.machine_templates)]
    return not names and any(place.possible for place in places)


def _may_be(cloud: CloudResources, name: Value) -> bool:
    if name.text is None:
        return not name.absent
    machine = cloud.machines().get(name.text)
    if machine is None:
        return cloud.plain_families.match(name.text) is None
    served = (driver for driver in drivers.known() if driver.resources.known_by == "machines")
    return bool(machine.gpu or machine.unserved) or any(driver.serves(machine) for driver in served)


def _of_templates(stack: Stack) -> Iterator[tuple[CloudResources, Value]]:
    for resource in stack.of(_TEMPLATES):
        for cloud in all_resources():
            for template in cloud.machine_templates:
                if template.types.fullmatch(resource.type):
                    yield cloud, resource.get(*template.machine.split("."))


def _is_open(stack: Stack) -> bool:
    """Return whether pools may be declared elsewhere: a cluster without pools, or pools without cluster."""
    homes, clusters = Homes(stack), stack.of(CLUSTERS)
    described = [each for each in stack.of(POOL_TYPES) if pools(each)] + stack.of(_TEMPLATES)
    return not clusters or any(
        others == "any" or (others == "none" and not any(homes.together(each, cluster) for each in described))
        for cluster in clusters
        for others in [_other_pools(cluster)]
    )


def _other_pools(cluster: Resource) -> OtherPools:
    cloud = declared_by(cluster.type)
    return "none" if cloud is None else cloud.other_pools(cluster)
