"""Elastic Kubernetes Service: a cluster to create or to adopt, how it is reached, its GPU node groups.

The words are AWS's where they name something of AWS. Facts of machines and images are in the catalogue; what
fits together is decided by the plan.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from dra_fleet.clouds.settings import CreatedClusterSettings, CreatedPoolSettings
from dra_fleet.kubernetes.devices.base import refuse
from dra_fleet.kubernetes.devices.names import DnsLabel
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
ZoneName = Annotated[
    str,
    Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9][a-z]$", description="Availability zone, such as us-east-1a"),
]
InstanceType = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9-]*\.[a-z0-9-]+$", description="EC2 instance type")
]
ReservationId = Annotated[str, Field(pattern=r"^cr-[0-9a-f]{8,17}$", description="Capacity reservation")]
Cidr = Annotated[str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$")]
_TWO_ZONES = 2


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class SmallNetwork(SettingsModel):
    """A new VPC. Each zone has a private subnet for nodes and a public subnet with a NAT gateway."""

    cidr: Annotated[
        str,
        Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/16$", description="A /16 range, such as 10.20.0.0/16"),
    ] = "10.20.0.0/16"
    zones: Annotated[
        tuple[ZoneName, ...],
        Field(description="Two to four availability zones", min_length=_TWO_ZONES, max_length=4),
    ]


class CreateEks(SettingsModel):
    """Create the cluster. Its name is its key in the stack file."""

    subnets: Annotated[
        Mapping[ZoneName, OrOutput[SubnetId]],
        Field(description="One subnet per zone, in at least two zones. Alternative: `network`"),
    ] = Field(default_factory=dict)
    network: SmallNetwork | None = None
    cluster_role: Annotated[OrOutput[RoleArn] | None, Field(description="ARN of the cluster's IAM role")] = (
        None
    )
    node_role: Annotated[OrOutput[RoleArn] | None, Field(description="ARN of the nodes' IAM role")] = None
    encryption_key: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^arn:aws[a-z-]*:kms:.+:key/.+$")]] | None,
        Field(description="ARN of a KMS key that encrypts Secrets. It cannot be removed later"),
    ] = None
    # https://docs.aws.amazon.com/eks/latest/userguide/control-plane-logs.html (2026-11-25)
    logs: Annotated[
        tuple[Literal["api", "audit", "authenticator", "controllerManager", "scheduler"], ...],
        Field(description="Control-plane logs to send to CloudWatch"),
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
            raise refuse("must have subnets in at least two zones: EKS requires this", fix="add a subnet")
        return self


class AdoptEks(SettingsModel):
    """Use an existing cluster. The stack adds node groups and objects, and never deletes the cluster."""

    name: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[0-9A-Za-z][A-Za-z0-9_-]{0,99}$")]],
        Field(description="Name of the cluster in AWS: at most 100 letters, digits and - _"),
    ]
    subnets: Annotated[
        Mapping[ZoneName, OrOutput[SubnetId]], Field(min_length=1, description="One subnet per zone")
    ]
    node_role: Annotated[OrOutput[RoleArn] | None, Field(description="ARN of the nodes' IAM role")] = None


class EksAccess(SettingsModel):
    """Access to the API server and administrators of the cluster. Users log in with IAM."""

    public_ranges: Annotated[
        tuple[Cidr, ...], Field(description="Public address ranges with access to the API server")
    ] = ()
    private: Annotated[bool, Field(description="Give the API server a private address only")] = False
    admins: Annotated[
        tuple[RoleArn, ...],
        Field(description="IAM roles that administer the cluster, in addition to the creator"),
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
    """Node group of the system pods. It has the taint CriticalAddonsOnly."""

    machine: InstanceType = "m6i.large"
    nodes: NodeRange = NodeRange(min=2, max=3)


class EksMachine(InlineMachine):
    """An instance type that is not in the catalogue."""

    instance_type: InstanceType
    arch: Annotated[Literal["amd64", "arm64"], Field(description="CPU architecture")] = "amd64"


class OwnImage(SettingsModel):
    """A custom image, built on AL2023 with NVIDIA's driver in the root file system."""

    id: Annotated[
        str,
        Field(description="Id of the AMI, such as ami-0123456789abcdef0", pattern=r"^ami-[0-9a-f]{8,17}$"),
    ]
    arch: Annotated[Literal["amd64", "arm64"], Field(description="CPU architecture of the image")] = "amd64"
    nvidia_driver: Annotated[
        str, Field(pattern=r"^\d+\.\d+(\.\d+)?$", description="Version of the NVIDIA driver in the image")
    ]


