"""The devices that one node of each pool will publish, predicted from the plan alone.

What a public source says is documented; what is not known before the machine runs is UNKNOWN, never a guess.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from dra_fleet import clouds, drivers
from dra_fleet.drivers.common.placement import PluginPods
from dra_fleet.drivers.common.predicting import devices_text
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.installed import drivers_of
from dra_fleet.kubernetes.minors import PARTITIONS, SHARES, is_on
from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, some_labels
from dra_fleet.kubernetes.scheduling.taints import mapping
from dra_fleet.model.nodes import (
    GIVE_SLICES,
    MOST_PODS,
    NODE,
    NOTHING,
    ComputeResources,
    NodeGroup,
    NodeShape,
    Published,
)
from dra_fleet.model.specs import slice_specs
from dra_fleet.proof.allocator import Inventory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dra_fleet.drivers.base import Driver
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.kubernetes.scheduling.node_affinity import Answer
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import NodeDevice, Object
    from dra_fleet.model.plan import ClusterPlan, PoolPlan


_EVERYWHERE: Final = ("", "system-node-critical", "system-cluster-critical")
"""The PriorityClasses that every cluster has."""

_KUBERNETES: Final = ("kubernetes.io", "k8s.io")
"""Domains of labels that kubelets and clouds set on every node."""

_KEPT = 10
"""Divisor of a machine's resources for the share that the system may keep."""

_NOT_KNOWN = "whether the driver's plugin runs on the nodes is not known: {why}; {fix}or " + GIVE_SLICES

_LABELS = "its values demand labels that the pool is not known to carry"

_ANY_MEMORY = "1Ei"
"""More than any machine has: where its memory is not known, nothing is rejected for it."""


def predict(cluster: ClusterPlan, named: Collection[str] = ()) -> tuple[NodeGroup, ...]:
    """Predict the nodes of a cluster, one group per pool.

    Args:
        cluster: The plan.
        named: The drivers that the cluster's selectors name; they show which drivers an existing
            cluster has.
    """
    installed = drivers_of(cluster, named)
    doubts = {one.driver: plugin_doubt(one) for one in installed}
    alike: dict[str, Published] = {}
    groups: list[NodeGroup] = []
    for pool in cluster.pools:
        most, _ = resources_of(pool.machine)
        lands: dict[Driver, Answer] = {
            one.driver: plugin_lands(cluster, pool, one, most) for one in installed
        }
        running = [driver for driver in installed if lands[driver.driver] != "no"]
        published = _known_already(pool, running, cluster.kubernetes)
        if published is None:
            published = _published(pool, installed, running, cluster.kubernetes)
            # Devices of machines that differ in nothing that drivers see are matched and placed once.
            published = alike.setdefault(repr(published), published)
            _PREDICTED.append((pool, running, cluster.kubernetes, published))
        published = _where_plugins_land(published, lands, doubts)
        groups.append(
            NodeGroup(
                pool=pool.name,
                shape=_shape(pool, published, given_elsewhere(cluster, pool)),
                least=pool.min_nodes,
                most=pool.max_nodes,
            )
        )
    return tuple(groups)


_PREDICTED: Final = deque[tuple["PoolPlan", "list[Installed]", str, Published]](maxlen=64)
"""Latest predictions. A program proves its cluster again for each claim that it declares."""


def _known_already(pool: PoolPlan, running: list[Installed], minor: str) -> Published | None:
    """Return the prediction for an earlier pool of the same hardware, drivers and Kubernetes version."""
    return next(
        (
            published
            for other, theirs, version, published in reversed(_PREDICTED)
            if version == minor
            and theirs == running
            and (other.machine, other.sharing, other.network_cards, other.devices)
            == (pool.machine, pool.sharing, pool.network_cards, pool.devices)
        ),
        None,
    )


def resources_of(machine: Machine) -> tuple[ComputeResources, ComputeResources]:
    """Return the most that pods may use of a machine, and the amount that is certain.

    The kubelet and DaemonSets keep some of it; how much is not known before the node runs.
    """
    known = machine.memory_gib is not None
    memory = f"{machine.memory_gib}Gi" if known else _ANY_MEMORY
    most = ComputeResources.of(str(machine.cpus), memory, MOST_PODS)
    return most, ComputeResources(
        most.cpu - most.cpu // _KEPT,
        most.memory - most.memory // _KEPT if known else 0,
        most.pods - MOST_PODS // _KEPT,
    )


