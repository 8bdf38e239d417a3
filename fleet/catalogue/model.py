"""The catalogue's models: GPU models, machines, and everything `load()` returns.

Unknown values are None, never a guess; what nothing public says and we chose is marked `assumed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fleet.catalogue.drivers import DriverFacts
from fleet.catalogue.entry import Entry, Fact
from fleet.catalogue.kubernetes import KubernetesFacts


class MigProfile(Fact):
    """A MIG profile of one GPU model.

    Sizes are in slices of the GPU; `memory_mib` and `multiprocessors` are what the partition reports.
    `placements` are the memory slices at which an instance may begin, `gi_profile` is the GPU instance
    profile's id in NVML.
    """

    name: str
    max_instances: int
    compute_slices: int
    memory_slices: int
    memory_mib: int | None
    multiprocessors: int | None
    gi_profile: int | None
    placements: tuple[int, ...] | None
    copy_engines: int | None = None
    decoders: int | None = None
    encoders: int | None = None
    jpeg_engines: int | None = None
    ofa_engines: int | None = None


class MigFacts(Fact):
    """How a GPU model can be partitioned, and how many slices its partitions may sum to."""

    compute_slices: int
    memory_slices: int
    needs_reset: bool
    profiles: tuple[MigProfile, ...]

    def profile(self, name: str) -> MigProfile | None:
        """The profile of that name, if the GPU has it."""
        return next((profile for profile in self.profiles if profile.name == name), None)


class GpuModel(Entry):
    """A GPU model as its driver reports it. Memory in MiB: `memory_mib` is reported, `nominal_gb` is sold."""

    name: str
    product_name: str | None
    architecture: str
    compute_capability: str
    nominal_gb: int
    memory_mib: int | None
    multiprocessors: int | None
    mig: MigFacts | None


class GpuSlot(Fact):
    """Where one GPU of a machine sits."""

    pci_bus_id: str
    pcie_root: str
    numa_node: int


class Nic(Fact):
    """A network interface of a machine and where it sits."""

    name: str
    pci_bus_id: str
    pcie_root: str
    numa_node: int
    rdma: bool


class Machine(Entry):
    """A machine type: what one node of it has. Memory in GiB; `topology` is None where nothing is known."""

    name: str
    cloud: Literal["existing"]
    gpu: str | None
    gpus: int
    cpus: int
    memory_gib: int
    topology: tuple[GpuSlot, ...] | None = None
    nics: tuple[Nic, ...] = ()


class CudaFacts(Entry):
    """The CUDA version that each branch of the NVIDIA driver brings."""

    branches: Mapping[int, str]


class Catalogue(Fact):
    """All facts."""

    kubernetes: KubernetesFacts
    gpus: Mapping[str, GpuModel]
    machines: Mapping[str, Machine]
    drivers: Mapping[str, DriverFacts]
    cuda: CudaFacts
