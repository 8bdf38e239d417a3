"""What the NVIDIA DRA driver publishes for a machine, by driver version, MIG layout and chart version.

Pure. The simulated agent feeds it hardware, the proof feeds it plans; neither knows the other.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07:
`cmd/gpu-kubelet-plugin/{deviceinfo,mig,nvlib}.go`, `cmd/compute-domain-kubelet-plugin/deviceinfo.go`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.drivers.published import (
    NUMA_NODE,
    PCI_BUS_ID,
    PCIE_ROOT,
    AttributeValue,
    PublishedDevice,
    Version,
    mebibytes,
    stable_uuid,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.catalogue.model import GpuModel, MigProfile

DRIVER = "gpu.nvidia.com"
COMPUTE_DOMAIN_DRIVER = "compute-domain.nvidia.com"

BRAND = "Nvidia"
NOTHING: frozenset[str] = frozenset()
GRACE = ("GB", "GH")

Attributes = dict[str, AttributeValue | Version]


class MigLayoutImpossible(ValueError):  # noqa: N818 - a state of hardware, not a bug
    """A MIG layout that this GPU cannot have; the message says why."""


@dataclass(frozen=True, kw_only=True)
class GpuOnHost:
    """One physical (or virtual) GPU of a machine.

    Args:
        model: its catalogue entry.
        minor: the number in `/dev/nvidia<minor>`.
        uuid: such as "GPU-8a10b6f7-…".
        pci_bus_id: such as "0000:10:1c.0"; None where a guest sees none.
        pcie_root: such as "pci0000:10"; None where a guest sees none.
        numa_node: None where the host does not tell.
        mig: the partitions there are, as (profile, how many); None with MIG mode off. MIG mode on with
            no partitions strands the GPU: nothing is published for it.
    """

    model: GpuModel
    minor: int
    uuid: str
    pci_bus_id: str | None
    pcie_root: str | None
    numa_node: int | None
    mig: tuple[tuple[str, int], ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Placement:
    """A partition and the memory slice it starts at."""

    profile: MigProfile
    start: int


def nvidia_devices(
    gpus: Sequence[GpuOnHost], *, driver_version: str, cuda_version: str
) -> list[PublishedDevice]:
    """The devices of one node in the order of discovery.

    Args:
        gpus: the machine's GPUs.
        driver_version: of the NVIDIA driver, as `nvidia-smi` prints it: "580.126.09".
        cuda_version: that driver's CUDA version: "13.0".

    Raises:
        MigLayoutImpossible: a GPU's layout does not fit it.
    """
    return [device for gpu in gpus for device in _devices_of(gpu, driver_version, cuda_version)]


def compute_domain_devices() -> list[PublishedDevice]:
    """The IMEX channel and daemon of a node: only channel 0 is ever published."""
    return [
        PublishedDevice(name="channel-0", attributes={"type": "channel", "id": 0}),
        PublishedDevice(name="daemon-0", attributes={"type": "daemon", "id": 0}),
    ]


def as_semver(version: str) -> str:
    """A dotted version as a driver publishes it: 580.126.09 -> 580.126.9, 13.0 -> 13.0.0."""
    numbers = [str(int(part)) for part in re.findall(r"\d+", version)][:3]
    return ".".join([*numbers, "0", "0"][:3])


def place(model: GpuModel, layout: Sequence[tuple[str, int]]) -> list[Placement]:
    """Where the partitions of a layout lie on a GPU, the largest first.

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
    wanted = [known[name] for name, count in layout for _ in range(count)]
    wanted.sort(key=lambda profile: (-profile.memory_slices, profile.name))
    found = _place_all(wanted, frozenset(), model.mig.compute_slices)
    if found is None:
        text = ", ".join(f"{count} x {name}" for name, count in layout)
        raise MigLayoutImpossible(f"{model.name} has no room for {text} at the same time")
    return found


def _place_all(
    wanted: Sequence[MigProfile], taken: frozenset[int], compute_left: int
) -> list[Placement] | None:
    if not wanted:
        return []
    profile = wanted[0]
    if profile.compute_slices > compute_left:
        return None
    for start in profile.placements or range(0, 8, profile.memory_slices):
        cells = frozenset(range(start, start + profile.memory_slices))
        if cells & taken:
            continue
        rest = _place_all(wanted[1:], taken | cells, compute_left - profile.compute_slices)
        if rest is not None:
            return [Placement(profile=profile, start=start), *rest]
    return None


def _devices_of(gpu: GpuOnHost, driver_version: str, cuda_version: str) -> list[PublishedDevice]:
    common, assumed = _common(gpu, driver_version, cuda_version)
    if gpu.mig is not None:
        placements = sorted(place(gpu.model, gpu.mig), key=lambda placement: placement.start)
        return [_partition(gpu, placement, common, assumed) for placement in placements]
    memory = _memory_of(gpu.model)
    return [
        PublishedDevice(
            name=f"gpu-{gpu.minor}",
            attributes={"type": "gpu", "uuid": gpu.uuid, **common},
            capacity={"memory": memory},
            assumed=assumed | ({"memory"} if gpu.model.memory_mib is None else NOTHING),
        )
    ]


def _memory_of(model: GpuModel) -> str:
    return mebibytes(model.memory_mib if model.memory_mib is not None else model.nominal_gb * 1024)


def _partition(
    gpu: GpuOnHost, placement: Placement, common: Attributes, assumed: frozenset[str]
) -> PublishedDevice:
    profile = placement.profile
    label = re.sub(r"[^a-z0-9]", "", profile.name.lower())
    nominal = int(re.findall(r"(\d+)gb", profile.name)[0]) * 1024
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
    return PublishedDevice(
        name=f"gpu-{gpu.minor}-mig-{label}-{profile.gi_profile or 0}-{placement.start}",
        attributes={
            "type": "mig",
            "profile": profile.name,
            "uuid": f"MIG-{stable_uuid('mig', gpu.uuid, profile.name, placement.start)}",
            "parentUUID": gpu.uuid,
            **common,
        },
        capacity={
            "memory": mebibytes(profile.memory_mib if profile.memory_mib is not None else nominal),
            **{key: str(value or 0) for key, value in counts.items()},
            **{f"memorySlice{number}": "1" for number in slices},
        },
        assumed=assumed | unknown,
    )


def _common(gpu: GpuOnHost, driver_version: str, cuda_version: str) -> tuple[Attributes, frozenset[str]]:
    """What a GPU and its partitions share, and which of it no public source says."""
    model = gpu.model
    optional: dict[str, AttributeValue | None] = {
        PCI_BUS_ID: gpu.pci_bus_id,
        PCIE_ROOT: gpu.pcie_root,
        NUMA_NODE: gpu.numa_node,
    }
    attributes: Attributes = {
        "productName": model.product_name or f"NVIDIA {model.name}",
        "brand": BRAND,
        "architecture": model.architecture,
        "cudaComputeCapability": Version(as_semver(model.compute_capability)),
        "driverVersion": Version(as_semver(driver_version)),
        "cudaDriverVersion": Version(as_semver(cuda_version)),
        "addressingMode": _addressing_mode(model),
        **{key: value for key, value in optional.items() if value is not None},
    }
    unknown = {"addressingMode"} | ({"productName"} if model.product_name is None else NOTHING)
    return attributes, frozenset(unknown)


def _addressing_mode(model: GpuModel) -> str:
    """ATS where a Grace CPU shares its memory, else HMM: seen on A100 and GB300, assumed elsewhere."""
    return "ATS" if model.name.startswith(GRACE) else "HMM"
