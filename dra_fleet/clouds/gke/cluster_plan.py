"""What Google is asked for: a cluster and its node pools, as frozen values with final names.

Source: https://cloud.google.com/kubernetes-engine/docs/reference/rest/v1/projects.locations.clusters
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.kubernetes.scheduling.taints import Taint
    from dra_fleet.settings.outputs import TextOrOutput


@dataclass(frozen=True, kw_only=True)
class GkeScale:
    """How many nodes: `each` in every zone at the beginning, later within `totals` of all zones.

    `totals`: the least and the most; None where the number is fixed. `anywhere`: new nodes go to whatever
    zone has room, else they are balanced over the zones.
    """

    each: int
    totals: tuple[int, int] | None
    anywhere: bool


@dataclass(frozen=True, kw_only=True)
class GkeSystemPoolPlan:
    """The pool of the cluster's own pods."""

    machine_type: str
    zones: tuple[str, ...]
    scale: GkeScale
    auto_upgrade: bool


@dataclass(frozen=True, kw_only=True)
class GkeMaintenance:
    """A weekly window: its first occurrence in UTC, and the RFC 5545 rule by which it comes again."""

    start: str
    end: str
    recurrence: str


@dataclass(frozen=True, kw_only=True)
class GkeCreation:
    """A cluster that the stack creates. `external`: its DNS name answers outside of Google Cloud too."""

    version: str
    channel: str
    maintenance: GkeMaintenance | None
    network: TextOrOutput
    subnetwork: TextOrOutput | None
    private_nodes: bool
    datapath: str
    multi_networked: bool
    external: bool
    system: GkeSystemPoolPlan


@dataclass(frozen=True, kw_only=True)
class GkeSurge:
    """Nodes more and fewer than usual while a pool is upgraded node by node."""

    more: int
    fewer: int


@dataclass(frozen=True, kw_only=True)
class GkeCompactPlacement:
    """Nodes close together: by a policy that exists, or by one of the pool's own."""

    policy: str | None
    topology: str | None


@dataclass(frozen=True, kw_only=True)
class GkeReservedCapacity:
    """Which reservations the nodes may come out of: a kind, or some by their names."""

    consume: str
    names: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class GkeGpuSharing:
    """How GKE's own device plugin shares a GPU, and among how many pods."""

    strategy: str
    clients: int


@dataclass(frozen=True, kw_only=True)
class GkeGpus:
    """The GPUs of each node. `driver_version`: None leaves the driver to GKE's own default."""

    kind: str
    count: int
    driver_version: str | None
    partition_size: str | None
    sharing: GkeGpuSharing | None


@dataclass(frozen=True, kw_only=True)
class GkePoolPlan:
    """A node pool. `key`: its name in the stack file, `name`: in GKE.

    `surge`: None where all new nodes are made before the old ones go. `taints`: those that GKE does not put
    there by itself.
    """

    key: str
    name: str
    machine_type: str
    image: str
    disk_gib: int
    zones: tuple[str, ...]
    scale: GkeScale
    auto_repair: bool
    auto_upgrade: bool
    surge: GkeSurge | None
    placement: GkeCompactPlacement | None
    reserved: GkeReservedCapacity | None
    spot: bool
    flex_start: bool
    queued: bool
    max_run_duration: str | None
    dranet: bool
    networks: tuple[str, ...]
    gpus: GkeGpus | None
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]


@dataclass(frozen=True, kw_only=True)
class GkeClusterPlan:
    """A cluster as Google is asked for it. `name`: in GKE, of one that the stack makes.

    `adopts`: the name of one that was there. `creates`: None then.

    `kubernetes`: the minor of the control plane.
    `installers`: the pools (by their names in the stack file) that each driver installer is for.
    `compute_classes`: the pools (by their names in GKE) of each ComputeClass, most wanted first.
    """

    name: str
    project: str
    location: str
    region: str
    zone: str | None
    kubernetes: str
    adopts: TextOrOutput | None
    creates: GkeCreation | None
    pools: tuple[GkePoolPlan, ...]
    installers: Mapping[str, tuple[str, ...]]
    compute_classes: Mapping[str, tuple[str, ...]]
