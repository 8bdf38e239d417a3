"""Google Kubernetes Engine: a cluster to create or to adopt, how it is reached and upgraded, its node pools.

The words are Google's where they name something of Google Cloud. Facts of machines are in the catalogue; what
fits together is decided by the plan.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from dra_fleet.clouds.gke.pool_settings import GkePoolSettings, Zone
from dra_fleet.clouds.settings import CommonClusterSettings
from dra_fleet.kubernetes.devices.base import camel
from dra_fleet.kubernetes.devices.names import DnsLabel
from dra_fleet.kubernetes.devices.problem import refuse
from dra_fleet.settings.base import SettingsModel
from dra_fleet.settings.outputs import OrOutput
from dra_fleet.settings.pools import NodeRange

Project = Annotated[
    str, Field(pattern=r"^[a-z][a-z0-9-]{4,28}[a-z0-9]$", description="Id of the Google Cloud project")
]
Location = Annotated[
    str,
    Field(pattern=r"^[a-z]+-[a-z]+[0-9]+(-[a-z])?$", description="Region, or a zone for a zonal cluster"),
]
Network = Annotated[str, Field(pattern=r"^[a-z0-9./_-]+$", description="Name or path of a network")]
_HOURS = 48
"""Google asks for this many hours of maintenance in every 32 days."""


class CreateGkeCluster(SettingsModel):
    """The stack creates the cluster, named after its entry in the stack, in a network that exists."""

    network: Annotated[OrOutput[Network], Field(description="Name or path of a network")] = "default"
    subnetwork: Annotated[OrOutput[Network] | None, Field(description="Name or path of a subnetwork")] = None
    private_nodes: Annotated[
        bool, Field(description="Nodes without public addresses; images from elsewhere then need Cloud NAT")
    ] = False


class AdoptGkeCluster(SettingsModel):
    """The cluster exists; the stack adds node pools and what runs in it, and never deletes the cluster."""

    name: Annotated[
        OrOutput[Annotated[str, Field(pattern=r"^[a-z]([a-z0-9-]{0,38}[a-z0-9])?$")]],
        Field(description="Name of the cluster: at most 40 lower-case letters, digits and -"),
    ]


class GkeAccess(SettingsModel):
    """Who reaches the API server. Its DNS name is guarded by IAM; there is no public address."""

    external: Annotated[
        bool, Field(description="The DNS name answers from outside of Google Cloud too, to whom IAM lets in")
    ]


class GkeWindow(SettingsModel):
    """When upgrades may run, every week."""

    days: Annotated[
        tuple[Literal["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"], ...],
        Field(description="Days of the week", min_length=1),
    ]
    start: Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", description="UTC, HH:MM")]
    hours: Annotated[int, Field(description="Length of the window", ge=4, le=24)]

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
    """The release channel, from which Google upgrades by itself, and when. UNSPECIFIED: no channel."""

    channel: Annotated[
        Literal["RAPID", "REGULAR", "STABLE", "EXTENDED", "UNSPECIFIED"], Field(description="Release channel")
    ] = "REGULAR"
    window: GkeWindow | None = None


class GkeSystemPool(SettingsModel):
    """The pool of the cluster's own pods and of the drivers' controllers."""

    machine: Annotated[
        str, Field(description="Machine type, such as e2-standard-4", pattern=r"^[a-z][a-z0-9]*-[a-z0-9-]+$")
    ] = "e2-standard-4"
    nodes: NodeRange = NodeRange(min=1, max=3)
    zones: Annotated[tuple[Zone, ...], Field(description="Zones; without it, those of the location")] = ()


class ComputeClassSettings(SettingsModel):
    """Pools in the order in which the autoscaler grows them for pods that select this class."""

    priorities: Annotated[
        tuple[DnsLabel, ...], Field(min_length=1, description="Names of pools, most wanted first")
    ]


class GkeClusterSettings(CommonClusterSettings):
    """A cluster in Google Cloud: created by this stack, or adopted."""

    cloud: Literal["gke"]
    project: Project
    location: Location
    version: Annotated[
        str | None,
        Field(
            pattern=r"^1\.[0-9]+\.[0-9]+-gke\.[0-9]+$",
            description="Exact version; without it, the channel's default of the Kubernetes minor",
        ),
    ] = None
    create: CreateGkeCluster | None = None
    adopt: AdoptGkeCluster | None = None
    mode: Annotated[
        Literal["Standard", "Autopilot"], Field(description="Autopilot makes its own nodes, without DRA")
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
                "must say who reaches the API server",
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
