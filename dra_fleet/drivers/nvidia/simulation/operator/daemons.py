"""Periodic actions of the operator's running pods, each with its pod's token."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import yaml
from msgspec.structs import replace
from pydantic import BaseModel, Field, ValidationError
from typing_extensions import override

from dra_fleet.clusters.client import ApiError
from dra_fleet.clusters.informer import key_of
from dra_fleet.drivers.common.placement import HOST, looks_elsewhere
from dra_fleet.drivers.nvidia.facts import PLUGIN_CONFIG
from dra_fleet.drivers.nvidia.simulation.hardware import DRIVER_NAME, parts_of
from dra_fleet.drivers.nvidia.simulation.machine import kept_text
from dra_fleet.drivers.nvidia.simulation.operator import features, labels
from dra_fleet.drivers.nvidia.simulation.operator.features import gpu_labels, is_vgpu, system_labels
from dra_fleet.drivers.nvidia.simulation.operator.labels import (
    WHOLE,
    Role,
    plugin_problem,
    role_of,
    strategy_of,
)
from dra_fleet.drivers.nvidia.simulation.operator.mig_manager import MigManager
from dra_fleet.drivers.nvidia.simulation.operator.operands import (
    DRIVER_VALIDATION,
    HASH,
    OPERANDS,
    PLUGIN_VOLUME,
    component_of,
    objects_of,
    runtime_class,
)
from dra_fleet.rehearsal.agent import driver_pod
from dra_fleet.rehearsal.agent.driver_pod import Start, is_ready
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.plugin import environment_of
from dra_fleet.rehearsal.drivers.programs import Programs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.drivers.nvidia.simulation.operator.features import Policy
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue
    from dra_fleet.rehearsal.simulator.node import Host


# Node feature discovery: workers write NodeFeature objects, the master makes node labels of them.
#
# Source: https://github.com/kubernetes-sigs/node-feature-discovery. The master takes labels of nvidia.com as
# well, as the operator's chart reports it to.

API: Final = "nfd.k8s-sigs.io/v1alpha1"

KIND: Final = "NodeFeature"

NODE_NAME: Final = "nfd.node.kubernetes.io/node-name"

OWNED: Final = "nfd.node.kubernetes.io/feature-labels"


async def publish(api: KubeApi, pod: Object, host: Host, others: Iterable[Object]) -> bool:
    """Write what a worker finds on its node; whether that was news.

    Args:
        api: acts as the worker's pod.
        pod: the worker's.
        host: its machine.
        others: the pods on it; where GPU feature discovery runs, its findings are in a file there.
    """
    found = system_labels(host)
    for other in others:
        if role_of(other) is Role.FEATURE_DISCOVERY and is_ready(other):
            found |= gpu_labels(host, strategy_of(other))
    namespace = pod["metadata"]["namespace"]
    present = await api.find(API, KIND, host.name, namespace)
    body: Object = {
        "apiVersion": API,
        "kind": KIND,
        "metadata": {"name": host.name, "namespace": namespace, "labels": {NODE_NAME: host.name}},
        "spec": {"labels": found},
    }
    if present is None:
        await api.create(body)
        return True
    if present["spec"].get("labels") == found:
        return False
    body["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"]
    await api.replace(body)
    return True


async def label_nodes(api: KubeApi) -> None:
    """Give every node the labels of its NodeFeature objects; take away those that are no more.

    Args:
        api: acts as the master's pod.
    """
    found: dict[str, dict[str, str]] = {}
    for item in (await api.list(API, KIND))["items"]:
        node = item["metadata"].get("labels", {}).get(NODE_NAME, "")
        found.setdefault(node, {}).update(cast("dict[str, str]", item["spec"].get("labels") or {}))
    for node in (await api.list("v1", "Node"))["items"]:
        patch = _patch(node, found.get(node["metadata"]["name"], {}))
        if patch:
            await api.merge("v1", "Node", node["metadata"]["name"], {"metadata": patch})


# The operator's own loop: from the ClusterPolicy object to node labels and DaemonSets.
#
# It does everything with the connection it is given, which is its pod's: what the pod may not do fails.

CONFLICT = 409


async def reconcile(api: KubeApi, namespace: str, version: str) -> None:
    """Reconcile nodes and operands with the ClusterPolicy; the oldest counts if there are several.

    Args:
        api: acts as the operator's pod.
        namespace: namespace of the operator and its operands.
        version: version of the operator.

    Raises:
        ApiError: an action is forbidden.
    """
    found = (await api.list(features.API, features.KIND))["items"]
    if not found:
        return
    body = min(found, key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]))
    if "deletionTimestamp" in body["metadata"]:
        return
    now = features.read(body, version)
    if not await _label_nodes(api, now):
        await _report(api, body, namespace, ready=True)
        return
    daemonsets = await api.list("apps/v1", "DaemonSet", namespace)
    present: dict[str, Object] = {item["metadata"]["name"]: item for item in daemonsets["items"]}
    for operand in OPERANDS:
        if component_of(operand, now).enabled:
            *needed, daemonset = objects_of(operand, now, namespace)
            if _differs(present.get(operand.name), daemonset):
                for item in (runtime_class(now), *needed):
                    await _ensure(api, item, None)
                await _ensure(api, daemonset, present.get(operand.name))
        elif operand.name in present:
            await api.delete("apps/v1", "DaemonSet", operand.name, namespace)
    await _report(api, body, namespace, ready=all(_is_ready(item) for item in present.values()))


async def _report(api: KubeApi, body: Object, namespace: str, *, ready: bool) -> None:
    status = {"state": "ready" if ready else "notReady", "namespace": namespace}
    if body.get("status") == status:
        return
    name = body["metadata"]["name"]
    await api.merge(features.API, features.KIND, name, {"status": status}, subresource="status")


NO_GPU: Final = "Could not find any NVIDIA GPU on the PCI bus"

VGPU: Final = (
    "the GPU is a vGPU, which this driver does not support: the guest needs the GRID driver of its cloud"
)


def start(pod: Object, installed: Host, host: Host, others: Iterable[Object]) -> Start:
    """Start a pod of the operator.

    Args:
        pod: the pod.
        installed: the machine without what the operator's pods put on it.
        host: the machine as it is now.
        others: the pods on the machine.
    """
    ready = {role_of(other): other for other in others if is_ready(other)}
    problem = _sandbox(pod, installed, ready)
    if problem is None and not is_ready(pod):
        waits = (
            _init(item, installed, host, ready, role_of(pod))
            for item in pod["spec"].get("initContainers", [])
        )
        problem = next((text for text in waits if text), None)
    if problem:
        return Start(waiting=problem)
    crash = _crash(pod, host)
    return Start(failed={pod["spec"]["containers"][0]["name"]: crash} if crash else {})


RETRY_SECONDS: Final = 5.0

FORBIDDEN: Final = 403


class Daemons(Programs):
    """The operator's pods on simulated machines.

    Args:
        identities: pods act with their own tokens, and kubelets report about them.
        view: what there is.
        queue: where to ask for another try.
        machines: where the pods run.
    """

    @override
    def __init__(
        self, identities: Identities, view: ClusterView, queue: WorkQueue, machines: Machines
    ) -> None:
        super().__init__(identities, view, queue, machines)
        self._mig = MigManager(identities, view, machines)

    @override
    def starts(self, pod: Object) -> bool:
        return role_of(pod) is not None

    @override
    async def reconcile(self, pod: Object) -> None:
        node = pod["spec"]["nodeName"]
        installed, host = self._machines.installed(node), self._machines.host(node)
        if role_of(pod) is Role.DRIVER and parts_of(installed).nvidia:
            await self._leave_to_host(pod)
            return
        outcome = start(pod, installed, host, self._view.pods_on(node))
        status = driver_pod.status_of(pod, outcome)
        if not driver_pod.shows(pod, status):
            await self._report(pod, status, outcome.problem)
        if outcome.problem:
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)
            return
        try:
            await self._work(pod)
        except ApiError as error:
            if error.code != FORBIDDEN:
                raise
            await self._events.record(node, pod, "Forbidden", error.message)
            self._queue.add_later(Key(POD, key_of(pod)), RETRY_SECONDS)

    async def _report(self, pod: Object, status: Object, problem: str | None) -> None:
        await self._identities.report(pod, status)
        if problem:
            reason = "FailedCreatePodSandBox" if "sandbox" in problem else "BackOff"
            await self._events.record(pod["spec"]["nodeName"], pod, reason, problem)

    async def _leave_to_host(self, pod: Object) -> None:
        """Report that the driver manager found a driver on the host, and remove the pod from the node."""
        api = await self._identities.pod(pod)
        patch = {"metadata": {"labels": {f"{labels.DEPLOY}driver": labels.PRE_INSTALLED}}}
        await api.merge("v1", "Node", pod["spec"]["nodeName"], patch)

    async def _work(self, pod: Object) -> None:
        match role_of(pod):
            case Role.OPERATOR:
                self._watch(pod, [(features.API, features.KIND, None)])
                api = await self._identities.pod(pod)
                version = pod["spec"]["containers"][0]["image"].rpartition(":")[2]
                await reconcile(api, pod["metadata"]["namespace"], version)
            case Role.NFD_WORKER:
                found = self._machines.host(pod["spec"]["nodeName"])
                others = list(self._view.pods_on(found.name))
                if await publish(await self._identities.pod(pod), pod, found, others):
                    self._view.wake_cluster_wide()
            case Role.NFD_MASTER:
                await label_nodes(await self._identities.pod(pod))
            case Role.MIG_MANAGER:
                await self._run_mig_manager(pod)
            case Role.DEVICE_PLUGIN:
                await self._share(pod)
            case _:
                return

    async def _share(self, pod: Object) -> None:
        """Advertise GPUs as often as the node's entry of the plugin's ConfigMap says."""
        name = pod["spec"]["nodeName"]
        try:
            shared = await selected(pod, await self._identities.pod(pod), self._identities.kubelet(name))
        except PluginConfigInvalid as error:
            await self._events.record(name, pod, "DevicePluginConfig", str(error))
            return
        parts = parts_of(self._machines.host(name))
        if parts.shared != shared:
            text = kept_text(replace(parts, shared=shared))
            await self._machines.change(name, DRIVER_NAME, text)
            self._view.wake_all_on(name)

    async def _run_mig_manager(self, pod: Object) -> None:
        trouble = await self._mig.reconcile(pod)
        if trouble:
            await self._events.record(pod["spec"]["nodeName"], pod, "MigConfig", trouble)


def _patch(node: Object, requested: dict[str, str]) -> dict[str, Any]:
    meta = node["metadata"]
    labels: dict[str, str] = meta.get("labels", {})
    noted: str = meta.get("annotations", {}).get(OWNED, "")
    before = {key for key in noted.split(",") if key}
    change: dict[str, str | None] = {key: None for key in before - set(requested) if key in labels}
    change |= {key: value for key, value in requested.items() if labels.get(key) != value}
    patch: dict[str, Any] = {"labels": change} if change else {}
    if before != set(requested):
        patch["annotations"] = {OWNED: ",".join(sorted(requested))}
    return patch


async def _label_nodes(api: KubeApi, now: Policy) -> bool:
    """Set the nodes' labels; whether any node has GPUs."""
    found = False
    for node in (await api.list("v1", "Node"))["items"]:
        present: dict[str, str] = node["metadata"].get("labels", {})
        change = labels.changes(present, now)
        if change:
            await api.merge("v1", "Node", node["metadata"]["name"], {"metadata": {"labels": change}})
        found = found or labels.has_gpus(present)
    return found


