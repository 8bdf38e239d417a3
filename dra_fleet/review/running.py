"""Current users of devices, and the fleet as it was before the change."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct, field
from pydantic import BaseModel, ConfigDict, ValidationError

from dra_fleet import clouds
from dra_fleet.core.findings.errors import message_of
from dra_fleet.core.yaml_text import Unreadable, read_json_file
from dra_fleet.review.events import ReviewError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.model.settings import Advertiser
    from dra_fleet.proof.answer.verdicts import Proof


class _Saved(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class SavedDevice(_Saved):
    """A device as an allocation names it; `pool` is the slice's."""

    driver: str
    pool: str
    device: str


class RunningPod(_Saved):
    """A pod of a workload, where it runs, and what it holds."""

    name: str
    node: str | None
    devices: tuple[SavedDevice, ...]


class RunningWorkload(_Saved):
    """The pods of one workload."""

    pods: tuple[RunningPod, ...]


class UndeclaredPod(_Saved):
    """A pod of no declared workload, what it belongs to, and what it holds."""

    name: str
    namespace: str
    owner: str
    node: str
    devices: tuple[str, ...]


class RunningPool(_Saved):
    """Number and names of a pool's nodes."""

    nodes: int
    node_names: tuple[str, ...]


class RunningCluster(_Saved):
    """State of one cluster when it was asked. `others` None: not asked for."""

    pools: dict[str, RunningPool]
    workloads: dict[str, RunningWorkload]
    others: tuple[UndeclaredPod, ...] | None = None

    def pool_of(self) -> dict[str, str]:
        """Return the pool of each node."""
        return {node: name for name, pool in self.pools.items() for node in pool.node_names}


class Running(_Saved):
    """All clusters that were asked, by name."""

    clusters: dict[str, RunningCluster]

    def holders(self, cluster: str) -> Mapping[str, Mapping[str, tuple[str, str]]]:
        """Return the workload and the pod that use each device of a cluster, by node and device."""
        found: defaultdict[str, dict[str, tuple[str, str]]] = defaultdict(dict)
        asked = self.clusters.get(cluster)
        for name, workload in (asked.workloads if asked else {}).items():
            for pod in workload.pods:
                for device in pod.devices:
                    found[pod.node or ""][device.device] = (name, pod.name)
        return found


def read_running(path: Path) -> Running:
    """Read what was saved.

    Raises:
        ReviewError: The file cannot be read or is something else.
    """
    try:
        content = read_json_file(path)
    except OSError as problem:
        raise ReviewError(f"{path} cannot be read: {problem.strerror}; {_SAVE}") from None
    except Unreadable as problem:
        raise ReviewError(f"{path} {problem}; {_SAVE}") from None
    return parse_running(content, str(path))


def parse_running(content: Any, source: str) -> Running:  # noqa: ANN401 - any JSON
    """Take what was saved from plain data.

    Raises:
        ReviewError: It is something else.
    """
    try:
        return Running.model_validate(content)
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ReviewError(
            f"{source} does not say what runs: {where or 'it'}: {message_of(first)}; {_SAVE}"
        ) from None


_SAVE = "docs/review.md says what such a file holds; `--running clusters` asks the clusters instead"


Object = dict[str, Any]


class WasPool(Struct, frozen=True, kw_only=True):
    """A pool as it was. `machine` None: the catalogue does not know it. `advertise` None: no one reports."""

    machine_name: str
    machine: Machine | None
    min_nodes: int
    max_nodes: int
    layout: str | None
    advertise: Advertiser | None = None


class WasCluster(Struct, frozen=True, kw_only=True):
    """A cluster as it was; its workloads with their copies and namespaces."""

    kubernetes: str
    pools: Mapping[str, WasPool]
    releases: Mapping[str, str]
    workloads: Mapping[str, int]
    namespaces: Mapping[str, str]


class Was(Struct, frozen=True, kw_only=True):
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
