"""Elastic Kubernetes Service: a cluster to create or to adopt, how it is reached, its GPU node groups.

The words are AWS's where they name something of AWS. Facts of machines and images are in the catalogue; what
fits together is decided by the plan.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from dra_fleet.clouds.settings import CreatedClusterSettings, CreatedPoolSettings
from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.kubernetes.devices.problem import refuse
from dra_fleet.model.settings import (
    GpuOperatorSettings,
    InlineMachine,
    NodeRange,
    OrOutput,
    SettingsModel,
    machine_form,
)

RoleArn = Annotated[
    str, Field(pattern=r"^arn:aws[a-z-]*:iam::[0-9]{12}:role/.+$", description="ARN of an IAM role")
]
SubnetId = Annotated[str, Field(pattern=r"^subnet-[0-9a-f]{8,17}$")]
ZoneName = Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$", description="Such as us-east-1a")]
InstanceType = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$", description="EC2 instance type")
]
ReservationId = Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$", description="Capacity reservation")]
Cidr = Annotated[str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$")]
_TWO_ZONES = 2


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class SmallNetwork(SettingsModel):
    """A VPC of the stack's own: per zone a private subnet for nodes and a public one with a NAT gateway."""

    cidr: Annotated[
        str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/16$", description="A /16, such as 10.20.0.0/16")
    ] = "10.20.0.0/16"
    zones: Annotated[
        tuple[ZoneName, ...],
        Field(description="Availability zones, two to four", min_length=_TWO_ZONES, max_length=4),
    ]


class CreateEks(SettingsModel):
    """The stack creates the cluster, which is named after its entry in the stack."""

    subnets: Annotated[
        Mapping[ZoneName, OrOutput[SubnetId]],
        Field(description="A subnet per zone, at least two; or network"),
    ] = Field(default_factory=dict)
    network: SmallNetwork | None = None
    cluster_role: Annotated[OrOutput[RoleArn] | None, Field(description="ARN of the cluster's IAM role")] = (
        None
    )
    node_role: Annotated[OrOutput[RoleArn] | None, Field(description="ARN of the nodes' IAM role")] = None
    encryption_key: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:kms:.+:key/.+$")]] | None,
        Field(description="ARN of a KMS key that encrypts Secrets; cannot be removed again"),
    ] = None
    # https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html (2026-11-25)
    logs: Annotated[
        tuple[Literal["api", "audit", "authenticator", "controllerManager", "scheduler"], ...],
        Field(description="Control-plane logs that CloudWatch receives"),
    ] = ()

    @model_validator(mode="after")
    def _one_network(self) -> Self:
        if bool(self.subnets) == (self.network is not None):
            raise refuse(
                "must have exactly one of subnets and network",
                allowed="subnets: {us-east-1a: subnet-…, us-east-1b: subnet-…} or network: {zones: […]}",
                fix="name the subnets, or let the stack make a small VPC",
            )
        if self.network is None and len(self.subnets) < _TWO_ZONES:
            raise refuse("must have subnets in at least two zones: EKS asks for that", fix="add a subnet")
        return self


class AdoptEks(SettingsModel):
    """The cluster exists; the stack adds node groups and what runs in it, and never deletes the cluster."""

    name: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$")]],
        Field(description="Name of the cluster in AWS: at most 100 letters, digits and - _"),
    ]
    subnets: Annotated[
        Mapping[ZoneName, OrOutput[SubnetId]], Field(min_length=1, description="A subnet per zone")
    ]
    node_role: Annotated[OrOutput[RoleArn] | None, Field(description="ARN of the nodes' IAM role")] = None


class EksAccess(SettingsModel):
    """Who reaches the API server, and who administers the cluster. IAM decides; there is no other login."""

    public_ranges: Annotated[
        tuple[Cidr, ...], Field(description="Public address ranges that may reach the API server")
    ] = ()
    private: Annotated[bool, Field(description="The API server has a private address only")] = False
    admins: Annotated[
        tuple[RoleArn, ...],
        Field(description="Roles that administer the cluster, besides whoever creates it"),
    ] = ()

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.private == bool(self.public_ranges):
            raise refuse(
                "must have exactly one of private: true and publicRanges",
                fix="name the ranges that may reach the API server, or make it private",
            )
        return self


class EksSystemPool(SettingsModel):
    """The node group of the cluster's own pods; it carries the taint CriticalAddonsOnly."""

    machine: InstanceType = "m6i.large"
    nodes: NodeRange = NodeRange(min=2, max=3)


class EksMachine(InlineMachine):
    """An instance type that the catalogue does not hold, described here."""

    instance_type: InstanceType
    arch: Annotated[Literal["amd64", "arm64"], Field(description="Architecture of its CPUs")] = "amd64"


class OwnImage(SettingsModel):
    """An image of your own, built on AL2023 with NVIDIA's driver at the root of its file system."""

    id: Annotated[
        str,
        Field(description="Id of the AMI, such as ami-0123456789abcdef0", pattern=r"^ami-[0-9a-f]{8,17}$"),
    ]
    arch: Annotated[Literal["amd64", "arm64"], Field(description="Architecture that it is made for")] = (
        "amd64"
    )
    nvidia_driver: Annotated[
        str, Field(pattern=r"^\d+\.\d+(\.\d+)?$", description="Version of the NVIDIA driver in it")
    ]


