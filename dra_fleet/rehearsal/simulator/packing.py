"""Free resources and devices of a cluster's nodes, of upcoming nodes, and of the next node of each pool."""

from __future__ import annotations

import json
from collections import defaultdict
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.clusters.pending.state import claim_names, label_problem, results_of, untolerated
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.proof.allocator import Allocation, CandidateNode, DeviceId, Inventory, NoFit, allocate
from dra_fleet.proof.search.packing import NodeUse, after

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.clusters.pending import ClusterState
    from dra_fleet.proof.allocator import Outcome
    from dra_fleet.rehearsal.clouds.scaling import ScaledPool

LEAVING: Final = "ToBeDeletedByClusterAutoscaler"
"""Taint of a node that is removed soon."""
MOST_STEPS: Final = 20_000

Amounts = dict[str, Fraction]


def requests_of(spec: Object) -> Amounts:
    """Return the resources that a pod requests, by name, with itself as `pods`."""
    total: defaultdict[str, Fraction] = defaultdict(Fraction, pods=Fraction(1))
    for container in spec["containers"]:
        for name, text in container.get("resources", {}).get("requests", {}).items():
            total[name] += Quantity.parse(text).amount
    for container in spec.get("initContainers", []):
        for name, text in container.get("resources", {}).get("requests", {}).items():
            total[name] = max(total[name], Quantity.parse(text).amount)
    return dict(total)


def is_daemon(pod: Object) -> bool:
    """Return True if a DaemonSet created the pod."""
    return any(owner["kind"] == "DaemonSet" for owner in pod["metadata"].get("ownerReferences", []))


def has_ended(pod: Object) -> bool:
    """Return True if the pod uses nothing any more."""
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


class _Place(Struct, kw_only=True):
    """A node with what is free on it."""

    node: Object
    free: Amounts

    @property
    def name(self) -> str:
        return self.node["metadata"]["name"]

    @property
    def labels(self) -> Mapping[str, str]:
        return self.node["metadata"].get("labels", {})


class Template(Struct, kw_only=True):
    """The node that a pool would get next: a copy of one that it has, or the cloud's prediction."""

    node: Object
    free: Amounts
    slices: Sequence[Object]

    @property
    def devices(self) -> int:
        return sum(len(item["spec"].get("devices", [])) for item in self.slices)

    def named(self, name: str) -> tuple[_Place, list[Object]]:
        """Return a node of this kind with another name, and its ResourceSlices."""
        meta = self.node["metadata"]
        labels = {**meta["labels"], "kubernetes.io/hostname": name}
        node = {**self.node, "metadata": {**meta, "name": name, "labels": labels}}
        slices = [
            {
                **item,
                "metadata": {"name": f"{name}-{number}"},
                "spec": {
                    **item["spec"],
                    "nodeName": name,
                    "pool": {**item["spec"]["pool"], "name": f"{name}/{item['spec']['pool']['name']}"},
                },
            }
            for number, item in enumerate(self.slices)
        ]
        return _Place(node=node, free=dict(self.free)), slices


def template_of(state: ClusterState, pool: ScaledPool, upcoming: Iterable[str]) -> Template:
    """Return the template of a pool: its node with the most devices, otherwise what the cloud predicts."""
    names = {machine.name for machine in pool.machines.values()} - set(upcoming)
    nodes = [node for node in state.nodes if node["metadata"]["name"] in names and _is_ready(node)]
    if not nodes:
        return _predicted(pool)
    slices = {node["metadata"]["name"]: _slices_on(state, node["metadata"]["name"]) for node in nodes}
    node = max(
        nodes,
        key=lambda one: sum(len(item["spec"].get("devices", [])) for item in slices[one["metadata"]["name"]]),
    )
    taints = [one for one in node["spec"].get("taints", []) if not _is_passing(str(one["key"]))]
    name = node["metadata"]["name"]
    daemons = [pod for pod in state.pods_on(name) if is_daemon(pod)]
    return Template(
        node={**node, "spec": {**node["spec"], "taints": taints, "unschedulable": False}},
        free=_free(node, daemons),
        slices=slices[name],
    )


def _predicted(pool: ScaledPool) -> Template:
    host = pool.fresh.hosts()[0]
    allocatable = {"cpu": host.cpu, "memory": host.memory, "pods": "110", **host.allocatable}
    amounts = {name: Quantity.parse(text).amount for name, text in allocatable.items()}
    labels = {"kubernetes.io/os": "linux", "kubernetes.io/arch": host.arch, **host.labels}
    taints = [taint.model_dump(exclude_defaults=True) for taint in host.taints]
    return Template(
        node={"metadata": {"name": host.name, "labels": labels}, "spec": {"taints": taints}},
        free={**amounts, **{name: Fraction(count) for name, count in host.advertised.items()}},
        slices=[
            {
                "metadata": {"name": driver},
                "spec": {
                    "driver": driver,
                    "pool": {"name": host.name, "generation": 1, "resourceSliceCount": 1},
                    "devices": list(devices),
                },
            }
            for driver, devices in pool.predicted.items()
        ],
    )


def _is_ready(node: Object) -> bool:
    conditions: list[Object] = node.get("status", {}).get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)


def _is_passing(taint: str) -> bool:
    return taint.startswith(("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", LEAVING))


