"""The fleet as it was before the change: from another stack file, or from what the stack exports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from dra_fleet import clouds

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.model.settings import Advertiser
    from dra_fleet.proof.answer.verdicts import Proof

Object = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class WasPool:
    """A pool as it was. `machine` None: the catalogue does not know it. `advertise` None: no one reports."""

    machine_name: str
    machine: Machine | None
    min_nodes: int
    max_nodes: int
    layout: str | None
    advertise: Advertiser | None = None


@dataclass(frozen=True, kw_only=True)
class WasCluster:
    """A cluster as it was; its workloads with their copies and namespaces."""

    kubernetes: str
    pools: Mapping[str, WasPool]
    releases: Mapping[str, str]
    workloads: Mapping[str, int]
    namespaces: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Was:
    """The fleet as it was.

    Attributes:
        source: Where this is known from, as a sentence; empty where nothing was before or is known.
        clusters: By name.
        plan: The whole plan, where another stack file was compared with.
        proof: Its proof.
        problem: Why the other stack file cannot be compared with; empty where it can.
    """

    source: str = ""
    clusters: Mapping[str, WasCluster] = field(default_factory=dict[str, WasCluster])
    plan: FleetPlan | None = None
    proof: Proof | None = None
    problem: str = ""

    @property
    def copies(self) -> dict[str, dict[str, tuple[str, int]]]:
        """Namespace and copies of each workload, by cluster."""
        return {
            name: {
                item: (cluster.namespaces.get(item, ""), count) for item, count in cluster.workloads.items()
            }
            for name, cluster in self.clusters.items()
        }


def was_planned(plan: FleetPlan, proof: Proof, source: str) -> Was:
    """Return the pools of another stack file."""
    return Was(
        source=source,
        clusters={cluster.name: _planned(cluster) for cluster in plan.clusters},
        plan=plan,
        proof=proof,
    )


def _planned(cluster: ClusterPlan) -> WasCluster:
    return WasCluster(
        kubernetes=cluster.kubernetes,
        pools={
            pool.name: WasPool(
                machine_name=pool.machine.name,
                machine=pool.machine,
                min_nodes=pool.min_nodes,
                max_nodes=pool.max_nodes,
                layout=layout_text(pool.sharing),
                advertise=pool.advertise,
            )
            for pool in cluster.pools
        },
        releases={release.name: release.version for release in cluster.releases},
        workloads={workload.name: workload.copies for workload in cluster.workloads},
        namespaces={workload.name: workload.namespace for workload in cluster.workloads},
    )


def was_exported(outputs: Object) -> Was:
    """Return the pools in the stack's outputs, version 1, after the last update."""
    clusters = outputs.get("clusters")
    if outputs.get("version") != 1 or not isinstance(clusters, dict):
        return Was()
    found = cast("dict[str, Object]", clusters)
    return Was(
        source="the stack's exports since its last update",
        clusters={name: _exported(cluster) for name, cluster in found.items()},
    )


def _exported(cluster: Object) -> WasCluster:
    machines = clouds.machines()
    return WasCluster(
        kubernetes=str(cluster.get("kubernetes", "")),
        pools={
            name: WasPool(
                machine_name=str(pool.get("machine", "")),
                machine=machines.get(str(pool.get("machine", ""))),
                min_nodes=int(pool.get("minNodes", 0)),
                max_nodes=int(pool.get("maxNodes", 0)),
                layout=None,
            )
            for name, pool in _mapping(cluster, "pools").items()
        },
        releases={
            name: str(release.get("version", "")) for name, release in _mapping(cluster, "drivers").items()
        },
        workloads={
            name: int(workload.get("copies", 0)) for name, workload in _mapping(cluster, "workloads").items()
        },
        namespaces={
            name: str(workload.get("namespace", ""))
            for name, workload in _mapping(cluster, "workloads").items()
        },
    )


def _mapping(cluster: Object, key: str) -> dict[str, Object]:
    return cast("dict[str, Object]", cluster.get(key) or {})


def layout_text(sharing: object) -> str:
    """Describe the division of a pool's devices, such as `1g.5gb x 7`; empty for whole devices."""
    layout = cast("Mapping[str, int]", getattr(sharing, "layout", None) or {})
    return ", ".join(f"{profile} x {count}" for profile, count in layout.items())
