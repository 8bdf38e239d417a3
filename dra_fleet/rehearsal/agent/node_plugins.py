"""The drivers' node plugins on simulated nodes: they prepare claims and unprepare them.

Each is simulated, or served by the driver's own program where that was chosen.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dra_fleet.clusters.client import ApiError
from dra_fleet.clusters.pending.state import claim_names
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.agent.driver_pod import is_ready
from dra_fleet.rehearsal.agent.own import sockets
from dra_fleet.rehearsal.agent.view import RESOURCE_API
from dra_fleet.rehearsal.drivers import plugins_of
from dra_fleet.rehearsal.drivers.plugin import AtWork, PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.own.programs import OwnPrograms
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.simulator.node import Host, NodeFaults


# A driver's node plugin looks at its machine when it starts, and never again: new partitions need a restart.
#
# Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, `cmd/gpu-kubelet-plugin/nvlib.go`.


class Discovered:
    """The machines as the drivers' pods found them.

    A restart of the agent counts as a restart of the plugins, as does another entry in the hardware file.
    """

    def __init__(self, machines: Machines) -> None:
        self._machines = machines
        self._found: dict[str, tuple[int, Host, Host]] = {}

    def host(self, pod: Object) -> Host:
        """Return the machine as a driver's pod sees it."""
        uid, name = pod["metadata"]["uid"], pod["spec"]["nodeName"]
        boots, delivered = self._machines.memory(name).boots, self._machines.delivered(name)
        known = self._found.get(uid)
        if known is not None and known[:2] == (boots, delivered) and is_ready(pod):
            return known[2]
        now = self._machines.host(name)
        self._found[uid] = (boots, delivered, now)
        return now

    def faults(self, node: str) -> NodeFaults:
        """Return the faults of a machine now."""
        return self._machines.faults(node)

    def forget(self, pod: Object) -> None:
        """Forget a deleted pod."""
        self._found.pop(pod["metadata"]["uid"], None)


def is_reserved_for(claim: Object, pod: Object) -> bool:
    """Return whether a claim is reserved for a pod."""
    users: list[Object] = claim.get("status", {}).get("reservedFor", [])
    return any(user.get("uid") == pod["metadata"]["uid"] for user in users)


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
        """Return the other prepared claims of a node; none if the claim shares no device."""
        if not holds_parts(claim):
            return ()
        if node not in self._read:
            await self._recall(node)
        return [item for uid, item in self._known[node].items() if uid != claim["metadata"]["uid"]]

    def add(self, claim: Object, node: str) -> None:
        """Record a prepared claim."""
        if holds_parts(claim):
            self._known[node][claim["metadata"]["uid"]] = claim

    def remove(self, claim: Object, node: str) -> None:
        """Record an unprepared claim."""
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
    """Return the drivers of a claim's allocated devices."""
    return sorted({item["driver"] for item in _results(claim)})


def holds_parts(claim: Object) -> bool:
    """Return whether a claim has only a part of a device, so that other claims can have the rest."""
    return any("shareID" in result for result in _results(claim))


RUN = "rehearsal.dra-fleet/run"
"""Annotation of a pod whose claims are prepared: it runs, or did."""


