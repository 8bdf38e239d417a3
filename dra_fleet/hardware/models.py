"""The catalogue's models of what no cloud has to itself: machines.

Unknown values are None, never a guess; what nothing public says and we chose is marked `assumed`.
"""

from typing import Literal

from dra_fleet.facts.entry import Entry, Fact

OWN = "existing"
"""The `cloud` of machines that no cloud sells; what else one has than is written down is not known."""


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
