"""The devices that NVIDIA's driver may publish: whole GPUs of every model and every partition of each."""

from __future__ import annotations

from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.common.known_devices import KnownDevice
from dra_fleet.drivers.common.predicting import one_of
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.devices import DRIVER, GpuOnHost, nvidia_devices
from dra_fleet.kubernetes.cel import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.drivers.nvidia.facts import GpuModel
    from dra_fleet.model.published import PublishedDevice

_DRIVER_VERSION: Final = "580.126.09"
_HOST: Final = ("uuid", "parentUUID", "driverVersion", "cudaDriverVersion")
"""What differs from host to host: no verdict may rest on a value of it."""
_WHOLE: Final = "gpu"
_PARTITION: Final = "mig"


@cache
def whole_gpus() -> tuple[KnownDevice, ...]:
    """Every GPU model, unpartitioned."""
    return tuple(
        _known(model, device, "")
        for model in nvidia_facts.gpus().values()
        for device in _published(model, None)
    )


def partitions() -> Iterator[KnownDevice]:
    """Every MIG partition of every GPU model, those of a model made when it is first come to."""
    return chain.from_iterable(map(_partitions_of, nvidia_facts.gpus()))


@cache
def _partitions_of(name: str) -> tuple[KnownDevice, ...]:
    model = nvidia_facts.gpus()[name]
    profiles = model.mig.profiles if model.mig is not None else ()
    return tuple(_known(model, _published(model, ((item.name, 1),))[0], item.name) for item in profiles)


def _published(model: GpuModel, mig: tuple[tuple[str, int], ...] | None) -> list[PublishedDevice]:
    driver = nvidia_facts.driver()
    gpu = GpuOnHost(
        model=model, minor=0, uuid="GPU-0", pci_bus_id=None, pcie_root=None, numa_node=None, mig=mig
    )
    return nvidia_devices(
        [gpu],
        driver_version=_DRIVER_VERSION,
        cuda_version=nvidia_facts.cuda_version_of(_DRIVER_VERSION),
        chart=driver.versions[-1],
    )


@cache
def _only_of_partitions() -> frozenset[str]:
    """The attributes that no whole GPU has."""
    return frozenset(
        item.name
        for item in nvidia_facts.driver().attributes
        if _WHOLE not in (*item.always, *item.sometimes)
    )


def _known(model: GpuModel, published: PublishedDevice, profile: str) -> KnownDevice:
    device = published.to_object()
    unsure = {*_HOST, *published.assumed}
    attributes = {name: UNKNOWN if name in unsure else value for name, value in device["attributes"].items()}
    capacity = {
        name: UNKNOWN if name in unsure else one_of(value, published.others.get(name, ()))
        for name, value in device.get("capacity", {}).items()
    }
    facts = nvidia_facts.driver()
    kind = _PARTITION if profile else _WHOLE
    for item in facts.attributes:  # what only some hosts or versions of the driver publish
        if kind in item.sometimes:
            attributes.setdefault(item.name, UNKNOWN)
    for item in facts.capacities:
        if kind in item.sometimes:
            capacity.setdefault(item.name, UNKNOWN)
    name = model.product_name or model.name
    own = {name: value for name, value in attributes.items() if name not in _only_of_partitions()}
    return KnownDevice(
        title=f"{profile} of {name}" if profile else name,
        driver=DRIVER,
        device={**device, "attributes": attributes, "capacity": capacity},
        whole_attributes={**own, "type": {"string": _WHOLE}},
    )
