"""Settings of a GKE cluster and its node pools."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dra_fleet.clouds.settings import CreatedClusterSettings, CreatedPoolSettings
from dra_fleet.kubernetes.devices.base import camel, refuse
from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.model.settings import InlineMachine, NodeRange, OrOutput, SettingsModel, machine_form

Zone = Annotated[
    str, Field(pattern=r"^[a-z]+-[a-z]+[0-9]+-[a-z]$", description="Zone, such as us-central1-a")
]
ServiceAccount = Annotated[
    OrOutput[Annotated[str, Field(pattern=r"^[^@ ]+@[^@ ]+\.gserviceaccount\.com$")]],
    Field(description="Email of the nodes' service account. Default: the default account of Compute Engine"),
]
Consume = Literal["NO_RESERVATION", "ANY_RESERVATION", "SPECIFIC_RESERVATION", "ANY_RESERVATION_THEN_FAIL"]


class GkeMachine(InlineMachine):
    """A machine type that is not in the catalogue."""

    machine_type: Annotated[
        str,
        Field(
            description="Google's name of the machine type, such as g2-standard-8",
            pattern=r"^[a-z][a-z0-9]*-[a-z0-9-]+$",
        ),
    ]
    accelerator: Annotated[str, Field(pattern=r"^nvidia-[a-z0-9-]+$", description="Google's name of the GPU")]
    arch: Annotated[Literal["amd64", "arm64"], Field(description="CPU architecture")] = "amd64"


class Reservation(SettingsModel):
    """Reserved capacity: any that fits, or specific reservations."""

    consume: Annotated[Consume, Field(description="Which reservations the nodes use")]
    names: Annotated[
        tuple[str, ...],
        Field(description="Names for SPECIFIC_RESERVATION, or projects/P/reservations/R/reservationBlocks/B"),
    ] = ()

    @model_validator(mode="after")
    def _named_if_specific(self) -> Self:
        if (self.consume == "SPECIFIC_RESERVATION") != bool(self.names):
            raise refuse(
                "must have names with SPECIFIC_RESERVATION, and only then",
                fix="add names: [my-reservation], or change consume",
            )
        return self


class Placement(SettingsModel):
    """Compact placement by a new or an existing policy."""

    compact: Annotated[bool, Field(description="Place the nodes close together")] = True
    policy: Annotated[str | None, Field(description="Name of an existing resource policy")] = None
    topology: Annotated[
        str | None, Field(pattern=r"^[0-9]+x[0-9]+(x[0-9]+)?$", description="Topology of a TPU slice")
    ] = None


class GpuSharing(SettingsModel):
    """GPU sharing by GKE's device plugin. Cannot be combined with DRA."""

    strategy: Annotated[Literal["TIME_SHARING", "MPS"], Field(description="How pods share a GPU")]
    clients: Annotated[int, Field(ge=2, le=48, description="Maximum pods per GPU")]


class GkePoolUpgrade(SettingsModel):
    """Upgrade of a pool's nodes."""

    auto: Annotated[
        bool | None, Field(description="Default: enabled if the cluster has a release channel")
    ] = None
    strategy: Annotated[
        Literal["SURGE", "BLUE_GREEN"],
        Field(description="SURGE replaces node by node. BLUE_GREEN creates all new nodes first"),
    ] = "SURGE"
    surge: Annotated[
        int, Field(ge=0, le=20, description="Additional nodes during an upgrade. They need quota")
    ] = 0
    unavailable: Annotated[int, Field(ge=0, le=20, description="Unavailable nodes during an upgrade")] = 1

    @model_validator(mode="after")
    def _some_way(self) -> Self:
        if self.strategy == "SURGE" and self.surge + self.unavailable == 0:
            raise refuse("must have surge or unavailable of at least 1", fix="set unavailable: 1")
        given = sorted({"surge", "unavailable"} & self.model_fields_set)
        if self.strategy == "BLUE_GREEN" and given:
            raise refuse(
                f"must have no {' and '.join(given)} with strategy BLUE_GREEN, which makes new nodes first",
                fix=f"remove {' and '.join(given)}, or set strategy: SURGE",
            )
        return self


