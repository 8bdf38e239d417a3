"""The simulated hardware: which machines exist, what is in them and what their host systems hold.

Read from a data file (`hardware/<stack>.yaml`); says nothing about what a stack wants. It stands for racks
and firmware, so nothing in `fleet/` or `components/` may read it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic.alias_generators import to_camel
from ruamel.yaml import YAML, YAMLError

from dra_fleet import hardware as catalogue
from dra_fleet.drivers.nvidia.cuda import cuda_version_of
from dra_fleet.drivers.nvidia.devices import GpuOnHost, MigLayoutImpossible, place
from dra_fleet.hardware.models import GpuSlot
from dra_fleet.model.published import stable_uuid
from dra_fleet.rehearsal.clouds.aks.limits import AksLimits
from dra_fleet.rehearsal.clouds.eks.limits import EksLimits
from dra_fleet.rehearsal.clouds.gke.limits import GkeLimits
from dra_fleet.rehearsal.errors import RehearsalError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.hardware.models import GpuModel, Machine, Tpu

NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
VERSION = r"^v1\.\d+\.\d+([-+].+)?$"
ROOTS_PER_DOMAIN = 14


class HardwareInvalid(RehearsalError):  # noqa: N818 - names the state of a file, as SettingsInvalid does
    """A hardware file that cannot be used; the message lists every error with its path."""


class _Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_alias=True, validate_by_name=True
    )


class NodeTaint(_Model):
    """A taint the node registers with."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NvidiaOnHost(_Model):
    """An installed NVIDIA driver and the MIG state of the GPUs.

    `mig` is the layout of every GPU of the node; empty means MIG mode is off, unless `migMode` says it is
    on: then the GPUs are stranded, as on a host where partitions were enabled and never made.
    `runtime`: the handler of NVIDIA's container runtime that the node image has.
    """

    driver_version: Annotated[str, Field(pattern=r"^\d+\.\d+(\.\d+)?$")]
    driver_root: Annotated[str, Field(pattern="^/")] = "/"
    mig: dict[str, Annotated[int, Field(ge=1, le=8)]] = {}
    mig_mode: bool | None = None
    runtime: str = "nvidia-container-runtime"

    @property
    def cuda_version(self) -> str:
        """The CUDA version this driver brings."""
        return cuda_version_of(self.driver_version)

    @property
    def layout(self) -> tuple[tuple[str, int], ...] | None:
        """The partitions of each GPU; None with MIG mode off."""
        mode = bool(self.mig) if self.mig_mode is None else self.mig_mode
        return tuple(self.mig.items()) if mode else None


class DriverInstallable(_Model):
    """What an installer's pod can do on a machine that comes without a GPU driver.

    `image`: the kind of node image, for which the installer must be made. `default`, `latest`: the versions
    that come of asking for the image's default or for the latest; None where that one does not run here.
    """

    image: Literal["cos", "ubuntu"]
    driver_root: Annotated[str, Field(pattern="^/")]
    default: str | None
    latest: str | None


class InlineGpus(_Model):
    """GPUs given by model, for a machine the catalogue does not know."""

    model: str
    count: Annotated[int, Field(ge=1, le=32)]


class PcieLayout(_Model):
    """How devices hang on a machine whose topology the catalogue does not know."""

    gpus_per_root: Annotated[int, Field(ge=1)] = 1
    gpus_per_numa_node: Annotated[int, Field(ge=1)] = 4