def _differs(present: Object | None, requested: Object) -> bool:
    if present is None:
        return True
    return present["metadata"].get("annotations", {}).get(HASH) != requested["metadata"]["annotations"][HASH]


async def _ensure(api: KubeApi, requested: Object, present: Object | None) -> None:
    """Create an object, or replace it where its content is another."""
    if present is None:
        try:
            await api.create(requested)
        except ApiError as error:
            if error.code != CONFLICT:
                raise
        else:
            return
        meta = requested["metadata"]
        present = await api.get(
            requested["apiVersion"], requested["kind"], meta["name"], meta.get("namespace")
        )
    if _differs(present, requested):
        meta = {**requested["metadata"], "resourceVersion": present["metadata"]["resourceVersion"]}
        await api.replace({**requested, "metadata": meta})


def _is_ready(daemonset: Object) -> bool:
    status = daemonset.get("status", {})
    return status.get("observedGeneration") == daemonset["metadata"].get("generation") and status.get(
        "numberReady", 0
    ) >= status.get("desiredNumberScheduled", 0)


def runtimes(installed: Host, ready: dict[Role | None, Object]) -> set[str]:
    """Return the NVIDIA runtime handlers that the machine's containerd knows."""
    driver = parts_of(installed).nvidia
    found = {driver.runtime} if driver else set[str]()
    toolkit = ready.get(Role.TOOLKIT)
    if toolkit is not None:
        environment = environment_of(toolkit["spec"]["containers"][0])
        found.add(environment.get("CONTAINERD_RUNTIME_CLASS", "nvidia"))
    return found