def image_form(value: object) -> str:
    """The tag of the form an image is written in: an AMI type, or an image of one's own."""
    return "<inline>" if isinstance(value, OwnImage | Mapping) else "<name>"


class EksUpgrade(SettingsModel):
    """How a node group is upgraded. MINIMAL takes nodes away before new ones come: no spare quota."""

    unavailable: Annotated[
        str,
        BeforeValidator(_text),
        Field(
            pattern=r"^[1-9][0-9]{0,2}%?$",
            description="A number of nodes, or a part of the group such as 33%",
            json_schema_extra={"type": ["string", "integer"]},
        ),
    ] = "1"
    strategy: Annotated[
        Literal["DEFAULT", "MINIMAL"],
        Field(description="MINIMAL: nodes go before new ones come, which needs no more machines"),
    ] = "MINIMAL"


class EksPoolSettings(CreatedPoolSettings):
    """A managed node group of one instance type. Its nodes have the labels and taints from the beginning."""

    machine: Annotated[
        Annotated[str, Tag("<name>")] | Annotated[EksMachine, Tag("<inline>")],
        Discriminator(machine_form),
        Field(description="Instance type of the catalogue, or {instanceType, gpu, gpus, cpus, memory, arch}"),
    ]
    image: Annotated[
        Annotated[str, Tag("<name>")] | Annotated[OwnImage, Tag("<inline>")],
        Discriminator(image_form),
    ] = Field(
        default="",
        description="AMI type, or {id, arch, nvidiaDriver}; without it, AL2023 with NVIDIA's driver",
    )
    release: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]+\.[0-9]+\.[0-9]+-[0-9a-f]+$",
            description="Release of the AMI type, such as 1.35.2-20260415; without it, the newest",
        ),
    ] = None
    device_plugin: Annotated[
        bool, Field(description="Leave the device plugin of the image on; never together with DRA")
    ] = False
    zones: Annotated[
        tuple[ZoneName, ...], Field(description="Zones of the cluster's subnets; all if none")
    ] = ()
    capacity: Annotated[
        Literal["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"], Field(description="How the machines are bought")
    ] = "ON_DEMAND"
    reservation: Annotated[
        ReservationId | None, Field(description="On-demand capacity reservation, or the Capacity Block's")
    ] = None
    efa: Annotated[bool, Field(description="Give the nodes all their EFA network cards")] = False
    placement_group: Annotated[
        bool | None, Field(description="Put the nodes near each other; without it, as efa says")
    ] = None
    security_group: Annotated[
        str | None,
        Field(pattern=r"^sg-[0-9a-f]{8,17}$", description="For EFA, instead of one that the stack makes"),
    ] = None
    disk: Annotated[int, Field(ge=20, le=16384, description="GiB")] = 200
    repair: Annotated[bool, Field(description="EKS replaces nodes whose GPUs or kubelet fail")] = True
    upgrade: EksUpgrade = EksUpgrade()


class EksClusterSettings(CreatedClusterSettings):
    """A cluster in AWS: created by this stack, or adopted."""

    cloud: Literal["eks"]
    region: Annotated[str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$", description="Such as us-east-1")]
    account: Annotated[
        str | None,
        Field(pattern=r"^[0-9]{12}$", description="Account id, which must be the login's; quoted"),
    ] = None
    create: CreateEks | None = None
    adopt: AdoptEks | None = None
    access: EksAccess | None = None
    support: Annotated[
        Literal["STANDARD", "EXTENDED"],
        Field(description="EXTENDED costs more and keeps a minor a year longer"),
    ] = "STANDARD"
    auto_mode: Annotated[bool, Field(description="EKS Auto Mode, which has no DRA")] = False
    karpenter: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$",
            description="Version of the Karpenter that scales the cluster, with settings.enableDRA",
        ),
    ] = None
    addons: Annotated[
        Mapping[DnsLabel, str],
        Field(description="EKS add-ons and their exact versions, besides the ones that every cluster has"),
    ] = Field(default_factory=dict)
    system_pool: EksSystemPool = EksSystemPool()
    gpu_operator: GpuOperatorSettings | None = None
    pools: Annotated[Mapping[DnsLabel, EksPoolSettings], Field(min_length=1)]

    @model_validator(mode="after")
    def _created_or_adopted(self) -> Self:
        if (self.create is None) == (self.adopt is None):
            raise refuse(
                "must have exactly one of create and adopt",
                allowed="create: {subnets} or create: {network} or adopt: {name, subnets}",
            )
        if self.create is not None and self.access is None:
            raise refuse(
                "must say who reaches the API server",
                allowed="access: {publicRanges: [203.0.113.0/24]} or access: {private: true}",
                fix="add access",
            )
        return self

    def zones(self) -> tuple[str, ...]:
        """The zones in which nodes can be."""
        if self.adopt is not None:
            return tuple(sorted(self.adopt.subnets))
        if self.create is not None and self.create.network is not None:
            return tuple(sorted(self.create.network.zones))
        return tuple(sorted(self.create.subnets)) if self.create is not None else ()
