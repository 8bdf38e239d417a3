"""Devices of the NVIDIA DRA driver by machine, driver version, MIG layout and chart version.

Pure. The simulated agent feeds it hardware, the proof feeds it plans; neither knows the other.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07 and the charts' tags:
`cmd/gpu-kubelet-plugin/{deviceinfo,mig,nvlib}.go`, `cmd/compute-domain-kubelet-plugin/deviceinfo.go`.
The catalogue has the attributes of each version.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.kubernetes.cel.semver import as_semver
from dra_fleet.model.specs import (
    NUMA_NODE,
    PCI_BUS_ID,
    PCIE_ROOT,
    AttributeValue,
    PublishedDevice,
    VersionAttribute,
    mebibytes,
    stable_uuid,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.nvidia.facts import GpuModel, MigProfile

DRIVER = "gpu.nvidia.com"
COMPUTE_DOMAIN_DRIVER = "compute-domain.nvidia.com"

BRAND = "Nvidia"
GRACE = ("GB", "GH")

Attributes = dict[str, AttributeValue | VersionAttribute]


class MigLayoutImpossible(ValueError):  # noqa: N818 - a state of hardware, not a bug
    """A MIG layout that this GPU cannot have; the message says why."""


class GpuOnHost(Struct, frozen=True, kw_only=True):
    """A physical or virtual GPU of a machine.

    Args:
        model: its catalogue entry.
        minor: the number in `/dev/nvidia<minor>`.
        uuid: such as "GPU-8a10b6f7-…".
        pci_bus_id: such as "0000:10:1c.0"; None where a guest sees none.
        pcie_root: such as "pci0000:10"; None where a guest sees none.
        numa_node: None if the host does not report it.
        mig: its partitions, as (profile, how many); None with MIG mode off. MIG mode on with
            no partitions strands the GPU: nothing is published for it.
    """

    model: GpuModel
    minor: int
    uuid: str
    pci_bus_id: str | None
    pcie_root: str | None
    numa_node: int | None
    mig: tuple[tuple[str, int], ...] | None = None


class PartitionPlacement(Struct, frozen=True, kw_only=True):
    """A partition and the memory slice it starts at."""

    profile: MigProfile
    start: int


class _Discovery(Struct, frozen=True, kw_only=True):
    """Properties of every device that depend on the drivers' versions.

    `names`: the attributes that this version of the DRA driver knows.
    """

    driver_version: str
    cuda_version: str
    chart: ChartVersion
    names: frozenset[str]

    def known(self, attributes: Attributes) -> Attributes:
        """Return the attributes that this version publishes."""
        return {name: value for name, value in attributes.items() if name in self.names}


def nvidia_devices(
    gpus: Sequence[GpuOnHost], *, driver_version: str, cuda_version: str, chart: ChartVersion
) -> list[PublishedDevice]:
    """Return the devices of one node in the order of discovery.

    Args:
        gpus: the machine's GPUs.
        driver_version: of the NVIDIA driver, as `nvidia-smi` prints it: "580.126.09".
        cuda_version: that driver's CUDA version: "13.0".
        chart: the version of the DRA driver that publishes them.

    Raises:
        MigLayoutImpossible: a GPU's layout does not fit it.
    """
    how = _Discovery(
        driver_version=driver_version,
        cuda_version=cuda_version,
        chart=chart,
        names=nvidia_facts.driver().attributes_in(chart.version),
    )
    return [device for gpu in gpus for device in _devices_of(gpu, how)]


def compute_domain_devices() -> list[PublishedDevice]:
    """Return the IMEX channel and daemon of a node: only channel 0 is ever published."""
    return [
        PublishedDevice(name="channel-0", attributes={"type": "channel", "id": 0}),
        PublishedDevice(name="daemon-0", attributes={"type": "daemon", "id": 0}),
    ]


def place(model: GpuModel, layout: Sequence[tuple[str, int]]) -> list[PartitionPlacement]:
    """Return the placements of a layout's partitions on a GPU, the largest first.

    Raises:
        MigLayoutImpossible: an unknown profile, or no way to place them all.
    """
    if model.mig is None:
        if not layout:
            return []
        raise MigLayoutImpossible(f"{model.name} cannot be partitioned: it has no MIG")
    known = {profile.name: profile for profile in model.mig.profiles}
    unknown = sorted({name for name, _ in layout} - set(known))
    if unknown:
        raise MigLayoutImpossible(
            f"{model.name} has no MIG profile {', '.join(unknown)}; it has: {', '.join(known)}"
        )
    requested = [known[name] for name, count in layout for _ in range(count)]
    requested.sort(key=lambda profile: (-profile.memory_slices, profile.name))
    found = _place_all(requested, frozenset(), model.mig.compute_slices)
    if found is None:
        text = ", ".join(f"{count} x {name}" for name, count in layout)
        raise MigLayoutImpossible(f"{model.name} cannot fit {text} at the same time")
    return found


def _place_all(
    requested: Sequence[MigProfile], taken: frozenset[int], compute_left: int
) -> list[PartitionPlacement] | None:
    if not requested:
        return []
    profile = requested[0]
    if profile.compute_slices > compute_left:
        return None
    for start in profile.placements or range(0, 8, profile.memory_slices):
        cells = frozenset(range(start, start + profile.memory_slices))
        if cells & taken:
            continue
        rest = _place_all(requested[1:], taken | cells, compute_left - profile.compute_slices)
        if rest is not None:
            return [PartitionPlacement(profile=profile, start=start), *rest]
    return None


def _devices_of(gpu: GpuOnHost, how: _Discovery) -> list[PublishedDevice]:
    common, assumed = _common(gpu, how)
    placements = sorted(place(gpu.model, gpu.mig or ()), key=lambda placement: placement.start)
    partitions = [
        _partition(gpu, placement, index, how, common=common, assumed=assumed)
        for index, placement in enumerate(placements)
    ]
    if gpu.mig is not None and not how.chart.announces_partitioned_gpus:
        return partitions
    own: Attributes = {"type": "gpu", "uuid": gpu.uuid, "index": gpu.minor, "minor": gpu.minor}
    whole = PublishedDevice(
        name=f"gpu-{gpu.minor}",
        attributes={**how.known(own), **common},
        capacity={"memory": mebibytes(gpu.model.memory_range[0])},
        assumed=assumed | ({"memory"} if gpu.model.memory_mib is None else frozenset[str]()),
        others=_others(gpu.model.memory_range),
    )
    return [whole, *partitions]


def _others(memory: Sequence[int]) -> dict[str, tuple[str, ...]]:
    return {"memory": tuple(map(mebibytes, memory[1:]))} if memory[1:] else {}


def _partition(
    gpu: GpuOnHost,
    placement: PartitionPlacement,
    index: int,
    how: _Discovery,
    *,
    common: Attributes,
    assumed: frozenset[str],
) -> PublishedDevice:
    profile = placement.profile
    counts = {
        "multiprocessors": profile.multiprocessors,
        "copyEngines": profile.copy_engines,
        "decoders": profile.decoders,
        "encoders": profile.encoders,
        "jpegEngines": profile.jpeg_engines,
        "ofaEngines": profile.ofa_engines,
    }
    unknown = {key for key, value in counts.items() if value is None}
    if profile.memory_mib is None:
        unknown.add("memory")
    slices = range(placement.start, placement.start + profile.memory_slices)
    own: Attributes = {
        "type": "mig",
        "profile": profile.name,
        "uuid": f"MIG-{stable_uuid('mig', gpu.uuid, profile.name, placement.start)}",
        "parentUUID": gpu.uuid,
        "index": index,
        "parentIndex": gpu.minor,
    }
    return PublishedDevice(
        name=_partition_name(gpu, placement, how),
        attributes={**how.known(own), **common},
        capacity={
            "memory": mebibytes(profile.memory_range[0]),
            **{key: str(value or 0) for key, value in counts.items()},
            **{f"memorySlice{number}": "1" for number in slices},
        },
        assumed=assumed | unknown,
        others=_others(profile.memory_range),
    )


def _partition_name(gpu: GpuOnHost, placement: PartitionPlacement, how: _Discovery) -> str:
    profile = placement.profile
    number = "unknown" if profile.gi_profile is None else profile.gi_profile
    if how.chart.partition_names == "placement":
        return f"gpu-{gpu.minor}-mig-{number}-{placement.start}-{profile.memory_slices}"
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/mig.go#L111
    label = re.sub(r"[^a-z0-9]+", "-", profile.name.lower().replace(".", "")).strip("-")
    return f"gpu-{gpu.minor}-mig-{label}-{number}-{placement.start}"


def _common(gpu: GpuOnHost, how: _Discovery) -> tuple[Attributes, frozenset[str]]:
    """Return the attributes that a GPU and its partitions share, and those that no public source has."""
    model = gpu.model
    optional: dict[str, AttributeValue | None] = {
        "pcieBusID": gpu.pci_bus_id,
        PCI_BUS_ID: gpu.pci_bus_id,
        PCIE_ROOT: gpu.pcie_root,
        NUMA_NODE: gpu.numa_node,
    }
    attributes: Attributes = {
        "productName": model.product_name or f"NVIDIA {model.name}",
        "brand": model.brand or BRAND,
        "architecture": model.architecture,
        "cudaComputeCapability": VersionAttribute(as_semver(model.compute_capability)),
        "driverVersion": VersionAttribute(as_semver(how.driver_version)),
        "cudaDriverVersion": VersionAttribute(as_semver(how.cuda_version)),
        "addressingMode": _addressing_mode(model),
        **{key: value for key, value in optional.items() if value is not None},
    }
    reported = {"productName": model.product_name, "brand": model.brand, "addressingMode": None}
    unknown = {name for name, value in reported.items() if value is None}
    return how.known(attributes), frozenset(unknown & how.names)


def _addressing_mode(model: GpuModel) -> str:
    """ATS where a Grace CPU shares its memory, else HMM: seen on A100 and GB300, assumed elsewhere."""
    return "ATS" if model.name.startswith(GRACE) else "HMM"
