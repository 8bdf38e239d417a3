"""The plan of a stack file: frozen values that components build, the proof checks and reviews show.

Nothing here is an Output and nothing refers to a simulated or real cloud.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from dra_fleet.kubernetes.devices.claim import ClaimSpec
    from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec
    from dra_fleet.kubernetes.scheduling.taints import Taint, Toleration
    from dra_fleet.model.fleet import ClusterSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.settings import Advertiser, DescribedDevices, KubeconfigSource, Sharing, TextOrOutput
    from dra_fleet.model.workloads import WorkloadSettings

ChartValues = Mapping[str, Any]
"""Helm values as plain data; None means null and must reach Helm as null."""


class PoolPlan(Struct, frozen=True, kw_only=True):
    """A group of nodes of one machine type.

    `labels` are on every node of the pool (on an existing cluster: they select it). `isolation` says in words
    what keeps the holders of its devices apart. `driver_root`: where on the host the GPU driver is, if that
    does not follow from who installs it. `network_cards`: those of each node that a
    driver publishes. `devices`: those that the stack file describes. `advertise`: who makes the machine's own
    devices known. `managed_drivers`: the DRA drivers that the cloud itself runs on its nodes. `partitions`:
    the partitions of each device that the cloud itself makes, by profile. `autoscaler`: what creates its
    nodes, if not the cloud's own autoscaler.
    """

    name: str
    machine: Machine
    min_nodes: int
    max_nodes: int
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    gpu_driver: Literal["host", "operator"]
    sharing: Sharing
    isolation: str = ""
    driver_root: str | None = None
    network_cards: int = 0
    devices: tuple[DescribedDevices, ...] = ()
    advertise: Advertiser = "dra"
    managed_drivers: tuple[ManagedDriver, ...] = ()
    partitions: Mapping[str, int] = field(default_factory=dict[str, int])
    autoscaler: str = ""

    @property
    def by_dra(self) -> bool:
        """True if DRA drivers advertise the machine's own devices on its nodes."""
        return self.advertise != "device-plugin"

    @property
    def by_plugin(self) -> bool:
        """True if a device plugin advertises the machine's own devices."""
        return self.advertise in {"device-plugin", "compute-domain-only"}

    def has_managed(self, driver: str) -> bool:
        """Return whether the cloud itself runs a driver, by its name in stack files, on the pool's nodes."""
        return any(item.driver == driver for item in self.managed_drivers)


class NamespacePlan(Struct, frozen=True, kw_only=True):
    """A namespace the stack owns."""

    name: str
    labels: Mapping[str, str]


class ReleasePlan(Struct, frozen=True, kw_only=True):
    """A Helm release of a driver's chart. `after`: names of the releases that must exist first."""

    name: str
    driver: str
    chart: str
    version: str
    repository: str
    namespace: str
    values: ChartValues
    after: tuple[str, ...] = ()


class DeviceClassPlan(Struct, frozen=True, kw_only=True):
    """A DeviceClass; its name is API for tenants and stays."""

    name: str
    spec: DeviceClassSpec


class ClaimTemplatePlan(Struct, frozen=True, kw_only=True):
    """A ResourceClaimTemplate. `external`: consumed outside the stack, so it keeps its exact name.

    `after`: names of the releases whose webhook checks it.
    """

    name: str
    namespace: str
    spec: ClaimSpec
    external: bool
    after: tuple[str, ...] = ()


class ClaimPlan(Struct, frozen=True, kw_only=True):
    """A ResourceClaim that several pods share. `after`: names of the releases whose webhook checks it."""

    name: str
    namespace: str
    spec: ClaimSpec
    after: tuple[str, ...] = ()


class ComputeDomainPlan(Struct, frozen=True, kw_only=True):
    """A ComputeDomain. The driver's controller creates the template of its channels, named `template`.

    `driver`: the owner of the object. `channel_class`: the DeviceClass of its channels. `channel_request`:
    the name of the request for one in the template. `external`: the template is consumed outside the stack,
    so it keeps its exact name. `after`: names of the driver's releases, which install the API and the
    controller.
    """

    name: str
    driver: str
    namespace: str
    num_nodes: int
    allocation_mode: Literal["Single", "All"] | None
    template: str
    channel_class: str
    channel_request: str
    external: bool
    after: tuple[str, ...] = ()


