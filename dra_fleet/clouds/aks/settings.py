"""Azure Kubernetes Service: a cluster to create or to adopt, how it is reached and upgraded, its GPU pools.

The words are Azure's where they name something of Azure. Facts of machines are in the catalogue; what fits
together is decided by the plan.
"""

from collections.abc import Mapping
from ipaddress import IPv4Network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

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


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _range(value: str) -> str:
    try:
        network = IPv4Network(value, strict=False)
    except ValueError:
        raise refuse(
            "is not an IPv4 range", allowed=_RANGE, fix="write one address as 203.0.113.7/32"
        ) from None
    if network.prefixlen == 0:
        raise refuse(
            "opens the API server to everyone", allowed=_RANGE, fix="name your own ranges, or private: true"
        )
    return value


_GUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_RANGE = "a range such as 203.0.113.0/24"
ResourceGroupName = Annotated[
    str,
    Field(
        # A bounded repeat of \w, which has all letters of the simulator, takes 30 ms to compile.
        pattern=r"^[-\w._()]*[-\w_()]$",
        max_length=90,
        description="Name of a resource group: at most 90 letters, digits and - _ . ( ), no dot at the end",
    ),
]
ResourceId = Annotated[
    str, Field(pattern=r"^/subscriptions/.+$", description="Azure resource id: /subscriptions/…")
]
Zone = Annotated[
    str,
    BeforeValidator(_text),
    Field(
        pattern=r"^[1-9]$",
        description="Number of an availability zone of the region, such as 1",
        json_schema_extra={"type": ["string", "integer"]},
    ),
]
VmSize = Annotated[
    str,
    Field(
        pattern=r"^[A-Z][A-Za-z0-9]*_[A-Za-z0-9_-]+$",
        description="Azure VM size, such as Standard_NC24ads_A100_v4",
    ),
]
IpRange = Annotated[
    str,
    Field(pattern=r"^[0-9.]+/[0-9]{1,2}$", description="IPv4 range such as 203.0.113.0/24"),
    AfterValidator(_range),
]
Nodes = Annotated[
    str,
    BeforeValidator(_text),
    Field(
        pattern=r"^[1-9][0-9]{0,2}%?$",
        description="A number of nodes, or a percentage of the pool such as 33%",
        json_schema_extra={"type": ["string", "integer"]},
    ),
]


SubnetId = Annotated[
    str,
    Field(
        pattern=r"^/subscriptions/[^/]+/resourceGroups/[^/]+/providers/Microsoft.Network/virtualNetworks/[^/]+/subnets/[^/]+$",
        description="Azure resource id of a subnet: /subscriptions/…/virtualNetworks/NAME/subnets/NAME",
    ),
]


class AksLogs(SettingsModel):
    """Control-plane logs, sent to a Log Analytics workspace by a diagnostic setting."""

    workspace: Annotated[OrOutput[ResourceId], Field(description="Resource id of the workspace")]
    # https://learn.microsoft.com/azure/aks/monitor-aks-reference#resource-logs (2026-11-25)
    categories: Annotated[
        tuple[
            Literal[
                "kube-apiserver", "kube-audit", "kube-audit-admin", "kube-controller-manager",
                "kube-scheduler", "cluster-autoscaler", "cloud-controller-manager", "guard",
            ],
            ...,
        ],
        Field(min_length=1, description="Logs of the control plane"),
    ] = ("kube-apiserver", "kube-audit-admin")  # fmt: skip


class CreateCluster(SettingsModel):
    """Create the resource group and the cluster. The cluster's name is its key in the stack file."""

    resource_group: ResourceGroupName
    identity: Annotated[
        OrOutput[ResourceId] | None,
        Field(
            description=(
                "User-assigned identity with permissions on the subnet, the key and capacity "
                "reservation groups"
            )
        ),
    ] = None
    subnet: Annotated[
        OrOutput[SubnetId] | None,
        Field(description="Subnet of all nodes. Default: AKS creates a virtual network"),
    ] = None
    encryption_key: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^https://.+/keys/[^/]+/[^/]+$")]] | None,
        Field(description="Id of a Key Vault key that encrypts Secrets in etcd. Requires `identity`"),
    ] = None
    logs: AksLogs | None = None

    @model_validator(mode="after")
    def _key_with_identity(self) -> Self:
        # https://learn.microsoft.com/azure/aks/use-kms-etcd-encryption (2026-11-25)
        if self.encryption_key is not None and self.identity is None:
            raise refuse("needs a user-assigned identity", at="encryptionKey", fix="add identity")
        return self


