"""Entry of a hardware file, and the machines that it describes.

An entry of the hardware file is read by one model, made of this one and the drivers' own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from dra_fleet import clouds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.hardware import Machine

NAME = r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"
VERSION = r"^v1\.\d+\.\d+([-+].+)?$"


class HardwareModel(BaseModel):
    """A part of a hardware file: camelCase keys, and no others."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, alias_generator=to_camel, validate_by_alias=True, validate_by_name=True
    )


class NodeTaint(HardwareModel):
    """A taint the node registers with."""

    key: str
    value: str = ""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


class NodeFaults(HardwareModel):
    """Faults of a machine, injected by its entry in the hardware file or by `rehearse fault`.

    `errors`: code of the hardware error of each device that has one, such as an XID. `gone`: devices that do
    not exist any more. `crashing`: drivers whose node plugin crashes in a loop. `unreachable`: the
    node does not answer.
    """

    errors: dict[str, Annotated[int, Field(ge=1)]] = {}
    gone: tuple[str, ...] = ()
    crashing: tuple[str, ...] = ()
    unreachable: bool = False


class NodeHardware(HardwareModel):
    """A machine, or `count` equal machines named `<name>-0` and so on.

    `allocatable`: what is left to pods of `cpu`, `memory` and `pods`, where the system keeps some.
    `kubelet`: its version, such as v1.35.6, where it is not the control plane's.
    `providerId`: the machine's name in its cloud. `advertised`: extended resources that the cloud's device
    plugins advertise.
    """

    name: Annotated[str, Field(pattern=NAME, max_length=200)]
    count: Annotated[int, Field(ge=1, le=1000)] = 1
    machine: str | None = None
    cpu: str | None = None
    memory: str | None = None
    allocatable: dict[str, str] = {}
    kubelet: Annotated[str, Field(pattern=VERSION)] | None = None
    provider_id: str | None = None
    labels: dict[str, str] = {}
    taints: tuple[NodeTaint, ...] = ()
    advertised: dict[str, Annotated[int, Field(ge=0)]] = {}
    faults: NodeFaults = NodeFaults()

    @model_validator(mode="after")
    def _known_machine(self) -> Self:
        if self.machine is not None and self.machine not in clouds.machines():
            raise ValueError(
                f"machine {self.machine!r} is not in the catalogue; give gpus, cpu and memory instead"
            )
        return self

    def hosts(self) -> list[Host]:
        """Return the machines that this entry describes."""
        names = [self.name] if self.count == 1 else [f"{self.name}-{index}" for index in range(self.count)]
        return [self._host(name) for name in names]

    def parts(self, name: str) -> Mapping[str, object]:
        """Return the drivers' data of a machine, by driver; each driver's model adds its own.

        Args:
            name: the machine's.
        """
        del name
        return {}

    def pcie_roots(self) -> tuple[str, ...]:
        """Return the PCIe root of each accelerator, in the machine's order; empty if unknown."""
        return ()

    @property
    def facts(self) -> Machine | None:
        """The machine's facts."""
        return clouds.machines()[self.machine] if self.machine is not None else None

    def _host(self, name: str) -> Host:
        machine = self.facts
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
            advertised=self.advertised,
            faults=self.faults,
            machine=machine,
            parts=self.parts(name),
            pcie_roots=self.pcie_roots(),
        )


class Host(Struct, frozen=True, kw_only=True):
    """A machine, ready to join a cluster.

    Attributes:
        machine: its facts, where it is one that is known.
        parts: what each driver finds in it, by the driver's name.
        pcie_roots: of its accelerators, in its order.
    """

    name: str
    labels: Mapping[str, str]
    taints: tuple[NodeTaint, ...]
    cpu: str
    memory: str
    allocatable: Mapping[str, str] = field(default_factory=dict[str, str])
    arch: str = "amd64"
    kubelet: str | None = None
    provider_id: str | None = None
    advertised: Mapping[str, int] = field(default_factory=dict[str, int])
    faults: NodeFaults = field(default_factory=NodeFaults)
    machine: Machine | None = None
    parts: Mapping[str, object] = field(default_factory=dict[str, object])
    pcie_roots: tuple[str, ...] = ()
