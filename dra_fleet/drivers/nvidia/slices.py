"""Prediction of the NVIDIA driver's devices on a pool's node: GPUs, partitions, shares, ComputeDomains."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from dra_fleet.drivers.common.predicting import known_device
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.devices import (
    COMPUTE_DOMAIN_DRIVER,
    GpuOnHost,
    compute_domain_devices,
    nvidia_devices,
)
from dra_fleet.drivers.nvidia.modes import dynamic_devices, with_shares
from dra_fleet.drivers.nvidia.settings import MigSharing
from dra_fleet.kubernetes.cel import UNKNOWN
from dra_fleet.kubernetes.minors import PARTITIONS, is_on, on_from
from dra_fleet.model.nodes import GIVE_SLICES, NodeDevice, Object, Origin, Published
from dra_fleet.model.specs import NUMA_NODE, PCI_BUS_ID, PCIE_ROOT, PublishedDevice, stable_uuid

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.installed import Installed
    from dra_fleet.drivers.nvidia.facts import GpuModel
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import PoolPlan

_PLACES = {PCI_BUS_ID: "string", "pcieBusID": "string", PCIE_ROOT: "string", NUMA_NODE: "int"}
_PER_HOST = frozenset({"uuid", "parentUUID", "driverVersion", "cudaDriverVersion"})
_CHANGING_GATES = ("PassthroughSupport", "FabricManagerPartitioning", "DRAListTypeAttributes")
_UNKNOWN_DOMAINS = (
    "whether the driver that the cluster includes publishes channels of ComputeDomains cannot be predicted; "
    f"{GIVE_SLICES}"
)
_OVERLAPPING = (
    "with feature gate DynamicMIG the driver sends counters that keep partitions apart, and the API server "
    f"of Kubernetes {{minor}} drops them, for its gate {PARTITIONS} is off: pods would get partitions that "
    f"overlap, and all but the first would never start; turn DynamicMIG off, use Kubernetes {{since}}, or "
    f"{GIVE_SLICES}"
)


def predict(pool: PoolPlan, driver: Installed, minor: str) -> Published:
    """Return GPUs or partitions, and channels of ComputeDomains.

    Args:
        pool: the pool.
        driver: the NVIDIA driver as it runs there.
        minor: the cluster's Kubernetes minor.
    """
    name = driver.facts.driver
    if pool.machine.gpu not in nvidia_facts.gpus():
        return Published(known_drivers=frozenset({name}))
    devices, reason, counters = _devices(pool, driver, minor)
    unpredictable = {COMPUTE_DOMAIN_DRIVER: _UNKNOWN_DOMAINS} if driver.is_assumed else dict[str, str]()
    return Published(
        devices=tuple(devices),
        unpredictable={**unpredictable, **({name: reason} if reason else {})},
        counters={name: counters} if counters else {},
        known_drivers=frozenset({name}),
    )


def _devices(
    pool: PoolPlan, driver: Installed, minor: str
) -> tuple[list[NodeDevice], str, tuple[Object, ...]]:
    """Return the devices of a node, the reason if its GPUs are unknown, and their shared counters."""
    machine = pool.machine
    if machine.gpu is None:
        return [], "", ()
    model = nvidia_facts.gpus()[machine.gpu]
    devices: list[NodeDevice] = []
    reason = ""
    counters: tuple[Object, ...] = ()
    if value_at(driver.values, "resources.gpus.enabled", default=True):
        gates = _gates(driver)
        reason = _changing_gate(gates, driver) or _changing_layout(gates, pool, model)
        if not reason:
            found, counters = _gpu_devices(pool, driver, model, gates)
            if counters and not is_on(PARTITIONS, minor):
                counters, reason = (), _OVERLAPPING.format(minor=minor, since=on_from(PARTITIONS))
            shares = str(value_at(driver.values, "consumableShares") or "").strip()
            devices += (
                [with_shares(item, shares) for item in found] if gates.get("ConsumableShares") else found
            )
    if not driver.is_assumed and value_at(driver.values, "resources.computeDomains.enabled", default=True):
        devices += [
            known_device(COMPUTE_DOMAIN_DRIVER, device, frozenset()) for device in compute_domain_devices()
        ]
    return devices, reason, counters


def _gates(driver: Installed) -> dict[str, bool]:
    given = cast("Mapping[str, bool]", value_at(driver.values, "featureGates") or {})
    return {**driver.version.feature_gates, **given}


def _changing_gate(gates: Mapping[str, bool], driver: Installed) -> str:
    """Return the feature gates that make the driver's devices unknown."""
    on = [gate for gate in _CHANGING_GATES if gates.get(gate)]
    if on:
        return f"feature gate {on[0]} changes what the {driver.facts.name} driver publishes; {GIVE_SLICES}"
    return ""


