"""Settings of a cluster and of its node pools that all clouds have; each cloud extends them."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self

from pydantic import Field, model_validator

from dra_fleet import clouds, drivers
from dra_fleet.kubernetes.devices.base import refuse
from dra_fleet.kubernetes.devices.names import LabelKey, LabelValue
from dra_fleet.model.settings import (
    Advertiser,
    DescribedDevices,
    DriverSettings,
    ExclusiveSharing,
    KubernetesMinor,
    MachineSettings,
    NodeRange,
    SettingsModel,
    TaintSettings,
)

if TYPE_CHECKING:
    from dra_fleet.model.hardware import Machine


def sharing_model() -> object:
    """Return the union of whole devices and all drivers' strategies, discriminated by `strategy`."""
    union: Any = ExclusiveSharing
    for driver in drivers.known():
        for model in driver.strategies():
            union |= model
    return Annotated[union, Field(discriminator="strategy")]


if TYPE_CHECKING:
    from dra_fleet.model.settings import Sharing as SharingSettings
else:
    SharingSettings = sharing_model()


Tags = Annotated[
    Mapping[str, str],
    Field(
        description=(
            "Tags of all cloud resources (labels on Google Cloud). Tags of a pool override tags "
            "of its cluster"
        )
    ),
]
Extra = Annotated[
    dict[str, Any],
    Field(
        description=(
            "Additional arguments of the provider's resource, under the provider's names. No rule checks them"
        )
    ),
]


class CommonPoolSettings(SettingsModel):
    """Settings that the pools of all clouds have; each cloud adds how to name or describe `machine`."""

    nodes: NodeRange
    taints: tuple[TaintSettings, ...] = ()
    devices: Annotated[
        tuple[DescribedDevices, ...], Field(description="Devices of drivers that dra-fleet does not know")
    ] = ()
    advertise: Annotated[
        Advertiser | None,
        Field(
            description=(
                "What advertises the pool's devices: a DRA driver (default), a device plugin for pods "
                "that use limits instead of claims, a device plugin with a DRA driver for "
                "ComputeDomains only, or the DRA driver that the cloud manages"
            )
        ),
    ] = None
    sharing: Annotated[
        SharingSettings, Field(description="How pods share a GPU. Default: a pod gets whole GPUs")
    ] = ExclusiveSharing()

    @model_validator(mode="after")
    def _taints_are_unique(self) -> Self:
        counts = Counter((taint.key, taint.effect) for taint in self.taints)
        for (key, effect), count in counts.items():
            if count > 1:
                raise refuse(
                    f"has {count} taints with key {key} and effect {effect}; a node can have one",
                    at="taints",
                    fix="remove the others",
                )
        return self


class CreatedPoolSettings(CommonPoolSettings):
    """Settings of pools that dra-fleet creates."""

    labels: Annotated[Mapping[LabelKey, LabelValue], Field(description="Additional labels of the nodes")] = (
        Field(default_factory=dict)
    )
    tags: Tags = Field(default_factory=dict)
    extra: Extra = Field(default_factory=dict)


class PoolSettings(CommonPoolSettings):
    """Nodes of one machine type in an existing cluster. They are selected by labels and not created."""

    machine: Annotated[
        MachineSettings,
        Field(description="Machine type of the catalogue, or {gpu, gpus, cpus, memory}, or {cpus, memory}"),
    ]
    node_selector: Annotated[
        Mapping[LabelKey, LabelValue],
        Field(min_length=1, description="Labels that select exactly the nodes of this pool"),
    ]
    gpu_driver: Annotated[
        Literal["host", "operator"], Field(description="What installs the GPU driver on the nodes")
    ] = "host"


class _OnCloud(Protocol):
    @property
    def cloud(self) -> str: ...


class CommonClusterSettings(SettingsModel):
    """A cluster with its drivers. Each cloud adds the fields `cloud` and `pools`."""

    kubernetes: KubernetesMinor | None = None
    # No default: {} says that others install the drivers, and the proof counts on theirs. A stack that forgot
    # its drivers would be proved by ones that no one installs.
    drivers: Annotated[
        Mapping[str, DriverSettings], Field(description="DRA drivers by name. {} if dra-fleet installs none")
    ]

    @property
    def makes_nodes(self: _OnCloud) -> bool:
        """True if the stack creates the nodes of its pools."""
        return clouds.named(self.cloud).makes_nodes

    @property
    def machine_types(self: _OnCloud) -> "Mapping[str, Machine]":
        """Machine types that its cloud offers, by name."""
        return clouds.named(self.cloud).machines


class CreatedClusterSettings(CommonClusterSettings):
    """A cluster whose nodes, and maybe itself, are resources of a cloud."""

    tags: Tags = Field(default_factory=dict)
    extra: Extra = Field(default_factory=dict)
