"""Node pools of Google Kubernetes Engine: machine, node image, capacity, driver, sharing, upgrades."""

from typing import Annotated, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator

from dra_fleet.clouds.settings import CreatedPoolSettings
from dra_fleet.kubernetes.devices.problem import refuse
from dra_fleet.settings.base import SettingsModel
from dra_fleet.settings.pools import InlineMachine, machine_form

Zone = Annotated[
    str, Field(pattern=r"^[a-z]+-[a-z]+[0-9]+-[a-z]$", description="Zone, such as us-central1-a")
]
Consume = Literal["NO_RESERVATION", "ANY_RESERVATION", "SPECIFIC_RESERVATION", "ANY_RESERVATION_THEN_FAIL"]


class GkeMachine(InlineMachine):
    """A machine type that the catalogue does not hold, described here."""

    machine_type: Annotated[
        str,
        Field(
            description="Google's name of the machine type, such as g2-standard-8",
            pattern=r"^[a-z][a-z0-9]*-[a-z0-9-]+$",
        ),
    ]
    accelerator: Annotated[str, Field(pattern=r"^nvidia-[a-z0-9-]+$", description="Google's name of the GPU")]
    arch: Annotated[Literal["amd64", "arm64"], Field(description="Architecture of its CPUs")] = "amd64"


class Reservation(SettingsModel):
    """Capacity reserved before: any that fits, or those named."""

    consume: Annotated[Consume, Field(description="Which reservations may be used")]
    names: Annotated[
        tuple[str, ...],
        Field(description="Of SPECIFIC_RESERVATION: names, or projects/P/reservations/R/reservationBlocks/B"),
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
    """Nodes close to each other: a policy of the pool's own, or one that exists."""

    compact: Annotated[bool, Field(description="A policy that puts the nodes close together")] = True
    policy: Annotated[str | None, Field(description="Name of a resource policy that exists")] = None
    topology: Annotated[
        str | None, Field(pattern=r"^[0-9]+x[0-9]+(x[0-9]+)?$", description="Topology of a TPU slice")
    ] = None


class GpuSharing(SettingsModel):
    """Sharing by GKE's own device plugin; never together with DRA."""

    strategy: Annotated[Literal["TIME_SHARING", "MPS"], Field(description="How pods share a GPU")]
    clients: Annotated[int, Field(ge=2, le=48, description="Pods per GPU at most")]


class GkePoolUpgrade(SettingsModel):
    """How the nodes of a pool are upgraded, and whether Google does it by itself."""

    auto: Annotated[
        bool | None, Field(description="Without it: on where the cluster has a release channel")
    ] = None
    strategy: Annotated[
        Literal["SURGE", "BLUE_GREEN"],
        Field(description="SURGE: node by node. BLUE_GREEN: all new nodes first"),
    ] = "SURGE"
    surge: Annotated[int, Field(ge=0, le=20, description="More nodes for a while; needs quota")] = 0
    unavailable: Annotated[int, Field(ge=0, le=20, description="Fewer nodes for a while")] = 1

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
    """A node pool of one machine type. `nodes` count over all zones."""

    machine: Annotated[
        Annotated[str, Tag("<name>")] | Annotated[GkeMachine, Tag("<inline>")],
        Discriminator(machine_form),
        Field(description="Machine type, or {machineType, accelerator, gpu, gpus, cpus, memory}"),
    ]
    gpu_driver: Annotated[
        Literal["installer", "external", "gke"] | None,
        Field(
            description="Who installs the GPU driver: this stack's DaemonSet, somebody else's, or GKE, "
            "which brings its device plugin. null leaves it to GKE's own default"
        ),
    ] = "installer"
    driver_installer: Annotated[
        Literal["cos", "cos-a4x", "cos-vgpu", "ubuntu"] | None,
        Field(description="Which installer; without it, the one for the machine and the image"),
    ] = None
    image: Annotated[Literal["COS_CONTAINERD", "UBUNTU_CONTAINERD"], Field(description="Node image")] = (
        "COS_CONTAINERD"
    )
    zones: Annotated[tuple[Zone, ...], Field(description="Zones of the nodes")] = ()
    spot: Annotated[bool, Field(description="Spot machines: cheaper, taken away at any time")] = False
    flex_start: Annotated[bool, Field(description="Dynamic Workload Scheduler: start when there is room")] = (
        False
    )
    queued: Annotated[bool, Field(description="Dynamic Workload Scheduler: whole requests, queued")] = False
    max_run_duration: Annotated[
        str | None, Field(pattern=r"^[1-9][0-9]*s$", description="Seconds with their s: 3600s")
    ] = None
    reservation: Reservation | None = None
    placement: Placement | None = None
    gpu_sharing: GpuSharing | None = None
    gpu_partition_size: Annotated[
        str | None, Field(description="MIG partitions made and advertised by GKE; never together with DRA")
    ] = None
    dranet: Annotated[bool, Field(description="GKE's own DRA driver for the machine's network cards")] = False
    additional_networks: Annotated[tuple[str, ...], Field(description="Further networks of the nodes")] = ()
    disk_gib: Annotated[int, Field(description="Boot disk, GiB", ge=10, le=65536)] = 100
    auto_repair: Annotated[bool, Field(description="GKE replaces nodes that fail")] = True
    upgrade: GkePoolUpgrade = GkePoolUpgrade()