class GkePoolSettings(CreatedPoolSettings):
    """A node pool of one machine type. `nodes` counts the nodes of all zones."""

    machine: Annotated[
        Annotated[str, Tag("<name>")] | Annotated[GkeMachine, Tag("<inline>")],
        Discriminator(machine_form),
        Field(description="Machine type, or {machineType, accelerator, gpu, gpus, cpus, memory}"),
    ]
    gpu_driver: Annotated[
        Literal["installer", "external", "gke"] | None,
        Field(
            description=(
                "What installs the GPU driver: a DaemonSet of this stack (installer), something else "
                "(external), or GKE with its device plugin (gke). null: GKE's default"
            )
        ),
    ] = "installer"
    driver_installer: Annotated[
        Literal["cos", "cos-a4x", "cos-vgpu", "ubuntu"] | None,
        Field(description="Name of the installer. Default: the installer for the machine and the image"),
    ] = None
    image: Annotated[Literal["COS_CONTAINERD", "UBUNTU_CONTAINERD"], Field(description="Node image")] = (
        "COS_CONTAINERD"
    )
    zones: Annotated[tuple[Zone, ...], Field(description="Zones of the nodes")] = ()
    spot: Annotated[
        bool, Field(description="Use spot machines, which are cheaper and can be reclaimed at any time")
    ] = False
    flex_start: Annotated[
        bool, Field(description="Dynamic Workload Scheduler: start nodes when capacity is available")
    ] = False
    queued: Annotated[
        bool,
        Field(description="Dynamic Workload Scheduler: queue requests and start all their nodes together"),
    ] = False
    max_run_duration: Annotated[
        str | None, Field(pattern=r"^[1-9][0-9]*s$", description="Seconds with the suffix s, such as 3600s")
    ] = None
    reservation: Reservation | None = None
    placement: Placement | None = None
    gpu_sharing: GpuSharing | None = None
    gpu_partition_size: Annotated[
        str | None,
        Field(description="MIG profile that GKE creates and advertises. Cannot be combined with DRA"),
    ] = None
    dranet: Annotated[
        bool, Field(description="Enable GKE's managed DRA driver for the machine's network cards")
    ] = False
    additional_networks: Annotated[
        tuple[str, ...], Field(description="Additional networks of the nodes")
    ] = ()
    service_account: ServiceAccount | None = None
    disk_gib: Annotated[int, Field(description="Size of the boot disk in GiB", ge=10, le=65536)] = 100
    auto_repair: Annotated[bool, Field(description="GKE replaces failed nodes")] = True
    upgrade: GkePoolUpgrade = GkePoolUpgrade()


Project = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$", description="Id of the Google Cloud project")
]
Location = Annotated[
    str, Field(pattern=r"^[a-z]+-[a-z]+[0-9]+(-[a-z])?$", description="Region, or zone of a zonal cluster")
]
Network = Annotated[str, Field(pattern=r"^[a-z0-9./_-]+$", description="Name or path of a network")]
_HOURS = 48
"""Google requests this many hours of maintenance in every 32 days."""


class CreateGkeCluster(SettingsModel):
    """Create the cluster in an existing network. Its name is its key in the stack file."""

    network: Annotated[OrOutput[Network], Field(description="Name or path of a network")] = "default"
    subnetwork: Annotated[OrOutput[Network] | None, Field(description="Name or path of a subnetwork")] = None
    private_nodes: Annotated[
        bool,
        Field(
            description=(
                "Give the nodes private addresses only. Images from outside Google Cloud then need Cloud NAT"
            )
        ),
    ] = False

    encryption_key: Annotated[
        OrOutput[
            Annotated[str, Field(pattern=r"^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$")]
        ]
        | None,
        Field(description="Cloud KMS key that encrypts Secrets in etcd: projects/…/cryptoKeys/NAME"),
    ] = None
    # https://cloud.google.com/kubernetes-engine/docs/how-to/view-logs (2026-11-25)
    logs: Annotated[
        tuple[Literal["WORKLOADS", "APISERVER", "SCHEDULER", "CONTROLLER_MANAGER"], ...],
        Field(description="Logs in addition to SYSTEM_COMPONENTS. Default: GKE's default"),
    ] = ()
    # https://cloud.google.com/kubernetes-engine/docs/concepts/cluster-autoscaler (2026-11-28)
    autoscaling_profile: Annotated[
        Literal["BALANCED", "OPTIMIZE_UTILIZATION"],
        Field(description="OPTIMIZE_UTILIZATION: fill used nodes first, and remove idle nodes sooner"),
    ] = "BALANCED"


class AdoptGkeCluster(SettingsModel):
    """Use an existing cluster. The stack adds node pools and objects, and never deletes the cluster."""

    name: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$")]],
        Field(description="Name of the cluster: at most 40 lower-case letters, digits and -"),
    ]


