"""The kubelets of one cluster: they prepare claims, run pods and remove them, and unprepare claims.

Containers, images, CDI and pod networks are not simulated.
How the real one does it: https://github.com/kubernetes/kubernetes, `pkg/kubelet/cm/dra`.
"""

from __future__ import annotations

import json
import logging
import random
from typing import TYPE_CHECKING, cast

from dra_fleet.clusters.client import ApiError
from dra_fleet.clusters.informer import key_of
from dra_fleet.clusters.pending.state import claim_names
from dra_fleet.drivers import keeps_order
from dra_fleet.model.specs import slice_specs
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.agent.addresses import PodAddresses
from dra_fleet.rehearsal.agent.driver_pod import REFUSED
from dra_fleet.rehearsal.agent.events import PodEvents
from dra_fleet.rehearsal.agent.identity import RENEW_BEFORE
from dra_fleet.rehearsal.agent.node_plugins import RUN, claims_to_prepare
from dra_fleet.rehearsal.agent.own.processes import Crashed, NotUp
from dra_fleet.rehearsal.agent.own.programs import LOOK_AGAIN
from dra_fleet.rehearsal.agent.view import POD, ends_by_itself, has_claims
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers import plugins_of, start_problem
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.node_plugins import Discovered, NodePlugins
    from dra_fleet.rehearsal.agent.own.programs import OwnPrograms
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.drivers.programs import Programs


logger = logging.getLogger(__name__)

SLICE_API = "resource.k8s.io/v1"

SLICE = "ResourceSlice"


def in_published_order(devices: list[Object], driver: str, *, seed: str) -> list[Object]:
    """Devices in the order in which a driver publishes them once it has started.

    Args:
        devices: resource.k8s.io/v1 device objects.
        driver: the driver's name; some publish in another order each time they start.
        seed: distinguishes one start from another; it is logged, and gives the same order again.
    """
    if keeps_order(driver, with_counters=any(device.get("consumesCounters") for device in devices)):
        return devices
    logger.info("%s publishes %d devices in the order of seed %s", driver, len(devices), seed)
    return random.Random(f"{seed}/{driver}").sample(devices, len(devices))  # noqa: S311 - no secret


class SlicePublisher:
    """Publishes devices, and remembers what the server keeps of them, as the real helper does.

    Fields that the server drops are logged and not sent again: neither another try nor a restart would help,
    so that the plugin runs on.
    https://github.com/kubernetes/dynamic-resource-allocation/blob/v0.36.3/resourceslice/resourceslicecontroller.go#L963
    """

    def __init__(self) -> None:
        self._kept: dict[str, str] = {}

    def is_published(
        self,
        present: list[Object],
        node: Object,
        driver: str,
        devices: list[Object],
        counters: Sequence[Object] = (),
    ) -> bool:
        """Return whether a driver's ResourceSlices on a node already have these devices, by its informer."""
        specs = slice_specs(driver, node["metadata"]["name"], devices, 0, counters)
        return self._same(present, specs) and all(_owned_by(item, node) for item in present)

    async def publish(
        self,
        api: KubeApi,
        node_name: str,
        driver: str,
        devices: list[Object],
        counters: Sequence[Object] = (),
    ) -> None:
        """Update the ResourceSlices of one driver on one node to its devices.

        Args:
            api: acts as the driver's pod.
            node_name: whose devices they are; also the pool's name.
            driver: the driver's name.
            devices: resource.k8s.io/v1 device objects.
            counters: what they share.

        Raises:
            ApiError: the pod may not do it, or the server refuses a slice.
        """
        selector = f"spec.nodeName={node_name},spec.driver={driver}"
        listed = await api.list(SLICE_API, SLICE, params={"fieldSelector": selector})
        present = sorted(listed["items"], key=lambda item: item["metadata"]["name"])
        node = await api.get("v1", "Node", node_name)
        if self.is_published(present, node, driver, devices, counters):
            return
        newest = max((item["spec"]["pool"]["generation"] for item in present), default=0)
        specs = slice_specs(driver, node_name, devices, newest + 1, counters)
        stored = [
            await _write(api, spec, present[index] if index < len(present) else None, node)
            for index, spec in enumerate(specs)
        ]
        for surplus in present[len(specs) :]:
            await api.delete(SLICE_API, SLICE, surplus["metadata"]["name"])
        for index, (sent, kept) in enumerate(zip(specs, stored, strict=True)):
            self._report_dropped(node_name, index, sent, kept["spec"])

    def _same(self, present: list[Object], requested: list[Object]) -> bool:
        if len(present) != len(requested):
            return False
        pools = [{**item["spec"]["pool"], "generation": 0} for item in present]
        kept = [_content(item["spec"]) for item in present]
        sent = [_content(spec) for spec in requested]
        generations = {item["spec"]["pool"]["generation"] for item in present}
        return (
            len(generations) == 1
            and sorted(kept) == sorted(self._kept.get(content, content) for content in sent)
            and all(pool == {**requested[0]["pool"], "generation": 0} for pool in pools)
        )

    def _report_dropped(self, pool: str, index: int, sent: Object, stored: Object) -> None:
        missing = sorted(_missing(sent, stored, "spec"))
        if missing:
            self._kept[_content(sent)] = _content(stored)
            logger.warning(
                'pool "%s", slice #%d: some fields were dropped by the apiserver, probably because a feature '
                "is disabled: %s",
                pool,
                index,
                ", ".join(missing),
            )


