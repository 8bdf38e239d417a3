"""Machine state that NVIDIA's driver reads: GPUs, the driver on it, and its NVLink fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self, cast

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field, model_validator
from typing_extensions import override

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.devices import GpuOnHost, MigLayoutImpossible, place
from dra_fleet.drivers.nvidia.facts import cuda_version_of
from dra_fleet.model.hardware import GpuSlot
from dra_fleet.model.specs import stable_uuid
from dra_fleet.rehearsal.simulator.node import HardwareModel, NodeHardware

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.drivers.nvidia.facts import GpuModel
    from dra_fleet.rehearsal.simulator.node import Host

DRIVER_NAME: Final = "nvidia"
ROOTS_PER_DOMAIN = 14


class NvidiaOnHost(HardwareModel):
    """An installed NVIDIA driver and the MIG state of the GPUs.

    `mig` is the layout of every GPU of the node; empty means MIG mode is off, unless `migMode` says it is
    on: then the GPUs are stranded, as on a host where partitions were enabled and never made.
    `runtime`: the handler of NVIDIA's container runtime that the node image has.
    """

    driver_version: Annotated[str, Field(pattern=r"^\d+\.\d+(\.\d+)?$")]
    driver_root: Annotated[str, Field(pattern="^/")] = "/"
    mig: dict[str, Annotated[int, Field(ge=1, le=8)]] = Field(default_factory=dict)
    mig_mode: bool | None = None
    runtime: str = "nvidia-container-runtime"

    @property
    def cuda_version(self) -> str:
        """The CUDA version of this driver."""
        return cuda_version_of(self.driver_version)

    @property
    def layout(self) -> tuple[tuple[str, int], ...] | None:
        """The partitions of each GPU; None with MIG mode off."""
        mode = bool(self.mig) if self.mig_mode is None else self.mig_mode
        return tuple(self.mig.items()) if mode else None


class DriverInstallable(HardwareModel):
    """Drivers that an installer's pod can install on a machine without one.

    `image`: the kind of node image, for which the installer must be made. `default`, `latest`: the versions
    of these requests; None if the version does not run here.
    """

    image: Literal["cos", "ubuntu"]
    driver_root: Annotated[str, Field(pattern="^/")]
    default: str | None
    latest: str | None


class InlineGpus(HardwareModel):
    """GPUs given by model, for a machine the catalogue does not know."""

    model: str
    count: Annotated[int, Field(ge=1, le=32)]


class PcieLayout(HardwareModel):
    """PCIe layout of a machine whose topology the catalogue lacks."""

    gpus_per_root: Annotated[int, Field(ge=1)] = 1
    gpus_per_numa_node: Annotated[int, Field(ge=1)] = 4


class NvidiaNode(NodeHardware):
    """The fields of a machine's entry that NVIDIA's driver reads.

    `installable`: drivers that an installer's pod can install. `clique`: the NVLink fabric that reaches other
    machines and the part of it, such as "<uuid>.1".
    """

    gpus: InlineGpus | None = None
    pcie: PcieLayout | None = None
    nvidia: NvidiaOnHost | None = None
    installable: DriverInstallable | None = None
    clique: Annotated[str, Field(pattern=r"^[0-9a-f-]{36}\.\d+$")] | None = None

    @model_validator(mode="after")
    def _known_gpus(self) -> Self:
        known = nvidia_facts.gpus()
        if self.gpus is not None and self.gpus.model not in known:
            allowed = ", ".join(sorted(known))
            raise ValueError(f"GPU model {self.gpus.model!r} is not in the catalogue; allowed: {allowed}")
        if self.machine is not None and self.gpus is not None:
            raise ValueError("give machine or gpus, not both")
        model, layout = self._gpu_model(), self.nvidia.layout if self.nvidia else None
        if model is not None and layout:
            try:
                place(model, layout)
            except MigLayoutImpossible as error:
                raise ValueError(str(error)) from error
        return self

    @override
    def parts(self, name: str) -> Mapping[str, object]:
        model, layout = self._gpu_model(), self.nvidia.layout if self.nvidia else None
        found = NvidiaParts(
            gpus=tuple(self._gpu(name, model, minor, layout) for minor in range(self._gpu_count()))
            if model
            else (),
            nvidia=self.nvidia,
            installable=self.installable,
            clique=self.clique,
        )
        return {**super().parts(name), DRIVER_NAME: found}

    @override
    def pcie_roots(self) -> tuple[str, ...]:
        if self._gpu_model() is None:
            return super().pcie_roots()
        roots = (self._slot(minor).pcie_root for minor in range(self._gpu_count()))
        return tuple(root for root in roots if root)

    def _gpu_count(self) -> int:
        return self.facts.gpus if self.facts else self.gpus.count if self.gpus else 0

    def _gpu_model(self) -> GpuModel | None:
        name = self.gpus.model if self.gpus else self.facts.gpu if self.facts else None
        return nvidia_facts.gpus()[name] if name else None

    def _gpu(
        self, node: str, model: GpuModel, minor: int, layout: tuple[tuple[str, int], ...] | None
    ) -> GpuOnHost:
        slot = self._slot(minor)
        return GpuOnHost(
            model=model,
            minor=minor,
            uuid=f"GPU-{stable_uuid('gpu', node, minor)}",
            pci_bus_id=slot.pci_bus_id,
            pcie_root=slot.pcie_root,
            numa_node=slot.numa_node,
            mig=layout,
        )

    def _slot(self, minor: int) -> GpuSlot:
        machine = self.facts
        if machine and machine.topology and self.pcie is None:
            return _placed(machine.topology, minor)
        pcie = self.pcie or PcieLayout()
        domain, root = divmod(minor // pcie.gpus_per_root, ROOTS_PER_DOMAIN)
        bus = 0x10 * (root + 1)
        return GpuSlot(
            pci_bus_id=f"{domain:04x}:{bus + 1 + minor % pcie.gpus_per_root:02x}:00.0",
            pcie_root=f"pci{domain:04x}:{bus:02x}",
            numa_node=minor // pcie.gpus_per_numa_node,
        )


def _placed(slots: Sequence[GpuSlot], minor: int) -> GpuSlot:
    """Return the position of a GPU, with an invented address and NUMA node where these are unknown."""
    slot = slots[minor]
    domain, bus = slot.pcie_root.removeprefix("pci").split(":")
    before = sum(other.pcie_root == slot.pcie_root for other in slots[:minor])
    address = f"{domain}:{int(bus, 16) + 1:02x}:{before:02x}.0"
    numa_node = minor // PcieLayout().gpus_per_numa_node if slot.numa_node is None else slot.numa_node
    return slot.model_copy(update={"pci_bus_id": slot.pci_bus_id or address, "numa_node": numa_node})


class NvidiaParts(Struct, frozen=True, kw_only=True):
    """The state of a machine that NVIDIA's driver reads.

    `shared`: strategy and replicas by which the device plugin advertises whole GPUs; None for once each.
    """

    gpus: tuple[GpuOnHost, ...]
    nvidia: NvidiaOnHost | None
    installable: DriverInstallable | None = None
    clique: str | None = None
    shared: tuple[str, int] | None = None


def parts_of(host: Host) -> NvidiaParts:
    """Return the state of a machine that NVIDIA's driver reads."""
    return cast("NvidiaParts", host.parts[DRIVER_NAME])


def with_changed(host: Host, **changes: Any) -> Host:  # noqa: ANN401 - a field's value
    """Return a machine with some of that state changed."""
    changed = replace(parts_of(host), **changes)
    return replace(host, parts={**host.parts, DRIVER_NAME: changed})
