"""The devices that one node of each pool will publish, predicted from the plan alone.

What a public source says is documented; what is not known before the machine runs is UNKNOWN, never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet import clouds, drivers
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.installed import drivers_of
from dra_fleet.model.nodes import MOST_PODS, ComputeResources, NodeGroup, NodeShape, Published
from dra_fleet.proof.supply.stored import stored

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.nodes import NodeDevice, Object
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

_KEPT = 10
"""One part of so many is taken to be the system's own."""
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
    known: list[tuple[PoolPlan, list[Installed], Published]] = []
    groups: list[NodeGroup] = []
    for pool in cluster.pools:
        running = [driver for driver in installed if _runs_on(pool, driver)]
        published = _known_already(pool, running, known)
        if published is None:
            published = _published(pool, running, cluster.kubernetes)
            known.append((pool, running, published))
        groups.append(
            NodeGroup(
                pool=pool.name,
                shape=_shape(pool, published, _given_elsewhere(cluster, pool)),
                least=pool.min_nodes,
                most=pool.max_nodes,
            )
        )
    return tuple(groups)


def _given_elsewhere(cluster: ClusterPlan, pool: PoolPlan) -> frozenset[str]:
    """The labels that other pools of the stack's own have and this one has not: nobody else sets them."""
    if not clouds.named(cluster.cloud).makes_nodes:
        return frozenset()
    return frozenset(key for other in cluster.pools for key in other.labels) - frozenset(pool.labels)


def _known_already(
    pool: PoolPlan, running: list[Installed], known: Sequence[tuple[PoolPlan, list[Installed], Published]]
) -> Published | None:
    """What an earlier pool of the same hardware publishes, so that what follows from it is found once."""
    return next(
        (
            published
            for other, theirs, published in known
            if theirs == running
            and (other.machine, other.sharing, other.efa) == (pool.machine, pool.sharing, pool.efa)
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


def _published(pool: PoolPlan, running: Sequence[Installed], minor: str) -> Published:
    """What the drivers publish on one node of a pool, as the API server of the minor stores it."""
    told = [driver.driver.publishes(pool, driver, minor) for driver in running]
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


def _runs_on(pool: PoolPlan, installed: Installed) -> bool:
    """Whether the driver's pods may go to the pool's nodes, as far as the pool's labels tell."""
    key = installed.driver.plugin_key("nodeSelector")
    selector = cast("Mapping[str, str]", value_at(installed.values, key) or {})
    return all(pool.labels.get(key, value) == value for key, value in selector.items())
