"""Addresses of pods, of which no two that exist at the same time have one; nobody answers on them."""

from __future__ import annotations

from ipaddress import IPv4Network
from itertools import cycle
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.view import ClusterView

POD_RANGE: Final = "10.244.0.0/16"


class PodAddresses:
    """Gives each pod of a cluster its address, once; `view` tells which are taken."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view
        self._free = cycle(IPv4Network(POD_RANGE).hosts())
        self._given: dict[str, str] = {}

    def of(self, pod: Object) -> Object:
        """The fields of a pod's status that hold its own address and its node's."""
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
        """A pod is gone."""
        self._given.pop(pod["metadata"]["uid"], None)

    def _own(self, pod: Object) -> str:
        uid = pod["metadata"]["uid"]
        present: str | None = pod["status"].get("podIP") or self._given.get(uid)
        if present is None:
            if not self._given:  # also what an agent before this one gave
                known = [(item, item["status"].get("podIP")) for item in self._view.pods.objects.values()]
                self._given = {item["metadata"]["uid"]: address for item, address in known if address}
            taken = set(self._given.values())
            present = next(str(address) for address in self._free if str(address) not in taken)
        self._given[uid] = present
        return present