def _published(
    pool: PoolPlan, installed: Sequence[Installed], running: Sequence[Installed], minor: str
) -> Published:
    known_drivers = [driver.driver.publishes(pool, driver, minor) for driver in running]
    mine = {name for one in installed for name in one.driver.publishers}
    theirs = {item.driver for item in pool.devices} - mine
    if theirs:
        known_drivers.append(devices_text(pool, theirs))
    return Published(
        devices=stored((device for one in known_drivers for device in one.devices), minor),
        unpredictable={name: why for one in known_drivers for name, why in one.unpredictable.items()},
        counters={name: sets for one in known_drivers for name, sets in one.counters.items()},
        known_drivers=frozenset(name for one in known_drivers for name in one.known_drivers),
    )


def _shape(pool: PoolPlan, published: Published, lacks: frozenset[str]) -> NodeShape:
    most, sure = resources_of(pool.machine)
    return NodeShape(
        labels=pool.labels,
        knows_labels=False,
        taints=pool.taints,
        resources=most,
        sure_resources=sure,
        devices=published.devices,
        unpredictable=published.unpredictable,
        counters=published.counters,
        lacks_labels=lacks,
        known_drivers=published.known_drivers,
        in_order=in_order(published.devices, published.counters),
    )


def in_order(devices: Sequence[NodeDevice], counters: Mapping[str, Sequence[Object]]) -> frozenset[str]:
    """Return the drivers of these devices that always publish them in one order."""
    return frozenset(
        name
        for name in {device.driver for device in devices}
        if drivers.keeps_order(name, with_counters=name in counters)
    )


def _where_plugins_land(
    published: Published, lands: Mapping[Driver, Answer], doubts: Mapping[Driver, str]
) -> Published:
    """Return the published devices without those of plugins that do not run on the node, or may not."""
    absent = {name for driver, answer in lands.items() if answer == "no" for name in driver.publishers}
    unsure = {
        name: _not_known(doubts[driver])
        for driver, answer in lands.items()
        if answer == "unknown"
        for name in driver.publishers
    }
    if not absent and not unsure:
        return published
    return published._replace(
        devices=tuple(device for device in published.devices if device.driver not in unsure),
        unpredictable={**published.unpredictable, **unsure},
        known_drivers=published.known_drivers | absent,
    )


def _not_known(doubt: str) -> str:
    fix = "" if doubt else "make them labels of the pool, "
    return _NOT_KNOWN.format(why=doubt or _LABELS, fix=fix)


def plugin_lands(
    cluster: ClusterPlan, pool: PoolPlan, installed: Installed, holds: ComputeResources
) -> Answer:
    """Return whether the plugin's pods are placed on the nodes of a pool.

    If no label contradicts them, the demands of the chart and of this program are taken as met, because
    hardware discovery sets those labels. Whether a stack's own demands are met is unknown.

    Args:
        cluster: the plan.
        pool: one of its pools.
        installed: the driver as it runs there.
        holds: what a node has for pods at most.
    """
    driver = installed.driver
    elsewhere = installed.is_managed and not pool.has_managed(driver.name)
    if elsewhere or (not pool.by_dra and driver.extended_resource and driver.serves(pool.machine)):
        return "no"
    if installed.is_managed or installed.is_assumed:
        return "yes"
    pods = PluginPods.of(driver, installed.version, installed.values)
    given = cluster.settings.drivers[driver.name].values
    released = any(release.driver == driver.facts.driver for release in cluster.releases)
    if (released or not pods.is_default_tolerations) and pods.kept_off_by(pool):
        return "no"
    if not holds.holds(_asked_for(installed)):
        return "no"
    labels = some_labels({**_set_by_kubelets(cluster, pool), **pool.labels}, given_elsewhere(cluster, pool))
    answer = pods.affinity.matches(labels)
    if answer != "unknown":
        return _unless_doubted(installed) if answer == "yes" else answer
    own = RequiredNodeAffinity.of(
        *(value_at(given, driver.plugin_key(key)) for key in ("nodeSelector", "affinity"))
    )
    unknown = [key for key in own.keys if key not in pool.labels]
    usual = all(key.partition("/")[0].endswith(_KUBERNETES) for key in unknown)
    return "unknown" if own.matches(labels) == "unknown" and not usual else _unless_doubted(installed)


