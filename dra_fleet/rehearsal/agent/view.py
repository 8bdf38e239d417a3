"""The agent's view of its cluster: pods, nodes and ResourceSlices, and queries about them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clusters.informer import Informer, key_of
from dra_fleet.clusters.pending.state import claim_names
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import plugins_of, reach_of
from dra_fleet.rehearsal.drivers.node_side import Reach

if TYPE_CHECKING:
    from collections.abc import Callable, Container

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue

RESOURCE_API = "resource.k8s.io/v1"

POD = "pod"
NODE = "node"
SLICES = "slices"
CLAIM_NAMES = "claim names"

HOOK = "helm.sh/hook"


class ClusterView:
    """Current objects of one cluster; changes put the keys they concern on the queue.

    `nodes` holds the names of the simulated machines at any time. What is in `when_gone` is reported each pod
    that is gone, however it went.
    """

    def __init__(self, admin: KubeApi, queue: WorkQueue, nodes: Container[str]) -> None:
        self._queue = queue
        self._machine_names = nodes
        self.when_gone: list[Callable[[Object], None]] = []
        self.nodes = Informer(admin, "v1", "Node", self._node_changed)
        self.pods = Informer(admin, "v1", "Pod", self._pod_changed, node_of)
        self.slices = Informer(admin, RESOURCE_API, "ResourceSlice", self._slice_changed, node_of)
        self.claims = Informer(admin, RESOURCE_API, "ResourceClaim", lambda _: None)
        self._cluster_wide: set[str] = set()

    @property
    def informers(self) -> tuple[Informer, ...]:
        """All that must run."""
        return (self.nodes, self.pods, self.slices, self.claims)

    def pods_on(self, node: str) -> list[Object]:
        """Return the pods bound to a node."""
        return self.pods.at(node)

    def slices_of(self, node: str, driver: str) -> list[Object]:
        """Return the ResourceSlices that a driver published for a node."""
        return [item for item in self.slices.at(node) if item["spec"]["driver"] == driver]

    def wake_pods_on(self, node: str, *, but: Object | None = None) -> None:
        """Look again at a node's pods: what just changed may concern a driver or a preparation.

        Args:
            node: its name.
            but: a pod that needs no look.
        """
        skipped = key_of(but) if but else ""
        for pod in self.pods_on(node):
            if key_of(pod) == skipped:
                continue
            if claim_names(pod) or plugins_of(pod) or reach_of(pod):
                self._queue.add(Key(POD, key_of(pod)))

    def wake_all_on(self, node: str) -> None:
        """Look again at everything of a node, such as after a reboot."""
        self._queue.add(Key(NODE, node))
        self._queue.add(Key(SLICES, node))
        for pod in self.pods_on(node):
            self._queue.add(Key(POD, key_of(pod)))

    def wake_plugins(self) -> None:
        """Look again at every pod of drivers' node plugins."""
        for key, pod in self.pods.objects.items():
            if plugins_of(pod):
                self._queue.add(Key(POD, key))

    def wake_cluster_wide(self) -> None:
        """Look again at the programs that look at all nodes."""
        for key in self._cluster_wide:
            self._queue.add(Key(POD, key))

    def _node_changed(self, node: Object) -> None:
        name = node["metadata"]["name"]
        self._queue.add(Key(NODE, name))
        self.wake_cluster_wide()
        for pod in self.pods_on(name):
            if reach_of(pod):
                self._queue.add(Key(POD, key_of(pod)))

    def _pod_changed(self, pod: Object) -> None:
        self._cluster_wide.discard(key_of(pod))
        if not self.pods.holds(pod):
            for forget in self.when_gone:
                forget(pod)
        elif reach_of(pod) is Reach.CLUSTER:
            self._cluster_wide.add(key_of(pod))
        if partly_named(pod):
            self._queue.add(Key(CLAIM_NAMES, key_of(pod)))
        node = pod["spec"].get("nodeName")
        if node in self._machine_names:
            self._queue.add(Key(POD, key_of(pod)))
            self._queue.add(Key(SLICES, node))
            self._wake_neighbours(pod, node)

    def _wake_neighbours(self, pod: Object, node: str) -> None:
        """Wake the other pods on the node when a part of a driver starts or ends."""
        if reach_of(pod) is not Reach.NODE:
            return
        self.wake_pods_on(node)
        self.wake_cluster_wide()
        self._queue.add(Key(NODE, node))

    def _slice_changed(self, item: Object) -> None:
        node = item["spec"].get("nodeName")
        if node in self._machine_names:
            self._queue.add(Key(SLICES, node))
            self.wake_pods_on(node)


def node_of(item: Object) -> str | None:
    """Return the node that a pod is bound to, or whose devices a ResourceSlice has."""
    return item["spec"].get("nodeName")


def has_claims(pod: Object) -> bool:
    """Return whether a pod uses claims, created or not."""
    return bool(pod["spec"].get("resourceClaims") or pod.get("status", {}).get("extendedResourceClaimStatus"))


def ends_by_itself(pod: Object) -> bool:
    """Return whether a pod is done as soon as it runs: a Job's or Helm hook's pod without devices.

    Helm waits for its hooks, Jobs and bare Pods, before it continues (https://helm.sh/docs/topics/charts_hooks/).
    Pods with devices are workloads and hold them until they are reported to finish.
    """
    meta, spec = pod["metadata"], pod["spec"]
    limits: list[Object] = [item.get("resources", {}).get("limits", {}) for item in spec["containers"]]
    holds_devices = has_claims(pod) or any("/" in name for one in limits for name in one)
    owners: list[Object] = meta.get("ownerReferences", [])
    errand = HOOK in meta.get("annotations", {}) or any(owner["kind"] == "Job" for owner in owners)
    return errand and not holds_devices and spec.get("restartPolicy") in ("Never", "OnFailure")


def templated_claims(pod: Object) -> set[str]:
    """Return the names, within a pod, of the claims that are created from templates."""
    claims: list[Object] = pod["spec"].get("resourceClaims", [])
    return {claim["name"] for claim in claims if "resourceClaimTemplateName" in claim}


def partly_named(pod: Object) -> bool:
    """Return whether a pod's status names some claims created from templates, but not all."""
    statuses: list[Object] = pod.get("status", {}).get("resourceClaimStatuses", [])
    named = {item["name"] for item in statuses}
    return bool(named) and not templated_claims(pod) <= named
