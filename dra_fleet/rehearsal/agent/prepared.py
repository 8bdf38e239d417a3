"""The prepared claims that hold parts of a node's devices, as a driver's checkpoint has them."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dra_fleet.clusters.pending.state import claim_names
from dra_fleet.rehearsal.agent.view import RESOURCE_API

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.view import ClusterView


class PreparedShares:
    """Claims with parts of devices, by node; of whole devices no two claims have one.

    Args:
        identities: what a restarted agent has forgotten is read as the node's kubelet.
        view: the pods that run already.
        mark: the annotation of a pod whose claims are prepared.
    """

    def __init__(self, identities: Identities, view: ClusterView, mark: str) -> None:
        self._identities = identities
        self._view = view
        self._mark = mark
        self._known: defaultdict[str, dict[str, Object]] = defaultdict(dict)
        self._read: set[str] = set()

    async def beside(self, claim: Object, node: str) -> Sequence[Object]:
        """The other prepared claims of a node; none for a claim that has its devices alone."""
        if not holds_parts(claim):
            return ()
        if node not in self._read:
            await self._recall(node)
        return [item for uid, item in self._known[node].items() if uid != claim["metadata"]["uid"]]

    def add(self, claim: Object, node: str) -> None:
        """A claim was prepared."""
        if holds_parts(claim):
            self._known[node][claim["metadata"]["uid"]] = claim

    def remove(self, claim: Object, node: str) -> None:
        """A claim was unprepared."""
        self._known[node].pop(claim["metadata"]["uid"], None)

    async def _recall(self, node: str) -> None:
        for pod in list(self._view.pods_on(node)):
            if pod["metadata"].get("annotations", {}).get(self._mark) != "true":
                continue
            for name in claim_names(pod):
                kubelet = self._identities.kubelet(node)
                namespace = pod["metadata"]["namespace"]
                claim = await kubelet.find(RESOURCE_API, "ResourceClaim", name, namespace)
                if claim is not None:
                    self.add(claim, node)
        self._read.add(node)


def drivers_of(claim: Object) -> list[str]:
    """The drivers whose devices a claim was given."""
    return sorted({item["driver"] for item in _results(claim)})


def holds_parts(claim: Object) -> bool:
    """Whether a claim has only a part of a device, beside which others may have theirs."""
    return any("shareID" in result for result in _results(claim))


def _results(claim: Object) -> list[Object]:
    return claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])