def _set_by_kubelets(cluster: ClusterPlan, pool: PoolPlan) -> Mapping[str, str]:
    """Return the labels for a machine: https://kubernetes.io/docs/reference/labels-annotations-taints/."""
    if not clouds.named(cluster.cloud).makes_nodes:
        return {}
    arch = {"kubernetes.io/arch": pool.machine.arch} if pool.machine.arch is not None else {}
    return {**arch, "kubernetes.io/os": "linux", "node.kubernetes.io/instance-type": pool.machine.cloud_type}


def _unless_doubted(installed: Installed) -> Answer:
    return "unknown" if plugin_doubt(installed) else "yes"


def plugin_doubt(installed: Installed) -> str:
    """Return why it is unknown of any node whether the plugin's pods run there; empty if it is known."""
    values, driver = installed.values, installed.driver
    priority = value_at(values, driver.plugin_key("priorityClassName")) or ""
    if priority not in _EVERYWHERE:
        return f"its pods need PriorityClass {priority}, which the stack does not make"
    if value_at(values, "serviceAccount.create") is False:
        return "the chart makes no account for it, and no one knows what another one may do"
    return ""


def _asked_for(installed: Installed) -> ComputeResources:
    containers = mapping(value_at(installed.values, installed.driver.plugin_key("containers")))
    asked = NOTHING
    for name, container in containers.items():
        if name == "init":
            continue
        in_use = mapping(mapping(container).get("resources"))
        amounts = {**mapping(in_use.get("limits")), **mapping(in_use.get("requests"))}
        asked = asked.plus(
            ComputeResources.of(str(amounts.get("cpu", 0)), str(amounts.get("memory", 0)), pods=0)
        )
    return asked


def given_elsewhere(cluster: ClusterPlan, pool: PoolPlan) -> frozenset[str]:
    """Return the labels that other pools of the stack set and this one does not: only the stack sets them."""
    if not clouds.named(cluster.cloud).makes_nodes:
        return frozenset()
    return frozenset(key for other in cluster.pools for key in other.labels) - frozenset(pool.labels)


def stored(devices: Iterable[NodeDevice], minor: str) -> tuple[NodeDevice, ...]:
    """Return the devices as an API server of a Kubernetes version stores them.

    Args:
        devices: as the driver sends them.
        minor: the cluster's Kubernetes minor.
    """
    partitions, shares = is_on(PARTITIONS, minor), is_on(SHARES, minor)
    if partitions and shares:
        return tuple(devices)
    return tuple(
        replace(
            device,
            seen=_kept(device.seen, partitions=partitions, shares=shares),
            placed=_kept(device.placed, partitions=partitions, shares=shares),
        )
        for device in devices
    )


def _kept(body: Object, *, partitions: bool, shares: bool) -> Object:
    kept = dict(body)
    if not partitions:
        kept.pop("consumesCounters", None)
    if not shares:
        kept.pop("allowMultipleAllocations", None)
        if "capacity" in kept:
            kept["capacity"] = {
                name: {key: value for key, value in item.items() if key != "requestPolicy"}
                for name, item in kept["capacity"].items()
            }
    return kept


@lru_cache(maxsize=4096)
def inventory_of(shape: NodeShape) -> Inventory:
    """Return the inventory of a node, built once for all questions about it."""
    by_driver: dict[str, dict[str, list[Object]]] = {}
    for device in shape.devices:
        by_driver.setdefault(device.driver, {}).setdefault(device.group, []).append(device.placed)
    return Inventory(
        {"metadata": {"name": f"{driver}-{number:03}"}, "spec": spec}
        for driver, groups in sorted(by_driver.items())
        for number, spec in enumerate(_specs(shape, driver, groups))
    )


def _specs(shape: NodeShape, driver: str, groups: Mapping[str, list[Object]]) -> list[Object]:
    """Slices as the driver splits them: counters and one for each group, or all devices together."""
    if driver not in shape.counters:
        return slice_specs(driver, NODE, [device for group in groups.values() for device in group], 1)
    pool = {"name": NODE, "generation": 1, "resourceSliceCount": len(groups) + 1}
    base: Object = {"driver": driver, "nodeName": NODE, "pool": pool}
    return [
        {**base, "sharedCounters": list(shape.counters[driver])},
        *({**base, "devices": devices} for devices in groups.values()),
    ]
