"""The catalogue's models of what no cloud has to itself: machines.

Unknown values are None, never a guess; what nothing public says and we chose is marked `assumed`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import Field

from dra_fleet.core.facts import Amount, Entry, Fact

FactT = TypeVar("FactT", bound=Fact)

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

    per_hour: Annotated[float, Field(ge=0, strict=True)]
    currency: Literal["USD"]
    region: str


class Machine(Entry):
    """A machine type: what one node of it has. Memory in GiB; `topology` is None where nothing is known.

    `gpu_fraction`: its one GPU is a vGPU, that part of a whole one. `unserved`: accelerators that no
    driver of this program serves. `reserved_only`: not sold on demand.
    `accelerator`: what the cloud calls its GPU; `instance_type`: what it calls the machine, where not this.
    `topology_source`: the public recording that a cloud machine's topology is from.
    `vendors`: what only one vendor's machines have, by the name of the driver whose folder reads it.
    """

    name: str
    cloud: str
    gpu: str | None
    gpus: Amount
    cpus: Amount
    memory_gib: Amount | None
    arch: Literal["amd64", "arm64"] | None = None
    gpu_fraction: str | None = None
    reserved_only: bool = False
    unserved: str | None = None
    accelerator: str | None = None
    instance_type: str | None = None
    fabric: str | None = None
    price: Price | None = None
    topology: tuple[GpuSlot, ...] | None = None
    topology_source: str | None = None
    nics: tuple[Nic, ...] = ()
    vendors: Mapping[str, Mapping[str, Any]] = {}

    @property
    def cloud_type(self) -> str:
        """What the cloud calls the machine."""
        return self.instance_type or self.name

    def of_vendor(self, driver: str, model: type[FactT]) -> FactT | None:
        """What a driver's folder reads of the machine; None where nothing is written for it.

        Args:
            driver: its name in stack files.
            model: how the folder reads it.
        """
        told = self.vendors.get(driver)
        return None if told is None else model.model_validate(told)

    def with_vendor(self, driver: str, **changed: str) -> Self:
        """The machine as a driver's folder reads it where something is changed."""
        told = {**self.vendors[driver], **changed}
        return self.model_copy(update={"vendors": {**self.vendors, driver: told}})
