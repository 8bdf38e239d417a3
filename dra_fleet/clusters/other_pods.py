"""Pods of no declared workload that hold devices: by claims of their own, or by a device plugin's limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from typing_extensions import TypedDict

from dra_fleet import drivers

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object


class OtherPodJson(TypedDict):
    """A running pod of no declared workload, what it belongs to, and the devices it holds."""

    name: str
    namespace: str
    owner: str
    node: str
    devices: list[str]


@dataclass(frozen=True, kw_only=True)
class OtherPod:
    """A running pod of no declared workload that holds devices.

    `owner`: what it belongs to, such as a Deployment; empty for a pod of its own. `devices`: by name, or by
    number and resource where a device plugin gave them.
    """

    name: str
    namespace: str
    owner: str
    node: str
    devices: tuple[str, ...]

    @classmethod
    def of(cls, pod: Object, devices: tuple[str, ...]) -> OtherPod:
        """A pod with what it holds."""
        meta = pod["metadata"]
        template = meta.get("labels", {}).get("pod-template-hash")
        owner = next((str(item["name"]) for item in meta.get("ownerReferences", ())), "")
        return cls(
            name=meta["name"],
            namespace=meta["namespace"],
            owner=owner.removesuffix(f"-{template}") if template else owner,
            node=pod["spec"].get("nodeName", ""),
            devices=devices,
        )

    def to_json(self) -> OtherPodJson:
        """As plain data."""
        return {
            "name": self.name,
            "namespace": self.namespace,
            "owner": self.owner,
            "node": self.node,
            "devices": list(self.devices),
        }


def by_limits(pod: Object) -> tuple[str, ...]:
    """What a pod holds by limits that device plugins answer: they give devices no name that the API tells."""
    names = {driver.extended_resource for driver in drivers.known() if driver.extended_resource}
    limits = [container.get("resources", {}).get("limits", {}) for container in pod["spec"]["containers"]]
    counts = {name: sum(int(item.get(name, "0")) for item in limits) for name in sorted(names)}
    return tuple(f"{count} x {name}" for name, count in counts.items() if count)