def _sandbox(pod: Object, installed: Host, ready: dict[Role | None, Object]) -> str | None:
    name = pod["spec"].get("runtimeClassName")
    if name is None or name in runtimes(installed, ready):
        return None
    return (
        "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to get sandbox runtime: no "
        f'runtime for "{name}" is configured'
    )


def _init(
    container: Object, installed: Host, host: Host, ready: dict[Role | None, Object], role: Role | None
) -> str | None:
    """Return the condition that an init container waits for; None if it passes.

    The validator reports that the toolkit is set up after its own init containers pass:
    https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/assets/state-operator-validation/0500_daemonset.yaml
    """
    name = container["name"]
    for mount in container.get("volumeMounts", []):
        if not looks_elsewhere(mount["mountPath"], [HOST]):
            return (
                f"{name}: volume {mount['name']} is mounted on /, the container's own root: it cannot start"
            )
    if name == DRIVER_VALIDATION and parts_of(host).nvidia is None:
        return "waiting for the driver validations to be ready: no NVIDIA driver on this node"
    has_runtime = parts_of(installed).nvidia is not None or Role.TOOLKIT in ready
    is_set_up = has_runtime if role is Role.VALIDATOR else Role.VALIDATOR in ready
    if name == "toolkit-validation" and not is_set_up:
        return "waiting for nvidia container toolkit to be setup"
    return None