async def _write(api: KubeApi, spec: Object, present: Object | None, node: Object) -> Object:
    body: Object = {"apiVersion": SLICE_API, "kind": SLICE, "spec": spec}
    owner = {
        "apiVersion": "v1",
        "kind": "Node",
        "name": node["metadata"]["name"],
        "uid": node["metadata"]["uid"],
        "controller": True,
    }
    if present is None:
        name = f"{spec['nodeName']}-{spec['driver']}-"
        return await api.create({**body, "metadata": {"generateName": name, "ownerReferences": [owner]}})
    meta = {
        "name": present["metadata"]["name"],
        "resourceVersion": present["metadata"]["resourceVersion"],
        "ownerReferences": [owner],
    }
    return await api.replace({**body, "metadata": meta})


def _owned_by(item: Object, node: Object) -> bool:
    owners = item["metadata"].get("ownerReferences", [])
    return any(owner["uid"] == node["metadata"]["uid"] for owner in owners)


def _content(spec: Object) -> str:
    return json.dumps([spec.get("devices", []), spec.get("sharedCounters", [])], sort_keys=True)


def _missing(sent: object, stored: object, path: str) -> set[str]:
    lost: set[str] = set()
    if isinstance(sent, dict):
        kept = cast("Object", stored) if isinstance(stored, dict) else {}
        for key, value in cast("Object", sent).items():
            if key in kept:
                lost |= _missing(value, kept[key], f"{path}.{key}")
            elif value not in ([], {}, None):
                lost.add(f"{path}.{key}")
    elif isinstance(sent, list) and isinstance(stored, list):
        pairs = zip(cast("list[object]", sent), cast("list[object]", stored), strict=False)
        for one, other in pairs:
            lost |= _missing(one, other, f"{path}[]")
    return lost


RETRY_SECONDS = 5.0

_TRY_AGAIN = (404, 409)
"""Answers of the API server that end as soon as the view is up to date."""


class DriverPods:
    """Starts the pods of drivers.

    Args:
        identities: all is done as the node's kubelet or as the driver's pod.
        view: what there is.
        queue: where to ask for another try.
        own: the drivers' own programs.
        discovered: the machines as a driver finds them when it starts.
        addresses: of the pods.
        events: what is reported of pods.
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
        outcome = driver_pod.start(
            pod, self._discovered.host(pod), but=programs, faults=self._discovered.faults(node)
        )
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
        requested = plugin.node_labels(self._discovered.host(pod))
        present = self._view.nodes.objects.get(node, {}).get("metadata", {}).get("labels", {})
        if not requested.items() <= present.items():
            await (await self._identities.pod(pod)).merge(
                "v1", "Node", node, {"metadata": {"labels": requested}}
            )


FINISH = "rehearsal.dra-fleet/finish"
"""Annotation that lets a running pod's containers end with exit code 0."""

STOP = "rehearsal.dra-fleet/stop"
"""Annotation of a pod that has ended and whose claims are unprepared."""

ENDED = ("Succeeded", "Failed")


