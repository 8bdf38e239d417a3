"""The devices that one node of each pool will publish, predicted from the plan alone.

What a public source says is documented; what is not known before the machine runs is UNKNOWN, never a guess.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from fleet import catalogue
from fleet.drivers.example_devices import example_devices
from fleet.drivers.nvidia_devices import (
    COMPUTE_DOMAIN_DRIVER,
    GpuOnHost,
    compute_domain_devices,
    nvidia_devices,
)
from fleet.drivers.published import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT, PublishedDevice, stable_uuid
from fleet.drivers.values import value_at
from fleet.proof.cel import UNKNOWN
from fleet.proof.explain import RECORD
from fleet.proof.shapes import MOST_PODS, NodeGroup, Object, Origin, Room, Shape, ShapeDevice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from fleet.catalogue.drivers import ChartVersion, DriverFacts
    from fleet.catalogue.model import GpuModel, Machine
    from fleet.plan.model import ChartValues, ClusterPlan, PoolPlan

_KEPT = 10
"""One part of so many is taken to be the system's own."""
_ANY_MEMORY = "1Ei"
"""More than any machine has: where its memory is not known, nothing is refused for it."""
_PLACES = {PCI_BUS_ID: "string", PCIE_ROOT: "string", NUMA_NODE: "int"}
_PER_HOST = frozenset({"uuid", "parentUUID", "driverVersion", "cudaDriverVersion"})
_NVIDIA_SINCE = {PCI_BUS_ID: "25.12.0", "addressingMode": "25.12.0", NUMA_NODE: "0.5.0"}
_NVIDIA_CHANGING_GATES = (
    "DynamicMIG",
    "PassthroughSupport",
    "FabricManagerPartitioning",
    "DRAListTypeAttributes",
    "ConsumableShares",
)


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A driver that runs on a cluster, by this program's release or by somebody else's."""

    facts: DriverFacts
    version: ChartVersion
    values: ChartValues


class Published(NamedTuple):
    """What drivers publish on a node, and why that of some cannot be told."""

    devices: tuple[ShapeDevice, ...]
    unpredictable: Mapping[str, str]


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
            published = _published(pool, running)
            known.append((pool, running, published))
        groups.append(
            NodeGroup(
                pool=pool.name, shape=_shape(pool, published), least=pool.min_nodes, most=pool.max_nodes
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
            for other, drivers, published in known
            if drivers == running and other.machine == pool.machine and other.sharing == pool.sharing
        ),
        None,
    )


def drivers_of(cluster: ClusterPlan, named: Collection[str] = ()) -> list[Installed]:
    """The drivers of a cluster; where it brings its own, the newest known chart of each that is asked for."""
    drivers = catalogue.load().drivers
    if not cluster.settings.drivers:
        return [
            Installed(facts=facts, version=facts.versions[-1], values={})
            for name, facts in drivers.items()
            if name == "nvidia" or facts.driver in named
        ]
    released = {release.driver: release.values for release in cluster.releases}
    found: list[Installed] = []
    for name, settings in sorted(cluster.settings.drivers.items()):
        facts = drivers[name]
        version = facts.version(settings.version)
        if version is not None:
            values = released.get(facts.driver, settings.values)
            found.append(Installed(facts=facts, version=version, values=values))
    return found


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


def _published(pool: PoolPlan, running: Sequence[Installed]) -> Published:
    devices: list[ShapeDevice] = []
    unpredictable: dict[str, str] = {}
    for driver in running:
        predicted = _nvidia if driver.facts.name == "nvidia" else _example
        found, reason = predicted(pool, driver)
        devices += found
        if reason:
            unpredictable[driver.facts.driver] = reason
    return Published(tuple(devices), unpredictable)


def _shape(pool: PoolPlan, published: Published) -> Shape:
    most, sure = rooms_of(pool.machine)
    return Shape(
        labels=pool.labels,
        knows_labels=False,
        taints=pool.taints,
        room=most,
        sure_room=sure,
        devices=published.devices,
        unpredictable=published.unpredictable,
    )


def _runs_on(pool: PoolPlan, driver: Installed) -> bool:
    """Whether the driver's pods may go to the pool's nodes, as far as the pool's labels tell."""
    selector = cast("Mapping[str, str]", value_at(driver.values, "kubeletPlugin.nodeSelector") or {})
    return all(pool.labels.get(key, value) == value for key, value in selector.items())


