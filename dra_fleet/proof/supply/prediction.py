"""The devices that one node of each pool will publish, predicted from the plan alone.

What a public source says is documented; what is not known before the machine runs is UNKNOWN, never a guess.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from dra_fleet.drivers.common.installed import drivers_of
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.efa.devices import PLACES, efa_devices
from dra_fleet.drivers.example.slices import example_devices_of
from dra_fleet.drivers.nvidia.devices import COMPUTE_DOMAIN_DRIVER
from dra_fleet.drivers.nvidia.slices import known_device, nvidia_devices_of
from dra_fleet.drivers.tpu.devices import tpu_devices
from dra_fleet.kubernetes.dropped_fields import stored
from dra_fleet.model.nodes import GIVE_SLICES, MOST_PODS, NodeGroup, Object, Room, Shape, ShapeDevice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dra_fleet.drivers.common.installed import Installed
    from dra_fleet.hardware.models import Machine
    from dra_fleet.model.plan import ClusterPlan, PoolPlan

_KEPT = 10
"""One part of so many is taken to be the system's own."""
_ANY_MEMORY = "1Ei"
"""More than any machine has: where its memory is not known, nothing is refused for it."""
_UNKNOWN_DOMAINS = (
    "whether the driver that the cluster brings publishes channels of ComputeDomains cannot be predicted; "
    f"{GIVE_SLICES}"
)


class Published(NamedTuple):
    """What drivers publish on a node, and why that of some cannot be told."""

    devices: tuple[ShapeDevice, ...]
    unpredictable: Mapping[str, str]
    counters: Mapping[str, tuple[Object, ...]]
    told: frozenset[str] = frozenset()


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
    if cluster.cloud == "existing":
        return frozenset()
    return frozenset(key for other in cluster.pools for key in other.labels) - frozenset(pool.labels)


def _known_already(
    pool: PoolPlan, running: list[Installed], known: Sequence[tuple[PoolPlan, list[Installed], Published]]
) -> Published | None:
    """What an earlier pool of the same hardware publishes, so that what follows from it is found once."""
    return next(
        (
            published
            for other, drivers, published in known
            if drivers == running
            and (other.machine, other.sharing, other.efa) == (pool.machine, pool.sharing, pool.efa)
        ),
        None,
    )


def rooms_of(machine: Machine) -> tuple[Room, Room]:
    """What pods may take of a machine at most, and what is left to them for certain.

    The kubelet and DaemonSets keep some of it; how much is not known before the node runs.
    """
    known = machine.memory_gib is not None
    most = Room.of(str(machine.cpus), f"{machine.memory_gib}Gi" if known else _ANY_MEMORY, MOST_PODS)
    return most, Room(
        most.cpu - most.cpu // _KEPT,
        most.memory - most.memory // _KEPT if known else 0,
        most.pods - MOST_PODS // _KEPT,
    )


def _published(pool: PoolPlan, running: Sequence[Installed], minor: str) -> Published:
    devices: list[ShapeDevice] = []
    unpredictable: dict[str, str] = {}
    counters: dict[str, tuple[Object, ...]] = {}
    for driver in running:
        if driver.facts.name == "nvidia":
            found, reason, sets = nvidia_devices_of(pool, driver, minor)
            if driver.is_assumed and pool.machine.gpu is not None:
                unpredictable[COMPUTE_DOMAIN_DRIVER] = _UNKNOWN_DOMAINS
        elif driver.facts.name == "tpu":
            found, reason, sets = _tpu(pool, driver), "", ()
        elif driver.facts.name == "efa":
            found, reason, sets = *_efa(pool, driver), ()
        else:
            found, reason, sets = example_devices_of(driver, minor)
        devices += stored(found, minor)
        if reason:
            unpredictable[driver.facts.driver] = reason
        if sets:
            counters[driver.facts.driver] = sets
    # Cards of other clouds are none of AWS's, and their driver has the same name.
    told = frozenset(item.facts.driver for item in running if _is_at_home(pool, item))
    return Published(tuple(devices), unpredictable, counters, told)


def _is_at_home(pool: PoolPlan, driver: Installed) -> bool:
    return driver.facts.name != "efa" or pool.machine.cloud == "eks"


def _shape(pool: PoolPlan, published: Published, lacks: frozenset[str]) -> Shape:
    most, sure = rooms_of(pool.machine)
    return Shape(
        labels=pool.labels,
        knows_labels=False,
        taints=pool.taints,
        room=most,
        sure_room=sure,
        devices=published.devices,
        unpredictable=published.unpredictable,
        counters=published.counters,
        lacks_labels=lacks,
        told=published.told,
    )


def _runs_on(pool: PoolPlan, driver: Installed) -> bool:
    """Whether the driver's pods may go to the pool's nodes, as far as the pool's labels tell."""
    selector = cast("Mapping[str, str]", value_at(driver.values, "kubeletPlugin.nodeSelector") or {})
    return all(pool.labels.get(key, value) == value for key, value in selector.items())


def _tpu(pool: PoolPlan, driver: Installed) -> list[ShapeDevice]:
    tpu = pool.machine.tpu
    if tpu is None:
        return []
    devices = tpu_devices(
        node="stand-in",
        generation=tpu.generation,
        accelerator=tpu.accelerator,
        chips=tpu.chips,
        topology=tpu.topology,
    )
    return [known_device(driver.facts.driver, device, frozenset({"uuid"})) for device in devices]


def _efa(pool: PoolPlan, driver: Installed) -> tuple[list[ShapeDevice], str]:
    """Network cards; where they hang in the machine is not known before it runs."""
    name = driver.facts.driver
    if driver.is_assumed:
        # Other builds of the driver publish other cards, and other networks.
        return [], f"what driver {name} publishes cannot be predicted; {GIVE_SLICES}"
    return [known_device(name, device, PLACES) for device in efa_devices(cards=pool.efa, roots=())], ""
