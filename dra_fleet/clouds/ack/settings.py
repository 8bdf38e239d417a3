"""Alibaba Cloud's Container Service for Kubernetes: a cluster to create or to adopt, and its GPU node pools.

The words are Alibaba Cloud's where they name something of it. Facts of machines and versions are in the
catalogue; what fits together is decided by the plan.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dra_fleet.clouds.settings import CreatedClusterSettings, CreatedPoolSettings
from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.kubernetes.devices.problem import refuse
from dra_fleet.model.settings import InlineMachine, NodeRange, OrOutput, SettingsModel, machine_form

VswitchId = Annotated[str, Field(pattern=r"^vsw-[0-9a-z]+$", description="Id of a vSwitch, such as vsw-1a2b")]
ZoneId = Annotated[
    str, Field(pattern=r"^[a-z]{2}(-[a-z0-9]+)+$", description="Such as ap-southeast-1a, or cn-hangzhou-i")
]
InstanceType = Annotated[
    str, Field(pattern=r"^ecs\.[a-z0-9-]+\.[a-z0-9-]+$", description="ECS instance type")
]


class AckNetwork(SettingsModel):
    """A VPC of the stack's own: per zone a vSwitch for nodes and pods, and one NAT gateway."""

    cidr: Annotated[
        str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/16$", description="A /16, such as 10.40.0.0/16")
    ] = "10.40.0.0/16"
    zones: Annotated[tuple[ZoneId, ...], Field(description="Zones, one to five", min_length=1, max_length=5)]


class CreateAck(SettingsModel):
    """The stack creates the cluster, which is named after its entry in the stack."""

    vswitches: Annotated[
        Mapping[ZoneId, OrOutput[VswitchId]],
        Field(description="A vSwitch per zone, from which the Internet is reached"),
    ] = Field(default_factory=dict)
    network: AckNetwork | None = None
    encryption_key: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[0-9a-zA-Z-]+$")]] | None,
        Field(description="Id of a KMS key that encrypts Secrets; ack.pro.small only"),
    ] = None
    # https://www.pulumi.com/registry/packages/alicloud/api-docs/cs/managedkubernetes/ (2026-11-25)
    logs: Annotated[
        tuple[Literal["apiserver", "kcm", "scheduler", "ccm", "controlplane-events"], ...],
        Field(description="Control-plane logs that Simple Log Service receives"),
    ] = ()

    @model_validator(mode="after")
    def _one_network(self) -> Self:
        if bool(self.vswitches) == (self.network is not None):
            raise refuse(
                "must have exactly one of vswitches and network",
                allowed="vswitches: {ap-southeast-1a: vsw-…} or network: {zones: […]}",
                fix="name the vSwitches, or let the stack make a small VPC",
            )
        return self


class AdoptAck(SettingsModel):
    """The cluster exists; the stack adds node pools and what runs in it, and never deletes the cluster."""

    id: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^c[0-9a-f]{32}$")]],
        Field(description="Id of the cluster: c and 32 hexadecimal digits"),
    ]
    vswitches: Annotated[
        Mapping[ZoneId, OrOutput[VswitchId]], Field(min_length=1, description="A vSwitch per zone")
    ]


class AckAccess(SettingsModel):
    """Who reaches the API server. RAM identities log in by `ack-ram-tool`; there is no other login."""

    public: Annotated[
        bool, Field(description="The API server has a public address too; ACK limits nobody's way to it")
    ]


class AckSystemPool(SettingsModel):
    """The node pool of the cluster's own pods and of the drivers' controllers."""

    machine: InstanceType = "ecs.g7.xlarge"
    nodes: NodeRange = NodeRange(min=2, max=3)


class AckMachine(InlineMachine):
    """An instance type that the catalogue does not hold, described here."""

    instance_type: InstanceType


class AckPoolSettings(CreatedPoolSettings):
    """A node pool of one instance type. Its nodes have the labels and taints from their first moment."""

    machine: Annotated[
        Annotated[str, Tag("<name>")] | Annotated[AckMachine, Tag("<inline>")],
        Discriminator(machine_form),
        Field(description="Instance type of the catalogue, or {instanceType, gpu, gpus, cpus, memory}"),
    ]
    image: Annotated[
        Literal["AliyunLinux3", "AliyunLinux3ContainerOptimized", "Ubuntu"], Field(description="Node image")
    ] = "AliyunLinux3"
    driver_version: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$",
            description="NVIDIA driver that ACK installs, such as 550.144.03; without it, ACK's default",
        ),
    ] = None
    zones: Annotated[
        tuple[ZoneId, ...], Field(description="Zones of the cluster's vSwitches; all if none")
    ] = ()
    spot: Annotated[bool, Field(description="Spot machines: cheaper, taken away at any time")] = False
    reservation: Annotated[
        str | None,
        Field(
            pattern=r"^(eap|crp)-[0-9a-z]+$",
            description="Private pool of an elasticity or capacity reservation",
        ),
    ] = None
    ram_role: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[0-9A-Za-z.@_-]{1,64}$")]] | None,
        Field(description="Name of the nodes' RAM role; without it, ACK creates one"),
    ] = None
    disk: Annotated[int, Field(ge=40, le=500, description="GiB")] = 200


class AckClusterSettings(CreatedClusterSettings):
    """A cluster in Alibaba Cloud: created by this stack, or adopted."""

    cloud: Literal["ack"]
    region: Annotated[
        str, Field(pattern=r"^[a-z]{2}(-[a-z0-9]+)+$", description="Such as ap-southeast-1, or cn-hangzhou")
    ]
    account: Annotated[
        str | None, Field(pattern=r"^[0-9]{16}$", description="Account id, which must be the login's; quoted")
    ] = None
    version: Annotated[
        str | None,
        Field(
            pattern=r"^1\.[0-9]+\.[0-9]+-aliyun\.[0-9]+$",
            description="Exact version; without it, the newest that is known of the Kubernetes minor",
        ),
    ] = None
    create: CreateAck | None = None
    adopt: AdoptAck | None = None
    access: AckAccess | None = None
    edition: Annotated[
        Literal["ack.pro.small", "ack.standard"], Field(description="ack.pro.small: with a service level")
    ] = "ack.pro.small"
    registry: Annotated[
        str | None,
        Field(
            pattern=r"^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+$",
            description="Mirror of the drivers' images, each under its chart's name; for mainland China",
        ),
    ] = None
    system_pool: AckSystemPool = AckSystemPool()
    pools: Annotated[Mapping[DnsLabel, AckPoolSettings], Field(min_length=1)]

    @model_validator(mode="after")
    def _created_or_adopted(self) -> Self:
        if (self.create is None) == (self.adopt is None):
            raise refuse(
                "must have exactly one of create and adopt",
                allowed="create: {vswitches} or create: {network} or adopt: {id, vswitches}",
            )
        if self.create is not None and self.access is None:
            raise refuse(
                "must say who reaches the API server",
                allowed="access: {public: false} or access: {public: true}",
                fix="add access",
            )
        return self

    def zones(self) -> tuple[str, ...]:
        """The zones in which nodes can be."""
        if self.adopt is not None:
            return tuple(sorted(self.adopt.vswitches))
        if self.create is not None and self.create.network is not None:
            return tuple(sorted(self.create.network.zones))
        return tuple(sorted(self.create.vswitches)) if self.create is not None else ()
