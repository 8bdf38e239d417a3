"""A snapshot of everything a pod's fate depends on, read once; explaining it needs no further requests."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dra_fleet.queueing.kueue import API as QUEUE_API

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dra_fleet.clusters.client import KubeApi, Object

RESOURCE_API = "resource.k8s.io/v1"


@dataclass(frozen=True, kw_only=True)
class ClusterState:
    """Raw objects as the API gave them.

    Attributes:
        minor: of the server, such as "1.36".
        claims: of all namespaces, as they hold the devices.
        events: the warnings of all namespaces.
        queued: Kueue's Workloads, where they were asked for.
    """

    minor: str
    nodes: list[Object]
    pods: list[Object]
    daemonsets: list[Object]
    slices: list[Object]
    classes: list[Object]
    claims: list[Object]
    templates: list[Object]
    events: list[Object]
    queued: tuple[Object, ...] = ()

    @cached_property
    def _pods_by_node(self) -> Mapping[str, list[Object]]:
        found: defaultdict[str, list[Object]] = defaultdict(list)
        for pod in self.pods:
            found[pod["spec"].get("nodeName", "")].append(pod)
        return found

    def pods_on(self, node: str) -> list[Object]:
        """The pods bound to a node."""
        return self._pods_by_node.get(node, [])

    def named(self, items: list[Object], name: str, namespace: str | None = None) -> Object | None:
        """The object of that name, or None."""
        for item in items:
            meta = item["metadata"]
            if meta["name"] == name and meta.get("namespace") == namespace:
                return item
        return None

    @cached_property
    def _claims_by_name(self) -> Mapping[tuple[str, str], Object]:
        return {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in self.claims}

    def claim(self, name: str, namespace: str) -> Object | None:
        """The claim of that name, or None."""
        return self._claims_by_name.get((namespace, name))

    def warnings_about(self, item: Object, reason: str) -> list[str]:
        """The messages of an object's warnings with that reason, the newest last."""
        uid = item["metadata"].get("uid")
        found = [
            event
            for event in self.events
            if event["reason"] == reason and event["involvedObject"].get("uid") == uid
        ]
        found.sort(key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "")
        return [str(event.get("message", "")) for event in found]

    def drivers_held_by(self, pod: Object) -> list[str]:
        """The drivers whose devices a pod's claims hold."""
        claims = [self.claim(name, pod["metadata"]["namespace"]) for name in claim_names(pod)]
        return sorted({result["driver"] for claim in claims if claim for result in results_of(claim)})

    def holders(self) -> dict[tuple[str, str, str], str]:
        """Who holds each allocated device: (driver, pool, device) -> "namespace/consumer"."""
        held: dict[tuple[str, str, str], str] = {}
        for claim in self.claims:
            for result in results_of(claim):
                if not result.get("adminAccess"):
                    users = [user["name"] for user in claim["status"].get("reservedFor", [])]
                    name = users[0] if users else f"claim {claim['metadata']['name']}"
                    key = (result["driver"], result["pool"], result["device"])
                    held[key] = f"{claim['metadata']['namespace']}/{name}"
        return held


async def read_state(api: KubeApi, *, queues: bool = False) -> ClusterState:
    """Read a snapshot.

    Args:
        api: who reads.
        queues: whether Kueue's Workloads are read too; the cluster must have Kueue.

    Raises:
        ApiError: something may not be read.
    """
    version = await api.version()
    wanted = (
        ("v1", "Node"),
        ("v1", "Pod"),
        ("apps/v1", "DaemonSet"),
        (RESOURCE_API, "ResourceSlice"),
        (RESOURCE_API, "DeviceClass"),
        (RESOURCE_API, "ResourceClaim"),
        (RESOURCE_API, "ResourceClaimTemplate"),
    )
    lists = await asyncio.gather(
        *(api.list(api_version, kind) for api_version, kind in wanted),
        api.list("v1", "Event", params={"fieldSelector": "type=Warning"}),
        *([api.list(QUEUE_API, "Workload")] if queues else []),
    )
    nodes, pods, daemonsets, slices, classes, claims, templates, events, *queued = (
        item["items"] for item in lists
    )
    return ClusterState(
        minor=f"{version['major']}.{version['minor'].rstrip('+')}",
        nodes=nodes,
        pods=pods,
        daemonsets=daemonsets,
        slices=slices,
        classes=classes,
        claims=claims,
        templates=templates,
        events=events,
        queued=tuple(item for items in queued for item in items),
    )


def results_of(claim: Object) -> list[Object]:
    """A claim's allocation results; none before it is allocated."""
    allocation = claim.get("status", {}).get("allocation", {})
    return allocation.get("devices", {}).get("results", [])


def claim_names(pod: Object) -> list[str]:
    """The names of the ResourceClaims a pod uses, as far as they are made."""
    status = pod.get("status", {})
    made = {item["name"]: item.get("resourceClaimName") for item in status.get("resourceClaimStatuses", [])}
    names = [
        reference.get("resourceClaimName") or made.get(reference["name"])
        for reference in pod["spec"].get("resourceClaims", [])
    ]
    extended = status.get("extendedResourceClaimStatus", {}).get("resourceClaimName")
    return [name for name in [*names, extended] if name]
