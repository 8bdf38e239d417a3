"""The kubelets start the pods of drivers: plugins publish what they find, and log what is refused of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.clusters.api_errors import ApiError
from dra_fleet.clusters.informer import key_of
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.agent.driver_pod import REFUSED
from dra_fleet.rehearsal.agent.identity import RENEW_BEFORE
from dra_fleet.rehearsal.agent.own.processes import Crashed, NotUp
from dra_fleet.rehearsal.agent.own.programs import LOOK_AGAIN
from dra_fleet.rehearsal.agent.publishing import SlicePublisher, in_published_order
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import plugins_of

if TYPE_CHECKING:
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.addresses import PodAddresses
    from dra_fleet.rehearsal.agent.discovered import Discovered
    from dra_fleet.rehearsal.agent.events import PodEvents
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.own.programs import OwnPrograms
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin

RETRY_SECONDS = 5.0
_TRY_AGAIN = (404, 409)
"""What becomes of the API server's answers as soon as the view is not behind any more."""


class DriverPods:
    """Starts the pods of drivers.

    Args:
        identities: all is done as the node's kubelet or as the driver's pod.
        view: what there is.
        queue: where to ask for another try.
        own: the drivers' own programs.
        discovered: the machines as a driver finds them when it starts.
        addresses: of the pods.
        events: what is told of pods.
    """

    def __init__(
        self,
        identities: Identities,
        view: ClusterView,
        queue: WorkQueue,
        *,
        own: OwnPrograms,
        discovered: Discovered,
        addresses: PodAddresses,
        events: PodEvents,
    ) -> None:
        self._identities = identities
        self._view = view
        self._queue = queue
        self._own = own
        self._discovered = discovered
        self._addresses = addresses
        self._events = events
        self._publisher = SlicePublisher()

    async def start(self, pod: Object) -> None:
        """Start the plugins, publish what they find, and report as the kubelet how that went."""
        node = pod["spec"]["nodeName"]
        programs = {
            plugin.container_name: program
            for plugin in plugins_of(pod)
            if (program := self._own.serves(plugin)) is not None
        }
        if not programs:
            self._own.forget(pod)
        outcome = driver_pod.start(pod, self._discovered.host(pod), but=programs)
        for plugin in plugins_of(pod) if outcome.waiting is None else ():
            if program := programs.get(plugin.container_name):
                await self._keep(pod, plugin, program, outcome)
        refused = [await self._publish(pod, plugin, devices) for plugin, devices in outcome.published]
        for plugin, _ in outcome.published:
            try:
                await self._label(pod, plugin)
            except ApiError as error:
                if error.code in _TRY_AGAIN:
                    raise
                outcome.failed[plugin.container_name] = f"failed to label the node: {error}"
        logged = "; ".join(filter(None, refused))
        status = driver_pod.status_of(pod, outcome, self._addresses.of(pod))
        again = (
            LOOK_AGAIN if outcome.unready else RETRY_SECONDS if outcome.problem or logged else RENEW_BEFORE
        )
        self._queue.add_later(Key(POD, key_of(pod)), again)
        if (
            driver_pod.shows(pod, status)
            and pod["metadata"].get("annotations", {}).get(REFUSED, "") == logged
        ):
            return
        await self._identities.report(pod, status, {REFUSED: logged or None})
        if outcome.problem and not outcome.unready:
            reason = "DriverNotReady" if outcome.waiting else "BackOff"
            await self._events.record(node, pod, reason, outcome.problem)
        self._view.wake_pods_on(node, but=pod)  # itself it would look at before it sees what was reported

    async def _keep(self, pod: Object, plugin: NodePlugin, program: Path, outcome: driver_pod.Start) -> None:
        """Keep a driver's own program up, and note what is wrong with it."""
        name, node = plugin.container_name, pod["spec"]["nodeName"]
        try:
            await self._own.keep(pod, plugin, program, self._discovered.host(pod))
        except Crashed as error:
            outcome.failed[name] = str(error)
        except NotUp as error:
            outcome.unready[name] = str(error)
        else:
            if not self._view.slices_of(node, plugin.driver):
                outcome.unready[name] = f"it has registered and published no ResourceSlice of {plugin.driver}"

    async def _publish(self, pod: Object, plugin: NodePlugin, devices: list[Object]) -> str:
        """Publish a plugin's devices; returns why the API server refuses them.

        A plugin logs that and tries again, and runs on:
        https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/kubeletplugin/draplugin.go#L934
        """
        node, driver, counters = pod["spec"]["nodeName"], plugin.driver, plugin.counters()
        ordered = in_published_order(devices, driver, seed=pod["metadata"]["uid"])
        seen, owner = self._view.slices_of(node, driver), self._view.nodes.objects.get(node)
        if seen and owner and self._publisher.is_published(seen, owner, driver, ordered, counters):
            return ""
        try:
            api = await self._identities.pod(pod)
            await self._publisher.publish(api, node, driver, ordered, counters)
        except ApiError as error:
            if error.code in _TRY_AGAIN:
                raise
            return f"processing ResourceSlice objects of {plugin.driver}: {error}"
        return ""

    async def _label(self, pod: Object, plugin: NodePlugin) -> None:
        """Put the labels on the node that a plugin sets when it starts."""
        node = pod["spec"]["nodeName"]
        wanted = plugin.node_labels(self._discovered.host(pod))
        present = self._view.nodes.objects.get(node, {}).get("metadata", {}).get("labels", {})
        if not wanted.items() <= present.items():
            await (await self._identities.pod(pod)).merge(
                "v1", "Node", node, {"metadata": {"labels": wanted}}
            )