class AdoptCluster(SettingsModel):
    """Use an existing cluster. The stack adds node pools and objects, and never deletes the cluster."""

    resource_group: Annotated[
        OrOutput[ResourceGroupName], Field(description="Name of the cluster's resource group")
    ]
    name: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9_]{0,61}[A-Za-z0-9])?$")]],
        Field(description="Name of the cluster in Azure: at most 63 letters, digits and - _"),
    ]


class AksAccess(SettingsModel):
    """Access to the API server, and the login of dra-fleet. Local accounts are always disabled."""

    authorized_ranges: Annotated[
        tuple[IpRange, ...], Field(description="Public address ranges with access to the API server")
    ] = ()
    private: Annotated[bool, Field(description="Give the API server a private address only")] = False
    admin_groups: Annotated[
        tuple[Annotated[str, Field(pattern=_GUID, description="Object id of a group, in lower case")], ...],
        Field(description="Object ids of the Entra ID groups that administer the cluster"),
    ] = ()
    login: Annotated[
        Literal["azurecli", "workloadidentity", "spn", "msi"],
        Field(description="Login method of kubelogin where the stack runs"),
    ] = "azurecli"

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.private == bool(self.authorized_ranges):
            raise refuse(
                "must have exactly one of private: true and authorizedRanges",
                fix="name the ranges that may reach the API server, or make it private",
            )
        return self


class MaintenanceWindow(SettingsModel):
    """Weekly window of automatic upgrades."""

    day: Annotated[
        Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
        Field(description="Day of the week"),
    ]
    start: Annotated[
        str,
        Field(
            pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$",
            description="Time in UTC as HH:MM, such as 02:00, in quotes",
        ),
    ]
    hours: Annotated[int, Field(description="Length of the window in hours", ge=4, le=24)] = 4


class AksUpgrades(SettingsModel):
    """Automatic upgrades by AKS. They are off by default, and run only in the window."""

    kubernetes: Annotated[
        Literal["none", "patch", "stable", "rapid", "node-image"],
        Field(description="AKS channel of automatic Kubernetes upgrades"),
    ] = "none"
    node_image: Annotated[
        Literal["None", "Unmanaged", "SecurityPatch", "NodeImage"],
        Field(description="AKS channel of automatic node image upgrades"),
    ] = "None"
    window: MaintenanceWindow | None = None

    @model_validator(mode="after")
    def _inside_the_window(self) -> Self:
        if (self.kubernetes, self.node_image) != ("none", "None") and self.window is None:
            raise refuse(
                "must have a window when upgrades run by themselves: they drain GPU nodes",
                allowed="kubernetes: none and nodeImage: None, or window: {day, start, hours}",
                fix='add window: {day: Sunday, start: "02:00", hours: 4}',
            )
        return self


class SystemPool(SettingsModel):
    """Pool of the system pods. It has the taint CriticalAddonsOnly."""

    machine: VmSize = "Standard_D4ds_v5"
    nodes: NodeRange = NodeRange(min=2, max=3)
    zones: Annotated[tuple[Zone, ...], Field(description="Availability zones")] = ()


class AksMachine(InlineMachine):
    """A VM size that is not in the catalogue."""

    vm_size: VmSize


class PoolUpgrade(SettingsModel):
    """Upgrade of a pool: with additional nodes (surge) or with fewer nodes."""

    surge: Nodes | None = None
    unavailable: Nodes | None = None
    drain_timeout: Annotated[int, Field(ge=1, le=1440, description="Minutes")] = 60

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if self.surge is not None and self.unavailable is not None:
            raise refuse(
                "must not have both surge and unavailable",
                fix="surge needs quota for more machines; unavailable needs none",
            )
        return self


