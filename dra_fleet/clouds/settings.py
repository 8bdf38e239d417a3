"""Settings of a cluster and of its node pools that all clouds have; each cloud extends them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

from pydantic import Field

from dra_fleet import clouds, drivers
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
    Field(description="Tags of its resources in the cloud, labels on Google Cloud; a pool's come first"),
]
Extra = Annotated[
    dict[str, Any],
    Field(
        description="Further arguments of the provider's resource under their own names; no rule checks them"
    ),
]


class CommonPoolSettings(SettingsModel):
    """What the pools of all clouds have in common; each adds how its `machine` is named or described."""

    nodes: NodeRange
    taints: tuple[TaintSettings, ...] = ()
    devices: Annotated[
        tuple[DescribedDevices, ...], Field(description="Devices of drivers that this program cannot predict")
    ] = ()
    advertise: Annotated[
        Advertiser | None,
        Field(
            description="Who makes the pool's devices known: a DRA driver, which is so without it; a device "
            "plugin, for pods that ask by limits instead of claims; or a device plugin beside a DRA driver "
            "of ComputeDomains alone"
        ),
    ] = None
    sharing: Annotated[SharingSettings, Field(description="How GPUs are shared; without it, whole GPUs")] = (
        ExclusiveSharing()
    )


class CreatedPoolSettings(CommonPoolSettings):
    """What the pools have in common that this program creates."""

    labels: Annotated[
        Mapping[LabelKey, LabelValue], Field(description="Labels of the nodes, besides those of this program")
    ] = Field(default_factory=dict)
    tags: Tags = Field(default_factory=dict)
    extra: Extra = Field(default_factory=dict)


class PoolSettings(CommonPoolSettings):
    """Nodes of one machine type in a cluster that exists: selected by label, never created."""

    machine: Annotated[
        MachineSettings,
        Field(description="Name of the catalogue, or {gpu, gpus, cpus, memory}, or {cpus, memory}"),
    ]
    node_selector: Annotated[
        Mapping[LabelKey, LabelValue],
        Field(min_length=1, description="Labels that all nodes of the pool carry, and no others"),
    ]
    gpu_driver: Annotated[
        Literal["host", "operator"], Field(description="Who installs the GPU driver on the nodes")
    ] = "host"


class _OnCloud(Protocol):
    @property
    def cloud(self) -> str: ...


class CommonClusterSettings(SettingsModel):
    """A cluster with its drivers. Each cloud adds the fields `cloud` and `pools`."""

    kubernetes: KubernetesMinor | None = None
    # No default: {} says that others install the drivers, and the proof counts on theirs. A stack that forgot
    # its drivers would be proved by ones that nobody installs.
    drivers: Annotated[
        Mapping[str, DriverSettings],
        Field(
            description="DRA drivers by name; {} if the cluster brings its own and this program installs none"
        ),
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