class QueuePlan(Struct, frozen=True, kw_only=True):
    """A queue of Kueue's for one team: a ClusterQueue, and a LocalQueue of that name in `namespace`.

    `quotas`: devices that are its own. `borrowing`: how many it may borrow at most of its cohort, which is
    all that others do not use where nothing is said. `reclaims`: whether those who borrow its devices are
    stopped when it needs them. `after`: names of the releases that serve it.
    """

    name: str
    namespace: str
    cohort: str | None
    quotas: Mapping[str, int]
    borrowing: Mapping[str, int]
    reclaims: Literal["Never", "Any"]
    after: tuple[str, ...] = ()


class WorkloadPlan(Struct, frozen=True, kw_only=True):
    """A Job whose `copies` pods each hold one claim, all at the same time.

    `accept` holds what its owner accepts of a proof that is less than certain, each with the reason.
    `compute_domain`: the one whose channel each pod claims too.
    `queue`: the one that starts all its pods or none. `quota`: what each pod takes of it.
    `gang`: pods that Kubernetes' own scheduler places together or not at all; 0 without a gang.
    `after`: names of the releases that serve its claim.
    `runs`: the settings of its pods; None for demand, which is proved and not created.
    """

    name: str
    namespace: str
    template: str | None
    claim: str | None
    copies: int
    runs: WorkloadSettings | None
    node_selector: Mapping[str, str]
    tolerations: tuple[Toleration, ...]
    cpu: str
    memory: str
    accept: Mapping[str, str] = field(default_factory=dict[str, str])
    compute_domain: str | None = None
    queue: str | None = None
    quota: Mapping[str, int] = field(default_factory=dict[str, int])
    gang: int = 0
    after: tuple[str, ...] = ()

    @property
    def section(self) -> str:
        """The section of the stack file that declares it."""
        return "demand" if self.runs is None else "workloads"


class Additions(Struct, frozen=True, kw_only=True):
    """Tags and provider arguments that a cluster or a pool adds to its resources.

    Attributes:
        tags: Tags of all its resources; labels on Google Cloud.
        arguments: Further arguments of its main resource, under the provider's names.
    """

    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    arguments: ChartValues = field(default_factory=dict[str, Any])


class ClusterPlan(Struct, frozen=True, kw_only=True):
    """A cluster and all that the stack installs in it. `kubernetes` is a minor such as "1.36".

    `kubeconfig`: its source; None if the program creates it from the cloud's report.
    `adopts`: the name in its cloud of a cluster that existed before the stack.
    `additions`: those of its pools by name, and of the cluster itself under "".
    """

    name: str
    cloud: str
    kubernetes: str
    settings: ClusterSettings
    pools: tuple[PoolPlan, ...]
    namespaces: tuple[NamespacePlan, ...]
    releases: tuple[ReleasePlan, ...]
    classes: tuple[DeviceClassPlan, ...]
    templates: tuple[ClaimTemplatePlan, ...]
    claims: tuple[ClaimPlan, ...]
    workloads: tuple[WorkloadPlan, ...]
    demand: tuple[WorkloadPlan, ...] = ()
    compute_domains: tuple[ComputeDomainPlan, ...] = ()
    queues: tuple[QueuePlan, ...] = ()
    kubeconfig: KubeconfigSource | None = None
    adopts: TextOrOutput | None = None
    additions: Mapping[str, Additions] = field(default_factory=dict[str, Additions])


class FleetPlan(Struct, frozen=True, kw_only=True):
    """The whole stack. `warnings` are sentences for people; they stop nothing."""

    owner: str
    environment: str
    clusters: tuple[ClusterPlan, ...]
    warnings: tuple[str, ...]