class NodePlugins:
    """The node plugins of one cluster.

    Args:
        admin: reads what no kubelet may read.
        identities: everything else is done as the node's kubelet or as the driver's pod.
        view: what there is.
        machines: what there is on them.
        own: the drivers' own programs.

    Attributes:
        discovered: the machines as the drivers' pods found them.
    """

    def __init__(
        self, admin: KubeApi, identities: Identities, view: ClusterView, machines: Machines, own: OwnPrograms
    ) -> None:
        self._admin = admin
        self._identities = identities
        self._view = view
        self._machines = machines
        self.discovered = Discovered(machines)
        self._own = own
        self._shares = PreparedShares(identities, view, RUN)

    async def prepare(self, pod: Object, name: str) -> None:
        """NodePrepareResources for one claim of a pod, by each driver that it has devices of.

        Raises:
            PrepareFailed: in the kubelet's or the driver's words.
        """
        namespace, node = pod["metadata"]["namespace"], pod["spec"]["nodeName"]
        claim = self._view.claims.objects.get(f"{namespace}/{name}", {})
        if not is_reserved_for(claim, pod):  # or the view is behind
            claim = await self._identities.kubelet(node).get(RESOURCE_API, "ResourceClaim", name, namespace)
        if "allocation" not in claim.get("status", {}):
            raise PrepareFailed(f"ResourceClaim {namespace}/{name} is not allocated")
        if not is_reserved_for(claim, pod):
            raise PrepareFailed(f"pod {pod['metadata']['name']} is not allowed to use ResourceClaim {name}")
        for driver in drivers_of(claim):
            holder, plugin = self._registered(node, driver)
            try:
                if own := self._own.registered(holder, plugin):
                    await sockets.prepare(own, claim)
                    continue
                await self._fetch_as_driver(holder, claim)
                at = await self._at_work(holder)
                beside = await self._shares.beside(claim, node)
                plugin.prepare(claim, self._devices(holder, plugin), beside)
                await plugin.settle(at, claim)
                self._shares.add(claim, node)
            except PrepareFailed as error:
                raise PrepareFailed(
                    f"NodePrepareResources failed for ResourceClaim {name}: {error}"
                ) from error

    def _devices(self, holder: Object, plugin: NodePlugin) -> dict[str, Object]:
        """Return a plugin's own list of devices by name, whatever ResourceSlices there are at the moment."""
        host, faults = self.discovered.host(holder), self._machines.faults(holder["spec"]["nodeName"])
        return {
            device["name"]: device
            for device in driver_pod.devices_of(plugin, host, faults)
            if device["name"] not in faults.gone
        }

    async def _at_work(self, holder: Object) -> AtWork:
        return AtWork(
            api=await self._identities.pod(holder),
            namespace=holder["metadata"]["namespace"],
            host=self._machines.host(holder["spec"]["nodeName"]),
        )

    async def _fetch_as_driver(self, holder: Object, claim: Object) -> None:
        """Read the claim with the driver's permissions, as the plugin's library does before it prepares."""
        meta = claim["metadata"]
        try:
            api = await self._identities.pod(holder)
            await api.get(RESOURCE_API, "ResourceClaim", meta["name"], meta["namespace"])
        except ApiError as error:
            raise PrepareFailed(f"retrieve claim {meta['namespace']}/{meta['name']}: {error}") from error

    def _registered(self, node: str, driver: str) -> tuple[Object, NodePlugin]:
        """Return the pod and plugin that serve a driver on a node.

        Raises:
            PrepareFailed: there is none, in the kubelet's words.
        """
        for pod in self._view.pods_on(node):
            for plugin in plugins_of(pod) if driver_pod.is_ready(pod) else ():
                if plugin.driver == driver:
                    return pod, plugin
        raise PrepareFailed(f"DRA driver {driver} is not registered")

    async def unprepare(self, pod: Object, name: str) -> None:
        """NodeUnprepareResources for one claim of a pod; raises as `prepare` does."""
        claim = await self._admin.find(RESOURCE_API, "ResourceClaim", name, pod["metadata"]["namespace"])
        node = pod["spec"]["nodeName"]
        if claim is None:
            return
        for driver in drivers_of(claim):
            holder, plugin = self._registered(node, driver)
            if own := self._own.registered(holder, plugin):
                await sockets.unprepare(own, claim)
            else:
                await plugin.release(await self._at_work(holder), claim)
        self._shares.remove(claim, node)


def _results(claim: Object) -> list[Object]:
    return claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])


def claims_to_prepare(pod: Object) -> list[str]:
    """Return the pod's claims.

    Raises:
        PrepareFailed: some are not made yet.
    """
    extended = pod.get("status", {}).get("extendedResourceClaimStatus")
    names = claim_names(pod)
    if len(names) < len(pod["spec"].get("resourceClaims", [])) + bool(extended):
        raise PrepareFailed("resource claims of the pod are not created yet")
    return names
