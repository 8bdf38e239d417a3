"""The catalogue's models of what no cloud has to itself: GPUs, machines, CUDA, the GPU Operator.

Unknown values are None, never a guess; what nothing public says and we chose is marked `assumed`.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from dra_fleet.drivers.common.facts import ChartVersion
from dra_fleet.facts.entry import Entry, Fact

OWN = "existing"
"""The `cloud` of machines that no cloud sells; what else one has than is written down is not known."""


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


class Price(Entry):
    """What a machine costs on demand with Linux, per hour."""

    per_hour: float
    currency: Literal["USD"]
    region: str


class Tpu(Fact):
    """The TPU chips of one node. `topology`: of the slice that is this one node."""

    generation: str
    accelerator: str
    chips: int
    topology: str


class Machine(Entry):
    """A machine type: what one node of it has. Memory in GiB; `topology` is None where nothing is known.

    `gpu_fraction`: its one GPU is a vGPU, that part of a whole one. `managed_mig`: whether the
    cloud makes MIG partitions on it itself. `unserved`: accelerators that no driver of this program serves.
    `mig`: False where MIG cannot be used although the GPU has it. `efa`: network cards with EFA, from card
    `efa_from` on; None where nobody tells. `min_driver`: the branch of the NVIDIA driver its GPUs need.
    `reserved_only`: not sold on demand.
    `accelerator`: what the cloud calls its GPU; `instance_type`: what it calls the machine, where not this.
    """

    name: str
    cloud: str
    gpu: str | None
    gpus: int
    cpus: int
    memory_gib: int | None
    arch: Literal["amd64", "arm64"] | None = None
    gpu_fraction: str | None = None
    managed_mig: bool | None = None
    mig: bool | None = None
    efa: int | None = None
    efa_from: int = 0
    min_driver: str | None = None
    reserved_only: bool = False
    unserved: str | None = None
    accelerator: str | None = None
    instance_type: str | None = None
    tpu: Tpu | None = None
    fabric: str | None = None
    price: Price | None = None
    topology: tuple[GpuSlot, ...] | None = None
    nics: tuple[Nic, ...] = ()


class CudaFacts(Entry):
    """The CUDA version that each branch of the NVIDIA driver brings."""

    branches: Mapping[int, str]


class GpuOperatorVersion(ChartVersion):
    """One version of the GPU Operator's chart and the GPU driver it installs unless told otherwise."""

    feature_gates: Mapping[str, bool] = Field(default_factory=dict)
    classes: tuple[str, ...] = ()
    gpu_driver: str


class GpuOperatorFacts(Entry):
    """The NVIDIA GPU Operator."""

    namespace: str
    versions: tuple[GpuOperatorVersion, ...]

    def version(self, version: str) -> GpuOperatorVersion | None:
        """The entry of a chart version, if it is known."""
        return next((entry for entry in self.versions if entry.version == version), None)