class GkeAccess(SettingsModel):
    """Access to the API server. IAM protects its DNS name; it has no public address."""

    external: Annotated[
        bool,
        Field(description="The DNS name also answers outside Google Cloud, for users with IAM permission"),
    ]


class GkeWindow(SettingsModel):
    """Weekly window of upgrades."""

    days: Annotated[
        tuple[Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"], ...],
        Field(description="Days of the week", min_length=1),
    ]
    start: Annotated[
        str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description="Start in UTC, HH:MM")
    ]
    hours: Annotated[int, Field(description="Length of the window in hours", ge=4, le=24)]

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        hours = 4 * len(set(self.days)) * self.hours
        if hours < _HOURS:
            raise refuse(
                f"must leave at least {_HOURS} hours of maintenance in four weeks, this leaves {hours}",
                allowed="days times hours of 12 or more",
                fix='add days or hours, for example days: [Saturday, Sunday], start: "02:00", hours: 6',
            )
        return self


class GkeUpgrades(SettingsModel):
    """Release channel and window of Google's automatic upgrades. UNSPECIFIED: no channel."""

    channel: Annotated[
        Literal["RAPID", "REGULAR", "STABLE", "EXTENDED", "UNSPECIFIED"], Field(description="Release channel")
    ] = "REGULAR"
    window: GkeWindow | None = None


class GkeSystemPool(SettingsModel):
    """Pool of the system pods and the drivers' controllers."""

    machine: Annotated[
        str, Field(description="Machine type, such as e2-standard-4", pattern=r"^[a-z][a-z0-9]*-[a-z0-9-]+$")
    ] = "e2-standard-4"
    nodes: NodeRange = NodeRange(min=1, max=3)
    zones: Annotated[
        tuple[Zone, ...], Field(description="Zones of the nodes. Default: the zones of the location")
    ] = ()
    service_account: ServiceAccount | None = None


class ComputeClassSettings(SettingsModel):
    """Order in which the autoscaler grows pools for pods that select this class."""

    priorities: Annotated[
        tuple[DnsLabel, ...], Field(min_length=1, description="Names of pools, in order of preference")
    ]


class GkeClusterSettings(CreatedClusterSettings):
    """A GKE cluster, created or adopted by this stack."""

    cloud: Literal["gke"]
    project: Project
    location: Location
    version: Annotated[
        str | None,
        Field(
            pattern=r"^1\.[0-9]+\.[0-9]+-gke\.[0-9]+$",
            description="Exact version. Default: the channel's default for `kubernetes`",
        ),
    ] = None
    create: CreateGkeCluster | None = None
    adopt: AdoptGkeCluster | None = None
    mode: Annotated[
        Literal["Standard", "Autopilot"],
        Field(description="Autopilot creates its own nodes and does not support DRA"),
    ] = "Standard"
    datapath: Annotated[
        Literal["ADVANCED_DATAPATH", "LEGACY_DATAPATH"], Field(description="ADVANCED_DATAPATH: Dataplane V2")
    ] = "ADVANCED_DATAPATH"
    access: GkeAccess | None = None
    upgrades: GkeUpgrades = GkeUpgrades()
    system_pool: GkeSystemPool = GkeSystemPool()
    compute_classes: Mapping[DnsLabel, ComputeClassSettings] = Field(default_factory=dict)
    pools: Annotated[Mapping[DnsLabel, GkePoolSettings], Field(min_length=1)]

    @model_validator(mode="after")
    def _created_or_adopted(self) -> Self:
        if (self.create is None) == (self.adopt is None):
            raise refuse(
                "must have exactly one of create and adopt",
                allowed="create: {network: default} or adopt: {name: …}",
            )
        if self.create is not None and self.access is None:
            raise refuse(
                "must set the access to the API server",
                allowed="access: {external: true} or access: {external: false}",
                fix="add access",
            )
        unused = sorted({"access", "system_pool"} & self.model_fields_set)
        if self.upgrades.window is not None:
            unused.append("upgrades.window")
        if self.adopt is not None and unused:
            names = ", ".join(camel(name) for name in unused)
            raise refuse(
                f"must not set {names} beside adopt: the cluster is not changed",
                allowed="adopt with pools, drivers, computeClasses and upgrades: {channel}",
                fix=f"remove {names}; change the cluster where it is declared",
            )
        return self