class AksPoolSettings(CreatedPoolSettings):
    """A node pool of one VM size. New nodes start with its labels and taints."""

    machine: Annotated[
        Annotated[str, Tag("<name>")] | Annotated[AksMachine, Tag("<inline>")],
        Discriminator(machine_form),
        Field(description="VM size of the catalogue, or {vmSize, gpu, gpus, cpus, memory}"),
    ]
    gpu_driver: Annotated[
        Literal["aks", "operator"], Field(description="What installs the GPU driver on the nodes")
    ] = "aks"
    zones: Annotated[tuple[Zone, ...], Field(description="Availability zones")] = ()
    spot: Annotated[
        bool, Field(description="Use spot machines, which are cheaper and can be reclaimed at any time")
    ] = False
    subnet: Annotated[
        OrOutput[SubnetId] | None,
        Field(
            description=(
                "Subnet of the nodes. Default: the subnet of the cluster, or of an adopted cluster's "
                "system pool"
            )
        ),
    ] = None
    capacity_reservation_group: ResourceId | None = None
    priority: Annotated[
        int | None,
        Field(
            ge=1,
            description=(
                "Priority for the autoscaler, which grows the suitable pool with the highest number"
            ),
        ),
    ] = None
    gpu_instance_profile: Annotated[
        Literal["MIG1g", "MIG2g", "MIG3g", "MIG4g", "MIG7g"] | None,
        Field(description="MIG profile that AKS creates and advertises. Cannot be combined with DRA"),
    ] = None
    gpu_management: Annotated[
        Literal["Unmanaged", "Managed"], Field(description="Managed: AKS installs its own device plugin")
    ] = "Unmanaged"
    dranet: Annotated[
        bool, Field(description="Enable the DRA driver that AKS manages for InfiniBand network cards")
    ] = False
    os_sku: Annotated[Literal[
        "Ubuntu", "Ubuntu2204", "Ubuntu2404", "AzureLinux", "AzureLinux3", "AzureLinuxOSGuard", "Flatcar",
        "Windows2022",
    ], Field(description="Node image")] = "Ubuntu2404"  # fmt: skip
    type: Annotated[
        Literal["VirtualMachineScaleSets", "VirtualMachines"],
        Field(description="How Azure manages the machines"),
    ] = "VirtualMachineScaleSets"
    upgrade: PoolUpgrade = PoolUpgrade(unavailable="1")


class AksClusterSettings(CreatedClusterSettings):
    """An AKS cluster, created or adopted by this stack."""

    cloud: Literal["aks"]
    region: Annotated[
        str, Field(pattern=r"^[a-z]+[a-z0-9]*$", description="Azure region without spaces, such as eastus")
    ]
    subscription: (
        Annotated[
            str, Field(pattern=_GUID, description="Subscription id. Default: the subscription of the login")
        ]
        | None
    ) = None
    create: CreateCluster | None = None
    adopt: AdoptCluster | None = None
    sku: Annotated[Literal["Base", "Automatic"], Field(description="Automatic creates nodes on demand")] = (
        "Base"
    )
    node_provisioning: Annotated[
        Literal["Manual", "Auto"], Field(description="Auto: AKS creates nodes on demand (Karpenter)")
    ] = "Manual"
    long_term_support: Annotated[
        bool, Field(description="Two years of support for the Kubernetes version")
    ] = False
    access: AksAccess | None = None
    upgrades: AksUpgrades = AksUpgrades()
    system_pool: SystemPool = SystemPool()
    gpu_operator: GpuOperatorSettings | None = None
    pools: Annotated[Mapping[DnsLabel, AksPoolSettings], Field(min_length=1)]

    @model_validator(mode="after")
    def _created_or_adopted(self) -> Self:
        if (self.create is None) == (self.adopt is None):
            raise refuse(
                "must have exactly one of create and adopt",
                allowed="create: {resourceGroup} or adopt: {resourceGroup, name}",
            )
        if self.create is not None and self.access is None:
            raise refuse(
                "must set the access to the API server",
                allowed="access: {authorizedRanges: [203.0.113.0/24]} or access: {private: true}",
                fix="add access",
            )
        return self