class NodeHardware(_Model):
    """One machine, or `count` equal ones named `<name>-0` and so on.

    `allocatable`: what is left to pods of `cpu`, `memory` and `pods`, where the system keeps some.
    `nics`: network cards with EFA. `kubelet`: its version, such as v1.35.6, where it is not the control
    plane's.
    `providerId`: the machine's name in its cloud. `advertised`: extended resources that the cloud's device
    plugins advertise. `installable`: what a driver installer's pod can do here. `clique`: the NVLink fabric
    that reaches other machines and the part of it, such as "<uuid>.1".
    """

    name: Annotated[str, Field(pattern=NAME, max_length=200)]
    count: Annotated[int, Field(ge=1, le=1000)] = 1
    machine: str | None = None
    gpus: InlineGpus | None = None
    nics: Annotated[int, Field(ge=0, le=32)] = 0
    cpu: str | None = None
    memory: str | None = None
    allocatable: dict[str, str] = {}
    kubelet: Annotated[str, Field(pattern=VERSION)] | None = None
    provider_id: str | None = None
    pcie: PcieLayout | None = None
    labels: dict[str, str] = {}
    taints: tuple[NodeTaint, ...] = ()
    nvidia: NvidiaOnHost | None = None
    installable: DriverInstallable | None = None
    advertised: dict[str, Annotated[int, Field(ge=0)]] = {}
    clique: Annotated[str, Field(pattern=r"^[0-9a-f-]{36}\.\d+$")] | None = None

    @model_validator(mode="after")
    def _known(self) -> Self:
        facts = catalogue.load()
        if self.machine is not None and self.machine not in facts.machines:
            raise ValueError(
                f"machine {self.machine!r} is not in the catalogue; give gpus, cpu and memory instead"
            )
        if self.gpus is not None and self.gpus.model not in facts.gpus:
            allowed = ", ".join(sorted(facts.gpus))
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

    def hosts(self) -> list[Host]:
        """The machines this entry describes."""
        names = [self.name] if self.count == 1 else [f"{self.name}-{index}" for index in range(self.count)]
        return [self._host(name) for name in names]

    def _gpu_model(self) -> GpuModel | None:
        facts = catalogue.load()
        if self.gpus is not None:
            return facts.gpus[self.gpus.model]
        machine = self._machine()
        return facts.gpus[machine.gpu] if machine and machine.gpu else None

    def _machine(self) -> Machine | None:
        return catalogue.load().machines[self.machine] if self.machine is not None else None

    def _host(self, name: str) -> Host:
        machine = self._machine()
        count = machine.gpus if machine else self.gpus.count if self.gpus else 0
        model = self._gpu_model()
        layout = self.nvidia.layout if self.nvidia else None
        return Host(
            name=name,
            labels=self.labels,
            taints=self.taints,
            cpu=self.cpu or (str(machine.cpus) if machine else "32"),
            memory=self.memory or (f"{machine.memory_gib}Gi" if machine and machine.memory_gib else "256Gi"),
            allocatable=self.allocatable,
            arch=(machine.arch if machine else None) or "amd64",
            kubelet=self.kubelet,
            provider_id=self.provider_id,
            gpus=tuple(self._gpu(name, model, minor, layout) for minor in range(count)) if model else (),
            nvidia=self.nvidia,
            installable=self.installable,
            advertised=self.advertised,
            tpu=machine.tpu if machine else None,
            clique=self.clique,
            nics=self.nics,
        )

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
        machine = self._machine()
        if machine and machine.topology and self.pcie is None:
            return machine.topology[minor]
        pcie = self.pcie or PcieLayout()
        domain, root = divmod(minor // pcie.gpus_per_root, ROOTS_PER_DOMAIN)
        bus = 0x10 * (root + 1)
        return GpuSlot(
            pci_bus_id=f"{domain:04x}:{bus + 1 + minor % pcie.gpus_per_root:02x}:00.0",
            pcie_root=f"pci{domain:04x}:{bus:02x}",
            numa_node=minor // pcie.gpus_per_numa_node,
        )


class InstalledChart(_Model):
    """A DRA driver's chart that is on the cluster before any stack comes: managed there by somebody else."""

    chart: str
    version: str
    namespace: str
    values: dict[str, Any] = {}


class ClusterHardware(_Model):
    """The machines of one cluster, the release its control plane runs, and what is installed there already.

    `sliceWipingSeconds`: after how long kubelets remove the slices of a driver that left (30 s in reality).
    """

    kubernetes: Annotated[str, Field(pattern=VERSION)]
    nodes: tuple[NodeHardware, ...] = ()
    installed: tuple[InstalledChart, ...] = ()
    slice_wiping_seconds: Annotated[float, Field(ge=0)] = 30.0

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        names = [host.name for host in self.hosts()]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"more than one node is named {', '.join(twice)}; rename one of them")
        return self

    def hosts(self) -> list[Host]:
        """All machines, one entry each."""
        return [host for node in self.nodes for host in node.hosts()]


class Hardware(_Model):
    """A whole hardware file: the machines of clusters that exist, and what a simulated cloud has to give."""

    clusters: dict[str, ClusterHardware]
    azure: AksLimits = AksLimits()
    aws: EksLimits = EksLimits()
    google: GkeLimits = GkeLimits()

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a hardware file (YAML 1.2).

        Raises:
            HardwareInvalid: no file, no YAML, or values that make no sense; all errors at once.
        """
        try:
            content: Any = YAML(typ="safe").load(path.read_text())  # pyright: ignore[reportUnknownMemberType] - untyped
        except (OSError, YAMLError) as error:
            raise HardwareInvalid(f"{path} cannot be read: {error}") from error
        return cls.parse(content, str(path))

    @classmethod
    def parse(cls, content: Any, origin: str) -> Self:  # noqa: ANN401 - whatever a file holds
        """Check the content of a hardware file.

        Raises:
            HardwareInvalid: with every error at once.
        """
        try:
            return cls.model_validate(content)
        except ValidationError as error:
            lines = [
                f"  {_place(item['loc'])}: {item['msg']} (got {item['input']!r})" for item in error.errors()
            ]
            raise HardwareInvalid(f"{origin} describes no hardware:\n" + "\n".join(lines)) from error


def _place(location: tuple[int | str, ...]) -> str:
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return text.lstrip(".") or "the file"


@dataclass(frozen=True, kw_only=True)
class Host:
    """One machine, ready to join a cluster."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[NodeTaint, ...]
    cpu: str
    memory: str
    gpus: tuple[GpuOnHost, ...]
    nvidia: NvidiaOnHost | None
    allocatable: Mapping[str, str] = field(default_factory=dict[str, str])
    arch: str = "amd64"
    kubelet: str | None = None
    provider_id: str | None = None
    installable: DriverInstallable | None = None
    advertised: Mapping[str, int] = field(default_factory=dict[str, int])
    tpu: Tpu | None = None
    clique: str | None = None
    nics: int = 0
