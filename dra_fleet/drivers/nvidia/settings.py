"""Settings that NVIDIA's driver adds to a stack file: how GPUs of pools are shared, and ComputeDomains."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.model.settings import SettingsModel


class MigSharing(SettingsModel):
    """The same MIG partitions on every GPU of the pool, each a separate device."""

    strategy: Literal["mig"] = "mig"
    layout: Annotated[
        Mapping[str, Annotated[int, Field(ge=1)]],
        Field(
            min_length=1, description="MIG profile to number of instances per GPU, for example {1g.5gb: 7}"
        ),
    ]


class _Replicas(SettingsModel):
    """The device plugin of the GPU Operator advertises each GPU several times; nothing isolates its pods."""

    replicas: Annotated[int, Field(ge=2, description="How often each GPU is advertised as nvidia.com/gpu")]
    accept: Annotated[
        Mapping[Literal["isolation"], Annotated[str, Field(min_length=1)]],
        Field(description="Reason why pods without isolation are acceptable; required in production"),
    ] = Field(default_factory=dict[Literal["isolation"], str])


class TimeSlicing(_Replicas):
    """Pods take turns on a GPU, each with all of its memory. Requires `advertise: device-plugin`."""

    strategy: Literal["time-slicing"] = "time-slicing"


class Mps(_Replicas):
    """Pods use a GPU together, each with an equal part of its memory. Requires `advertise: device-plugin`."""

    strategy: Literal["mps"] = "mps"
    # A GPU serves at most 48 clients: https://docs.nvidia.com/deploy/mps/index.html#client-server-connection-limits
    replicas: Annotated[
        int, Field(ge=2, le=48, description="How often each GPU is advertised as nvidia.com/gpu")
    ]


ReplicaSharing = TimeSlicing | Mps
"""The device plugin of the GPU Operator advertises each GPU several times."""


class ComputeDomainSettings(SettingsModel):
    """A ComputeDomain of the NVIDIA driver. Workloads join it by `computeDomain`."""

    cluster: Annotated[str, Field(description="Cluster of this stack")]
    num_nodes: Annotated[
        int,
        Field(
            ge=0,
            description="0 unless the feature gate IMEXDaemonsWithDNSNames is off: then exactly the nodes "
            "that join",
        ),
    ] = 0
    channels: Annotated[
        Literal["Single", "All"], Field(description="IMEX channels of each pod: one, or all of its node")
    ] = "Single"
    template: Annotated[
        DnsLabel | None,
        Field(
            description="Exact name of the ResourceClaimTemplate that the driver makes, for pods outside "
            "this stack; the domain then keeps its exact name too"
        ),
    ] = None