def _crash(pod: Object, host: Host) -> str | None:
    match role_of(pod):
        case Role.DRIVER if not parts_of(host).gpus:
            return NO_GPU
        case Role.DRIVER if any(is_vgpu(gpu.model) for gpu in parts_of(host).gpus):
            return VGPU
        case Role.DEVICE_PLUGIN:
            return plugin_problem(pod, host)
        case _:
            return None


# Source: https://github.com/NVIDIA/k8s-device-plugin/blob/v0.18.0/README.md (node label, ConfigMap,
# `sharing`).

_NOT_FOUND: Final = 404


class _Replicated(BaseModel):
    name: str
    replicas: int


class _Shared(BaseModel):
    resources: tuple[_Replicated, ...] = ()


class _Sharing(BaseModel):
    time_slicing: _Shared = Field(default=_Shared(), alias="timeSlicing")
    mps: _Shared = _Shared()


class _Config(BaseModel):
    sharing: _Sharing = _Sharing()


class PluginConfigInvalid(Exception):  # noqa: N818 - the configuration is invalid; that is the sentence
    """The plugin cannot use its configuration."""


async def selected(pod: Object, api: KubeApi, kubelet: KubeApi) -> tuple[str, int] | None:
    """Return strategy and replicas that a plugin's pod finds; None if it advertises each GPU once.

    Args:
        pod: the plugin's.
        api: acts as the pod, which reads its node's label.
        kubelet: acts as the kubelet, which mounts the ConfigMap.

    Raises:
        PluginConfigInvalid: the ConfigMap or the selected entry is missing, or the entry cannot be read.
    """
    volumes: list[Object] = pod["spec"].get("volumes", [])
    mounted = next((item["configMap"]["name"] for item in volumes if item["name"] == PLUGIN_VOLUME), None)
    if mounted is None:
        return None
    node = await api.get("v1", "Node", pod["spec"]["nodeName"])
    default = environment_of(pod["spec"]["containers"][0]).get("DEFAULT_CONFIG", "")
    entry = node["metadata"].get("labels", {}).get(PLUGIN_CONFIG, default)
    try:
        body = await kubelet.get("v1", "ConfigMap", mounted, pod["metadata"]["namespace"])
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        raise PluginConfigInvalid(f'configmap "{mounted}" not found') from error
    data: dict[str, str] = body.get("data", {})
    if entry and entry not in data:
        raise PluginConfigInvalid(
            f"specified config {entry} does not exist; the ConfigMap has: {', '.join(data)}"
        )
    return shared(data[entry]) if entry else None


def shared(text: str) -> tuple[str, int] | None:
    """Return strategy and replicas of whole GPUs in a configuration of the plugin.

    Raises:
        PluginConfigInvalid: it is no such configuration.
    """
    try:
        sharing = _Config.model_validate(yaml.safe_load(text) or {}).sharing
    except (yaml.YAMLError, ValidationError) as error:
        raise PluginConfigInvalid(f"unable to parse the configuration: {error}") from error
    for strategy, found in (("time-slicing", sharing.time_slicing), ("mps", sharing.mps)):
        for item in found.resources:
            if item.name == WHOLE and item.replicas > 1:
                return strategy, item.replicas
    return None