class Kubelets:
    """Reconciles the pods on simulated nodes.

    Args:
        identities: all is done as the node's kubelet or as the driver's pod.
        view: what there is.
        queue: where to ask for another try.
        machines: what there is on them.
        plugins: the drivers' node plugins on them.
        own: the drivers' own programs on them.
        programs: what drivers run in pods beside their node plugins.
    """

    def __init__(
        self,
        identities: Identities,
        view: ClusterView,
        queue: WorkQueue,
        *,
        machines: Machines,
        plugins: NodePlugins,
        own: OwnPrograms,
        programs: Sequence[Programs],
    ) -> None:
        self._identities = identities
        self._view = view
        self._queue = queue
        self._machines = machines
        self._programs = programs
        self._events = PodEvents(identities)
        self._plugins = plugins
        self._addresses = PodAddresses(view)
        discovered = plugins.discovered
        self._drivers = DriverPods(
            identities,
            view,
            queue,
            own=own,
            discovered=discovered,
            addresses=self._addresses,
            events=self._events,
        )
        parts = (identities, *programs, discovered, own, self._addresses)
        view.when_gone += [part.forget for part in parts]

    async def reconcile(self, key: str) -> None:
        """Reconcile one pod."""
        pod = self._view.pods.objects.get(key)
        if pod is None or pod["spec"].get("nodeName") not in self._machines:
            return
        if self._machines.is_down(pod["spec"]["nodeName"]):
            return
        deleting = "deletionTimestamp" in pod["metadata"]
        if deleting or pod.get("status", {}).get("phase") in ENDED:
            await self._end(pod, deleting=deleting)
        elif pod["metadata"].get("annotations", {}).get(RUN) == "true":
            await self._keep(pod)
        else:
            await self._start(pod)

    async def _end(self, pod: Object, *, deleting: bool) -> None:
        """Unprepare the claims of a pod that has ended or must go; one that must go is then removed."""
        meta, kubelet = pod["metadata"], self._identities.kubelet(pod["spec"]["nodeName"])
        if has_claims(pod) and meta.get("annotations", {}).get(STOP) != "true":
            for program in self._programs:
                await program.leave(pod)
            if not await self._unprepare(pod):
                return
            if not deleting:
                await self._report(pod, {}, STOP)
        if deleting:
            at_once = {"gracePeriodSeconds": 0, "preconditions": {"uid": meta["uid"]}}
            await kubelet.delete("v1", "Pod", meta["name"], meta["namespace"], options=at_once)

    async def _keep(self, pod: Object) -> None:
        """Keep a pod running until it ends, and make it ready again when its node is."""
        if ends_by_itself(pod) or pod["metadata"]["annotations"].get(FINISH) == "true":
            await self._report(pod, driver_pod.succeeded(pod))
            return
        await self._come_back(pod)
        for program in self._programs:
            await program.keep(pod)

    async def _start(self, pod: Object) -> None:
        host = self._machines.installed(pod["spec"]["nodeName"])
        if program := next((item for item in self._programs if item.starts(pod)), None):
            await program.reconcile(pod)
        elif plugins_of(pod):
            await self._drivers.start(pod)
        elif (failed := start_problem(pod, host)) is not None:
            await self._wait(pod, failed)
        elif not has_claims(pod):
            for part in self._programs:
                await part.before(pod)
            await self._run(pod)
        else:
            await self._prepare(pod)

    async def _run(self, pod: Object) -> None:
        """Report a pod as running; that its claims are prepared is part of the same write."""
        status = driver_pod.status_of(pod, driver_pod.Start(), self._addresses.of(pod))
        await self._report(pod, status, RUN)

    async def _come_back(self, pod: Object) -> None:
        """Report a running pod as ready again after its node was not."""
        status = pod.get("status", {})
        conditions: list[Object] = status.get("conditions", [])
        if status.get("phase") != "Running" or driver_pod.is_ready(pod):
            return
        ready = [
            {**item, "status": "True"} if item["type"] in ("Ready", "ContainersReady") else item
            for item in conditions
        ]
        await self._report(pod, {"conditions": ready})

    async def _report(self, pod: Object, status: Object, *annotations: str) -> None:
        await self._identities.report(pod, status, dict.fromkeys(annotations, "true"))

    async def _wait(self, pod: Object, outcome: driver_pod.Start) -> None:
        """Say as the kubelet why a pod does not start, and look at it again later."""
        status = driver_pod.status_of(pod, outcome)
        self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)
        if driver_pod.shows(pod, status):
            return
        await self._report(pod, status)
        text = outcome.waiting or "; ".join(outcome.failed.values())
        await self._events.record(pod["spec"]["nodeName"], pod, "BackOff", text)

    async def _prepare(self, pod: Object) -> None:
        """NodePrepareResources for every claim; the pod may run once all succeeded."""
        node = pod["spec"]["nodeName"]
        try:
            for name in claims_to_prepare(pod):
                await self._plugins.prepare(pod, name)
        except PrepareFailed as error:
            text = f"Failed to prepare dynamic resources: prepare dynamic resources: {error}"
            if not pod["status"].get("containerStatuses"):
                # What was read may be of before the pod ran; it would then never be running again.
                await self._identities.report(pod, driver_pod.creating(pod), if_unchanged=True)
            await self._events.record(node, pod, "FailedPrepareDynamicResources", text)
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)
            return
        await self._run(pod)

    async def _unprepare(self, pod: Object) -> bool:
        """NodeUnprepareResources, which needs the driver too; false where it must be tried again."""
        if pod["metadata"].get("annotations", {}).get(RUN) != "true":
            return True  # it never ran, so that nothing has to be undone
        try:
            for name in claim_names(pod):
                await self._plugins.unprepare(pod, name)
        except PrepareFailed as error:
            logger.info("%s stays: %s", key_of(pod), error)  # the real kubelet writes no event either
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)
            return False
        return True
