"""Parts of a node pool: how many nodes, their taints, their machine and devices."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dra_fleet.kubernetes.devices.names import (
    AttributeText,
    DnsLabel,
    DriverName,
    LabelKey,
    LabelValue,
    QualifiedName,
    SemanticVersion,
)
from dra_fleet.kubernetes.devices.problem import refuse
from dra_fleet.kubernetes.devices.quantity_text import QuantityText
from dra_fleet.model.base import SettingsModel

Advertiser = Literal["dra", "device-plugin", "compute-domain-only"]
"""Who makes devices known on a node, of which there is one for each device."""
MAX_NODES = 100_000
"""More than any cluster has: https://kubernetes.io/docs/setup/best-practices/cluster-large/ says 5,000."""
MAX_GPUS = 128
"""Devices of one ResourceSlice."""
MAX_AMOUNT = 1_000_000


class NodeRange(SettingsModel):
    """How many nodes a pool has at least and at most."""

    min: Annotated[int, Field(ge=0, le=MAX_NODES, description="Nodes at least")]
    max: Annotated[int, Field(ge=1, le=MAX_NODES, description="Nodes at most")]

    @model_validator(mode="after")
    def _min_below_max(self) -> Self:
        if self.min > self.max:
            raise refuse(f"must have min at most max, this is {self.min} and {self.max}")
        return self


class TaintSettings(SettingsModel):
    """A taint that the pool's nodes carry."""

    key: Annotated[LabelKey, Field(description="Key of the taint")]
    value: Annotated[LabelValue, Field(description="Value of the taint")] = ""
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"],
        Field(description="What happens to pods without a toleration"),
    ]


class InlineMachine(SettingsModel):
    """A machine that the catalogue does not hold, described here. Memory in GiB."""

    gpu: Annotated[str | None, Field(description="GPU model of the catalogue; none without GPUs")] = None
    gpus: Annotated[int, Field(ge=0, le=MAX_GPUS, description="GPUs of one machine")] = 0
    cpus: Annotated[int, Field(ge=1, le=MAX_AMOUNT, description="CPUs of one machine")]
    memory: Annotated[int, Field(ge=1, le=MAX_AMOUNT, description="GiB")]

    @model_validator(mode="after")
    def _model_and_count(self) -> Self:
        if (self.gpu is None) != (self.gpus == 0):
            raise refuse("must have gpu and gpus, or neither", at="gpus")
        return self


class VersionValue(SettingsModel):
    """An attribute that is a semantic version."""

    version: Annotated[SemanticVersion, Field(description="Three numbers: 1.2.3")]


class DescribedDevices(SettingsModel):
    """Equal devices of every node of a pool, as a driver publishes them that this program cannot predict."""

    driver: Annotated[DriverName, Field(description="The name in its ResourceSlices: fpga.example.com")]
    name: Annotated[DnsLabel, Field(description="How the devices' names begin: fpga for fpga-0, fpga-1")]
    count: Annotated[int, Field(ge=1, le=MAX_GPUS, description="Devices of one node")] = 1
    attributes: Annotated[
        Mapping[QualifiedName, AttributeText | bool | int | VersionValue],
        Field(description='A string, a whole number, true or false, or {version: "1.2.3"}'),
    ] = Field(default_factory=dict)
    capacity: Annotated[Mapping[QualifiedName, QuantityText], Field(description="Quantities")] = Field(
        default_factory=dict
    )
    shared: Annotated[
        bool, Field(description="true: several claims may hold parts of one device's capacity")
    ] = False


def machine_form(value: object) -> str:
    """The tag of the form a machine is written in: a name, or a description."""
    if isinstance(value, InlineMachine | Mapping):
        return "<inline>"
    return "<name>"


MachineSettings = Annotated[
    Annotated[str, Tag("<name>")] | Annotated[InlineMachine, Tag("<inline>")], Discriminator(machine_form)
]