def image_form(value: object) -> str:
    """Return the tag of an image's form: an AMI type or a custom image."""
    return "<inline>" if isinstance(value, OwnImage | Mapping) else "<name>"


class EksUpgrade(SettingsModel):
    """Upgrade of a node group. MINIMAL removes nodes first and needs no additional quota."""

    unavailable: Annotated[
        str,
        BeforeValidator(_text),
        Field(
            pattern=r"^[1-9][0-9]{0,2}%?$",
            description="A number of nodes, or a percentage of the group such as 33%",
            json_schema_extra={"type": ["string", "integer"]},
        ),
    ] = "1"
    strategy: Annotated[
        Literal["DEFAULT", "MINIMAL"],
        Field(
            description=(
                "MINIMAL removes nodes before it adds new ones, so that no additional quota is needed"
            )
        ),
    ] = "MINIMAL"


class EksPoolSettings(CreatedPoolSettings):
    """A managed node group of one instance type. New nodes start with its labels and taints."""

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
        description="AMI type, or {id, arch, nvidiaDriver}. Default: AL2023, with NVIDIA's driver for GPUs",
    )
    release: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]+\.[0-9]+\.[0-9]+-[0-9a-f]+$",
            description="Release of the AMI type, such as 1.35.2-20260415. Default: the newest",
        ),
    ] = None
    device_plugin: Annotated[
        bool, Field(description="Keep the image's device plugin enabled. Cannot be combined with DRA")
    ] = False
    zones: Annotated[
        tuple[ZoneName, ...], Field(description="Zones of the nodes. Default: all zones with a subnet")
    ] = ()
    capacity: Annotated[
        Literal["ON_DEMAND", "SPOT", "CAPACITY_BLOCK"], Field(description="Purchase option of the machines")
    ] = "ON_DEMAND"
    reservation: Annotated[
        ReservationId | None,
        Field(description="Id of an on-demand capacity reservation or of a Capacity Block"),
    ] = None
    efa: Annotated[bool, Field(description="Attach all EFA network cards to the nodes")] = False
    placement_group: Annotated[
        bool | None,
        Field(description="Place the nodes in a cluster placement group. Default: the value of `efa`"),
    ] = None
    security_group: Annotated[
        str | None,
        Field(
            pattern=r"^sg-[0-9a-f]{8,17}$",
            description="Security group for EFA. Default: the stack creates one",
        ),
    ] = None
    karpenter: Annotated[
        bool,
        Field(
            description="Let Karpenter create the nodes for pods that need them, instead of a node group. "
            "Requires nodes.min 0 and `karpenter` of the cluster"
        ),
    ] = False
    disk: Annotated[int, Field(ge=20, le=16384, description="GiB")] = 200
    repair: Annotated[bool, Field(description="EKS replaces nodes with a failed GPU or kubelet")] = True
    upgrade: EksUpgrade = EksUpgrade()


class EksClusterSettings(CreatedClusterSettings):
    """An EKS cluster, created or adopted by this stack."""

    cloud: Literal["eks"]
    region: Annotated[
        str, Field(pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]$", description="Region, such as us-east-1")
    ]
    account: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]{12}$", description="Account id in quotes. It must be the account of the login"
        ),
    ] = None
    create: CreateEks | None = None
    adopt: AdoptEks | None = None
    access: EksAccess | None = None
    support: Annotated[
        Literal["STANDARD", "EXTENDED"],
        Field(description="EXTENDED supports a Kubernetes version for one more year and costs more"),
    ] = "STANDARD"
    auto_mode: Annotated[bool, Field(description="Enable EKS Auto Mode, which does not support DRA")] = False
    karpenter: Annotated[
        str | None,
        Field(
            pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$",
            description="Version of Karpenter, such as 1.15.1, for pools with `karpenter: true`. The stack "
            "installs it in a cluster that it creates. An existing cluster must have it, with enableDRA",
        ),
    ] = None
    addons: Annotated[
        Mapping[DnsLabel, str],
        Field(description="Additional EKS add-ons with their exact versions"),
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
                "must set the access to the API server",
                allowed="access: {publicRanges: [203.0.113.0/24]} or access: {private: true}",
                fix="add access",
            )
        return self

    def zones(self) -> tuple[str, ...]:
        """Return the zones of the nodes."""
        if self.adopt is not None:
            return tuple(sorted(self.adopt.subnets))
        if self.create is not None and self.create.network is not None:
            return tuple(sorted(self.create.network.zones))
        return tuple(sorted(self.create.subnets)) if self.create is not None else ()