def _nvidia(pool: PoolPlan, driver: Installed) -> tuple[list[ShapeDevice], str]:
    machine = pool.machine
    if machine.gpu is None:
        return [], ""
    model = catalogue.load().gpus[machine.gpu]
    devices: list[ShapeDevice] = []
    reason = ""
    if value_at(driver.values, "resources.gpus.enabled", default=True):
        reason = _changing_gate(driver)
        published = [] if reason else _gpus(pool, model)
        devices += [_on_gpu(device, driver, pool, model) for device in published]
    if value_at(driver.values, "resources.computeDomains.enabled", default=True):
        devices += [_known(COMPUTE_DOMAIN_DRIVER, device, frozenset()) for device in compute_domain_devices()]
    return devices, reason


def _changing_gate(driver: Installed) -> str:
    given = cast("Mapping[str, bool]", value_at(driver.values, "featureGates") or {})
    gates = {**driver.version.feature_gates, **given}
    on = [gate for gate in _NVIDIA_CHANGING_GATES if gates.get(gate)]
    if not on:
        return ""
    return f"feature gate {on[0]} changes what the {driver.facts.name} driver publishes; {RECORD}"


def _gpus(pool: PoolPlan, model: GpuModel) -> list[PublishedDevice]:
    layout = tuple(sorted(pool.sharing.layout.items())) if pool.sharing.strategy == "mig" else None
    slots = pool.machine.topology
    gpus = [
        GpuOnHost(
            model=model,
            minor=minor,
            uuid=f"GPU-{stable_uuid('stand-in', minor)}",
            pci_bus_id=slots[minor].pci_bus_id if slots else None,
            pcie_root=slots[minor].pcie_root if slots else None,
            numa_node=slots[minor].numa_node if slots else None,
            mig=layout,
        )
        for minor in range(pool.machine.gpus)
    ]
    return nvidia_devices(gpus, driver_version="0", cuda_version="0")


def _on_gpu(device: PublishedDevice, driver: Installed, pool: PoolPlan, model: GpuModel) -> ShapeDevice:
    versions = [version.version for version in driver.facts.versions]
    age = versions.index(driver.version.version)
    absent = {name for name, since in _NVIDIA_SINCE.items() if age < versions.index(since)}
    # The addresses of an assumed machine follow its shape: which devices share one is known, its name is not.
    places = frozenset(_PLACES) if pool.machine.assumed else frozenset[str]()
    found = _known(driver.facts.driver, device, _PER_HOST | places | device.assumed, absent)
    if pool.machine.topology is None:
        nobody = {name: {kind: UNKNOWN} for name, kind in _PLACES.items() if name not in absent}
        found.seen["attributes"] |= nobody
        found.placed["attributes"] |= nobody
        found = ShapeDevice(
            driver=found.driver,
            name=found.name,
            seen=found.seen,
            placed=found.placed,
            origins={**found.origins, **dict.fromkeys(nobody, _unknown())},
        )
    is_whole = device.attributes.get("type") == "gpu"
    return ShapeDevice(
        driver=found.driver,
        name=found.name,
        seen=found.seen,
        placed=found.placed,
        origins=found.origins,
        multiprocessors=model.multiprocessors if is_whole else None,
    )


def _unknown() -> Origin:
    return "unknown"


def _known(
    driver: str, device: PublishedDevice, unknown: frozenset[str], absent: Collection[str] = ()
) -> ShapeDevice:
    """A predicted device: `unknown` values stand in for themselves, `absent` ones are not published."""
    placed = device.to_object()
    placed["attributes"] = {name: value for name, value in placed["attributes"].items() if name not in absent}
    attributes: Object = {
        name: dict.fromkeys(value, UNKNOWN) if name in unknown else value
        for name, value in placed["attributes"].items()
    }
    seen: Object = {**placed, "attributes": attributes}
    capacity: dict[str, Any] = placed.get("capacity", {})
    if capacity:
        seen["capacity"] = {
            name: {"value": UNKNOWN} if name in unknown else value for name, value in capacity.items()
        }
    origins: dict[str, Origin] = {
        name: "unknown" if name in unknown else "documented" for name in (*attributes, *capacity)
    }
    return ShapeDevice(driver=driver, name=device.name, seen=seen, placed=placed, origins=origins)


def _example(pool: PoolPlan, driver: Installed) -> tuple[list[ShapeDevice], str]:
    del pool
    values = driver.values
    changed = [
        key
        for key, usual in (
            ("deviceProfile", "gpu"),
            ("kubeletPlugin.gpuPartitions", 0),
            ("gpuAllowMultipleAllocations", False),
            ("driverName", "gpu.example.com"),
        )
        if value_at(values, key) not in (None, "", usual)
    ]
    if changed:
        return [], f"value {changed[0]} changes what the {driver.facts.name} driver publishes; {RECORD}"
    count = cast("int", value_at(values, "kubeletPlugin.numDevices", default=8))
    devices = example_devices(node="stand-in", count=count)
    return [_known(driver.facts.driver, device, frozenset({"uuid"})) for device in devices], ""
