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


DESCRIBED = "the stack file"
"""The `source` of machines that a stack file describes."""


class GpuSlot(Fact):
    """Position of a GPU in a machine; None where it is unknown."""

    pcie_root: str
    pci_bus_id: str | None = None
    numa_node: int | None = None


class Nic(Fact):
    """A network interface of a machine and where it sits; None where it is unknown."""

    pcie_root: str
    rdma: bool
    name: str | None = None
    pci_bus_id: str | None = None
    numa_node: int | None = None


class Price(Entry):
    """On-demand price of a machine with Linux, per hour."""

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
        """The cloud's name of the machine."""
        return self.instance_type or self.name

    def of_vendor(self, driver: str, model: type[FactT]) -> FactT | None:
        """Return a driver's facts about the machine, or None.

        Args:
            driver: the driver's name in stack files.
            model: the type of the facts.
        """
        reported = self.vendors.get(driver)
        return None if reported is None else model.model_validate(reported)

    def with_vendor(self, driver: str, **changed: str) -> Self:
        """Return the machine with some of a driver's facts changed."""
        reported = {**self.vendors[driver], **changed}
        return self.model_copy(update={"vendors": {**self.vendors, driver: reported}})
