"""Alibaba Cloud's Container Service for Kubernetes: a cluster to create or to adopt, and its GPU node pools.

The words are Alibaba Cloud's where they name something of it. Facts of machines and versions are in the
catalogue; what fits together is decided by the plan.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dra_fleet.clouds.settings import CreatedClusterSettings, CreatedPoolSettings
from dra_fleet.kubernetes.devices.base import refuse
from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.model.settings import InlineMachine, NodeRange, OrOutput, SettingsModel, machine_form

VswitchId = Annotated[str, Field(pattern=r"^vsw-[0-9a-z]+$", description="Id of a vSwitch, such as vsw-1a2b")]
ZoneId = Annotated[
    str,
    Field(pattern=r"^[a-z]{2}(-[a-z0-9]+)+$", description="Zone, such as ap-southeast-1a or cn-hangzhou-i"),
]
InstanceType = Annotated[
    str, Field(pattern=r"^ecs\.[a-z0-9-]+\.[a-z0-9-]+$", description="ECS instance type")
]


class AckNetwork(SettingsModel):
    """A new VPC with one vSwitch per zone for nodes and pods, and one NAT gateway."""

    cidr: Annotated[
        str,
        Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/16$", description="A /16 range, such as 10.40.0.0/16"),
    ] = "10.40.0.0/16"
    zones: Annotated[tuple[ZoneId, ...], Field(description="One to five zones", min_length=1, max_length=5)]


class CreateAck(SettingsModel):
    """Create the cluster. Its name is its key in the stack file."""

    vswitches: Annotated[
        Mapping[ZoneId, OrOutput[VswitchId]],
        Field(description="One vSwitch per zone, with access to the Internet"),
    ] = Field(default_factory=dict)
    network: AckNetwork | None = None
    encryption_key: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[0-9a-zA-Z-]+$")]] | None,
        Field(description="Id of a KMS key that encrypts Secrets; ack.pro.small only"),
    ] = None
    # https://www.pulumi.com/registry/packages/alicloud/api-docs/cs/managedkubernetes/ (2026-11-25)
    logs: Annotated[
        tuple[Literal["apiserver", "kcm", "scheduler", "ccm", "controlplane-events"], ...],
        Field(description="Control-plane logs to send to Simple Log Service"),
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
    """Use an existing cluster. The stack adds node pools and objects, and never deletes the cluster."""

    id: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^c[0-9a-f]{32}$")]],
        Field(description="Id of the cluster: c and 32 hexadecimal digits"),
    ]
    vswitches: Annotated[
        Mapping[ZoneId, OrOutput[VswitchId]], Field(min_length=1, description="One vSwitch per zone")
    ]


class AckAccess(SettingsModel):
    """Access to the API server. Users log in with RAM identities through `ack-ram-tool`."""

    public: Annotated[
        bool,
        Field(
            description=(
                "Also give the API server a public address. ACK cannot restrict the addresses that reach it"
            )
        ),
    ]


class AckSystemPool(SettingsModel):
    """Node pool of the system pods and the drivers' controllers."""

    machine: InstanceType = "ecs.g7.xlarge"
    nodes: NodeRange = NodeRange(min=2, max=3)


class AckMachine(InlineMachine):
    """An instance type that is not in the catalogue."""

    instance_type: InstanceType


class AckPoolSettings(CreatedPoolSettings):
    """A node pool of one instance type. New nodes start with its labels and taints."""

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
            description=(
                "NVIDIA driver version that ACK installs, such as 550.144.03. Default: ACK's default"
            ),
        ),
    ] = None
    zones: Annotated[
        tuple[ZoneId, ...], Field(description="Zones of the nodes. Default: all zones with a vSwitch")
    ] = ()
    spot: Annotated[
        bool, Field(description="Use spot machines, which are cheaper and can be reclaimed at any time")
    ] = False
    reservation: Annotated[
        str | None,
        Field(
            pattern=r"^(eap|crp)-[0-9a-z]+$",
            description="Private pool of an elasticity or capacity reservation",
        ),
    ] = None
    ram_role: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[0-9A-Za-z.@_-]{1,64}$")]] | None,
        Field(description="Name of the nodes' RAM role. Default: ACK creates one"),
    ] = None
    disk: Annotated[int, Field(ge=40, le=500, description="GiB")] = 200


class AckClusterSettings(CreatedClusterSettings):
    """An ACK cluster, created or adopted by this stack."""

    cloud: Literal["ack"]
    region: Annotated[
        str,
        Field(
            pattern=r"^[a-z]{2}(-[a-z0-9]+)+$", description="Region, such as ap-southeast-1 or cn-hangzhou"
        ),
    ]
    account: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]{16}$", description="Account id in quotes. It must be the account of the login"
        ),
    ] = None
    version: Annotated[
        str | None,
        Field(
            pattern=r"^1\.[0-9]+\.[0-9]+-aliyun\.[0-9]+$",
            description="Exact version. Default: the newest known patch of `kubernetes`",
        ),
    ] = None
    create: CreateAck | None = None
    adopt: AdoptAck | None = None
    access: AckAccess | None = None
    edition: Annotated[
        Literal["ack.pro.small", "ack.standard"],
        Field(description="ack.pro.small has a service level agreement"),
    ] = "ack.pro.small"
    registry: Annotated[
        str | None,
        Field(
            pattern=r"^[a-z0-9.-]+(:[0-9]+)?(/[a-z0-9._-]+)+$",
            description=(
                "Image registry that mirrors the drivers' images under the names of their charts; "
                "needed in mainland China"
            ),
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
                "must set the access to the API server",
                allowed="access: {public: false} or access: {public: true}",
                fix="add access",
            )
        return self

    def zones(self) -> tuple[str, ...]:
        """Return the zones of the nodes."""
        if self.adopt is not None:
            return tuple(sorted(self.adopt.vswitches))
        if self.create is not None and self.create.network is not None:
            return tuple(sorted(self.create.network.zones))
        return tuple(sorted(self.create.vswitches)) if self.create is not None else ()