def _slices_on(state: ClusterState, node: str) -> list[Object]:
    return [item for item in state.slices if item["spec"].get("nodeName") == node]


def _free(node: Object, pods: Iterable[Object]) -> Amounts:
    free = {name: Quantity.parse(text).amount for name, text in node["status"]["allocatable"].items()}
    for pod in pods:
        if not has_ended(pod):
            for name, amount in requests_of(pod["spec"]).items():
                free[name] = free.get(name, Fraction(0)) - amount
    return free


class Packing:
    """Places rejected pods on the nodes of a snapshot, on upcoming nodes, and on the templates of pools.

    Args:
        state: The snapshot.
        templates: Of the pools that may grow, by pool.
        upcoming: The template of each new node that has not published its devices, by node.
    """

    def __init__(
        self, state: ClusterState, templates: Mapping[str, Template], upcoming: Mapping[str, Template]
    ) -> None:
        self._state = state
        self._classes = {item["metadata"]["name"]: item for item in state.classes}
        self._use = _in_use(state.claims)
        slices = [item for item in state.slices if item["spec"].get("nodeName") not in upcoming]
        self._places: list[_Place] = []
        for node in state.nodes:
            name = node["metadata"]["name"]
            if name in upcoming:
                place, more = upcoming[name].named(name)
                place.free = _free(node, state.pods_on(name))
                slices += more
                self._places.append(place)
            elif _is_ready(node) and not node["spec"].get("unschedulable"):
                self._places.append(_Place(node=node, free=_free(node, state.pods_on(name))))
        self._new: dict[str, _Place] = {}
        for number, (pool, template) in enumerate(templates.items()):
            self._new[pool], more = template.named(f"new-{number}")
            slices += more
        self._inventory = Inventory(slices)
        self._failed: set[str] = set()
        self._reasons: dict[str, str] = {}

    def place(self, pod: Object) -> str | None:
        """Return the node for a pod and mark what it uses there; None if no node takes it."""
        key = self._likeness(pod)
        if key in self._failed:
            return None
        for place in self._places:
            if not self.why_not(pod, place):
                self._take(pod, place)
                return place.name
        self._failed.add(key)
        return None

    def why_not(self, pod: Object, place: _Place) -> str:
        """Return why a node does not take a pod; empty if it does."""
        spec = pod["spec"]
        if problem := label_problem(spec, place.node):
            return problem
        if taint := untolerated(spec, place.node):
            return f"taint {taint} is not tolerated"
        short = [name for name, amount in requests_of(spec).items() if amount > place.free.get(name, 0)]
        if short:
            return f"insufficient {', '.join(short)}"
        match self._allocate(pod, place):
            case Allocation():
                return ""
            case NoFit(reason):
                return reason
            case outcome:
                return outcome.message

    def why_not_new(self, pod: Object, pool: str) -> str:
        """Return why a new node of a pool does not take a pod; empty if it does."""
        key = f"{pool} {self._likeness(pod)}"
        if key not in self._reasons:
            self._reasons[key] = self.why_not(pod, self._new[pool])
        return self._reasons[key]

    def _take(self, pod: Object, place: _Place) -> None:
        for name, amount in requests_of(pod["spec"]).items():
            place.free[name] -= amount
        outcome = self._allocate(pod, place)
        if isinstance(outcome, Allocation):
            self._use = after(self._use, outcome)

    def _allocate(self, pod: Object, place: _Place) -> Outcome:
        allocations = {
            one["metadata"]["uid"]: one.get("status", {}).get("allocation") for one in self._claims(pod)
        }
        for selector in (
            one["nodeSelector"] for one in allocations.values() if one and "nodeSelector" in one
        ):
            affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}
            if label_problem({"affinity": affinity}, place.node):
                return NoFit("its devices are allocated on another node")
        claims = [one for one in self._claims(pod) if not allocations[one["metadata"]["uid"]]]
        if not claims:
            return Allocation(())
        node = CandidateNode(place.name, place.labels)
        return allocate(
            claims,
            self._classes,
            self._inventory,
            node,
            in_use=self._use.for_allocator,
            minor=self._state.minor,
            most_steps=MOST_STEPS,
        )

    def _claims(self, pod: Object) -> list[Object]:
        namespace = pod["metadata"]["namespace"]
        return [claim for name in claim_names(pod) if (claim := self._state.claim(name, namespace))]

    def _likeness(self, pod: Object) -> str:
        spec = pod["spec"]
        parts = [spec.get(key) for key in ("nodeSelector", "affinity", "tolerations", "containers")]
        claims = [(one["spec"], one.get("status", {}).get("allocation")) for one in self._claims(pod)]
        return json.dumps([parts, claims], sort_keys=True)


def _in_use(claims: Iterable[Object]) -> NodeUse:
    whole: set[DeviceId] = set()
    shares: defaultdict[DeviceId, defaultdict[str, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for result in (one for claim in claims for one in results_of(claim) if not one.get("adminAccess")):
        device = DeviceId(result["driver"], result["pool"], result["device"])
        if "shareID" not in result:
            whole.add(device)
        consumed: dict[str, str] = result.get("consumedCapacity") or {}
        for name, text in consumed.items():
            shares[device][name] += Quantity.parse(text).amount
    frozen = tuple((device, tuple(sorted(share.items()))) for device, share in sorted(shares.items()))
    return NodeUse(frozenset(whole), frozen)
