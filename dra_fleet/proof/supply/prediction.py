"""The devices that one node of each pool will publish, predicted from the plan alone.

What a public source says is documented; what is not known before the machine runs is UNKNOWN, never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.drivers.common.told_devices import told_devices
from dra_fleet.drivers.installed import drivers_of
from dra_fleet.model.nodes import GIVE_SLICES, MOST_PODS, ComputeResources, NodeGroup, NodeShape, Published
from dra_fleet.proof.supply.placement import given_elsewhere, plugin_doubt, plugin_lands
from dra_fleet.proof.supply.stored import stored

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dra_fleet.drivers.base import Driver
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.kubernetes.scheduling.node_affinity import Answer
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import NodeDevice, Object
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

_KEPT = 10
"""One part of so many is taken to be the system's own."""
_NOT_KNOWN = "whether the driver's plugin runs on the nodes is not known: {why}; {fix}or " + GIVE_SLICES
_LABELS = "its values demand labels that the pool is not known to carry"
_ANY_MEMORY = "1Ei"
"""More than any machine has: where its memory is not known, nothing is refused for it."""


def predict(cluster: ClusterPlan, named: Collection[str] = ()) -> tuple[NodeGroup, ...]:
    """The nodes of a cluster, one group per pool.

    Args:
        cluster: The plan.
        named: The drivers that the cluster's selectors name; they tell which drivers a cluster has that
            brings its own.
    """
    installed = drivers_of(cluster, named)
    doubts = {one.driver: plugin_doubt(one) for one in installed}
    known: list[tuple[PoolPlan, list[Installed], Published]] = []
    alike: dict[str, Published] = {}
    groups: list[NodeGroup] = []
    for pool in cluster.pools:
        most, _ = resources_of(pool.machine)
        lands: dict[Driver, Answer] = {
            one.driver: plugin_lands(cluster, pool, one, most) for one in installed
        }
        running = [driver for driver in installed if lands[driver.driver] != "no"]
        published = _known_already(pool, running, known)
        if published is None:
            published = _published(pool, installed, running, cluster.kubernetes)
            # Devices of machines that differ in nothing that drivers see are matched and placed once.
            published = alike.setdefault(repr(published), published)
            known.append((pool, running, published))
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


def _known_already(
    pool: PoolPlan, running: list[Installed], known: Sequence[tuple[PoolPlan, list[Installed], Published]]
) -> Published | None:
    """What an earlier pool of the same hardware publishes, so that what follows from it is found once."""
    return next(
        (
            published
            for other, theirs, published in known
            if theirs == running
            and (other.machine, other.sharing, other.network_cards, other.devices)
            == (pool.machine, pool.sharing, pool.network_cards, pool.devices)
        ),
        None,
    )


def resources_of(machine: Machine) -> tuple[ComputeResources, ComputeResources]:
    """What pods may take of a machine at most, and what is left to them for certain.

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
    """What the drivers publish on one node of a pool, as the API server of the minor stores it."""
    told = [driver.driver.publishes(pool, driver, minor) for driver in running]
    ours = {name for one in installed for name in one.driver.publishers}
    theirs = {item.driver for item in pool.devices} - ours
    if theirs:
        told.append(told_devices(pool, theirs))
    return Published(
        devices=stored((device for one in told for device in one.devices), minor),
        unpredictable={name: why for one in told for name, why in one.unpredictable.items()},
        counters={name: sets for one in told for name, sets in one.counters.items()},
        told=frozenset(name for one in told for name in one.told),
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
        told=published.told,
        in_order=in_order(published.devices, published.counters),
    )


def in_order(devices: Sequence[NodeDevice], counters: Mapping[str, Sequence[Object]]) -> frozenset[str]:
    """The drivers among those of some devices that always publish them in one order."""
    return frozenset(
        name
        for name in {device.driver for device in devices}
        if drivers.keeps_order(name, with_counters=name in counters)
    )


def _where_plugins_land(
    published: Published, lands: Mapping[Driver, Answer], doubts: Mapping[Driver, str]
) -> Published:
    """What is published where plugins do not come, or may not."""
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
        told=published.told | absent,
    )


def _not_known(doubt: str) -> str:
    fix = "" if doubt else "make them labels of the pool, "
    return _NOT_KNOWN.format(why=doubt or _LABELS, fix=fix)