def _changing_layout(gates: Mapping[str, bool], pool: PoolPlan, model: GpuModel) -> str:
    """Return the feature gates that make the future partitions unknown."""
    if not gates.get("DynamicMIG") or model.mig is None or pool.machine.gpu_fraction is not None:
        return ""
    if isinstance(pool.sharing, MigSharing):
        return (
            "with feature gate DynamicMIG the driver destroys the layout's partitions at its start; "
            f"{GIVE_SLICES}"
        )
    if any(profile.placements is None for profile in model.mig.profiles):
        return f"where the partitions of a {model.name} may lie is not public, for DynamicMIG; {GIVE_SLICES}"
    return ""


def _gpu_devices(
    pool: PoolPlan, driver: Installed, model: GpuModel, gates: Mapping[str, bool]
) -> tuple[list[NodeDevice], tuple[Object, ...]]:
    """GPUs or partitions; with DynamicMIG both, and the counters they share.

    A GPU that must be reset to be partitioned stays as it started: whole.
    """
    layout = tuple(sorted(pool.sharing.layout.items())) if isinstance(pool.sharing, MigSharing) else None
    gpus = _hosted(pool, model, layout)
    found = nvidia_devices(gpus, driver_version="0", cuda_version="0", chart=driver.version)
    devices = [_on_gpu(device, driver, pool, model) for device in found]
    mig = model.mig
    if not gates.get("DynamicMIG") or mig is None or mig.needs_reset or pool.machine.gpu_fraction is not None:
        return devices, ()
    return dynamic_devices(
        _hosted(pool, model, None),
        driver.version,
        versions=("0", "0"),
        seen=lambda device: _on_gpu(device, driver, pool, model),
    )


def _hosted(pool: PoolPlan, model: GpuModel, layout: tuple[tuple[str, int], ...] | None) -> list[GpuOnHost]:
    slots = pool.machine.topology
    return [
        GpuOnHost(
            model=model,
            minor=minor,
            uuid=f"GPU-{stable_uuid('example', minor)}",
            pci_bus_id=slots[minor].pci_bus_id if slots else None,
            pcie_root=slots[minor].pcie_root if slots else None,
            numa_node=slots[minor].numa_node if slots else None,
            mig=layout,
        )
        for minor in range(pool.machine.gpus)
    ]


def _unknown_places(machine: Machine) -> Sequence[str]:
    if machine.topology is None:
        return tuple(_PLACES)
    first = machine.topology[0]
    addresses = (PCI_BUS_ID, "pcieBusID") if first.pci_bus_id is None else ()
    return (*addresses, NUMA_NODE) if first.numa_node is None else addresses


def _on_gpu(device: PublishedDevice, driver: Installed, pool: PoolPlan, model: GpuModel) -> NodeDevice:
    known = driver.attributes
    # The addresses of an assumed machine follow its shape: which devices share one is known, its name is not.
    places = frozenset(_PLACES) if pool.machine.assumed else frozenset[str]()
    found = known_device(driver.facts.driver, device, _PER_HOST | places | device.assumed)
    unknown_places = {
        name: {_PLACES[name]: UNKNOWN} for name in _unknown_places(pool.machine) if name in known
    }
    if unknown_places:
        found.seen["attributes"] |= unknown_places
        found.placed["attributes"] |= unknown_places
        found = NodeDevice(
            driver=found.driver,
            name=found.name,
            seen=found.seen,
            placed=found.placed,
            origins={**found.origins, **dict.fromkeys(unknown_places, _unknown())},
        )
    fraction = pool.machine.gpu_fraction
    is_whole = device.attributes.get("type") == "gpu" and fraction is None
    return NodeDevice(
        driver=found.driver,
        name=found.name,
        seen=found.seen,
        placed=found.placed,
        origins=found.origins,
        multiprocessors=model.multiprocessors if is_whole else None,
        part=f"{fraction} of a GPU ({model.name})" if fraction is not None else "",
    )


def _unknown() -> Origin:
    return "unknown"
