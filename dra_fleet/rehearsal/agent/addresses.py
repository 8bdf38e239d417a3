"""Addresses of pods, of which no two that exist at the same time have one; no one answers on them."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import cycle
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.view import ClusterView

POD_RANGE: Final = "10.244.0.0/16"


class PodAddresses:
    """Gives each pod of a cluster its address, once; `view` reports which are taken."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._all = cycle(IPv4Network(POD_RANGE).hosts())
        self._given: dict[str, str] = {}
        self._taken: set[str] = set()

    def of(self, pod: Object) -> Object:
        """Return the status fields of a pod that contain its own address and its node's."""
        node = self._view.nodes.objects.get(pod["spec"]["nodeName"], {})
        at: list[Object] = node.get("status", {}).get("addresses", [])
        host = next((item["address"] for item in at if item["type"] == "InternalIP"), None)
        own = host if pod["spec"].get("hostNetwork") else self._own(pod)
        fields = {"hostIP": host, "podIP": own}
        return {
            **{name: address for name, address in fields.items() if address},
            **{f"{name}s": [{"ip": address}] for name, address in fields.items() if address},
        }

    def forget(self, pod: Object) -> None:
        """Forget a deleted pod."""
        self._taken.discard(self._given.pop(pod["metadata"]["uid"], ""))

    def _own(self, pod: Object) -> str:
        if not self._given:  # also what an agent before this one gave
            for item in self._view.pods.objects.values():
                if address := item["status"].get("podIP"):
                    self._give(item, address)
        present: str | None = pod["status"].get("podIP") or self._given.get(pod["metadata"]["uid"])
        free = (found for address in self._all if (found := str(address)) not in self._taken)
        return self._give(pod, present or next(free))

    def _give(self, pod: Object, address: str) -> str:
        self._given[pod["metadata"]["uid"]] = address
        self._taken.add(address)
        return address
