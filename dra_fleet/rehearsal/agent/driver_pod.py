"""Status of a pod on its node, as its kubelet reports it: running, waiting, crashing or done.

The status of a driver's pod depends on its specification and the host, never on the stack.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from dra_fleet.rehearsal.drivers import plugins_of, waits_for
from dra_fleet.rehearsal.drivers.plugin import StartFailed
from dra_fleet.rehearsal.simulator.node import NodeFaults

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.drivers.plugin import NodePlugin
    from dra_fleet.rehearsal.simulator.node import Host


REFUSED: Final = "rehearsal.dra-fleet/refused-slices"
"""Annotation of a driver's pod with the ResourceSlices that the API server rejects: pods have no logs."""


class Start(Struct, frozen=True, kw_only=True):
    """Result of starting a driver's pod.

    Args:
        waiting: what the init container keeps logging; None once it passed.
        failed: the last words of each container that crashes, by name.
        unready: why a container that runs does not serve yet, by name.
        published: the plugins that run, with the devices they publish.
    """

    waiting: str | None = None
    failed: dict[str, str] = field(default_factory=dict[str, str])
    unready: dict[str, str] = field(default_factory=dict[str, str])
    published: list[tuple[NodePlugin, list[Object]]] = field(
        default_factory=list["tuple[NodePlugin, list[Object]]"]
    )

    @property
    def problem(self) -> str | None:
        """Problem of the pod in one line; None without one."""
        if self.waiting:
            return self.waiting
        reported = {**self.unready, **self.failed}
        return "; ".join(f"{name}: {text}" for name, text in reported.items()) or None


def start(
    pod: Object,
    host: Host,
    but: Container[str] = (),
    faults: NodeFaults = NodeFaults(),  # noqa: B008 - frozen
) -> Start:
    """Start the containers of a driver's pod on a host.

    Args:
        pod: the driver's.
        host: the node's machine as the driver found it.
        but: containers that are not simulated.
        faults: the machine's faults now.
    """
    for container in pod["spec"].get("initContainers", []):
        problem = waits_for(container, host)
        if problem:
            return Start(waiting=problem)
    outcome = Start()
    for plugin in plugins_of(pod):
        if plugin.container_name in but:
            continue
        if plugin.driver in faults.crashing:
            outcome.failed[plugin.container_name] = "exit status 2, a fault of the rehearsal"
            continue
        try:
            outcome.published.append((plugin, [*devices_of(plugin, host, faults)]))
        except StartFailed as error:
            outcome.failed[plugin.container_name] = str(error)
    return outcome


def devices_of(plugin: NodePlugin, host: Host, faults: NodeFaults) -> Iterator[Object]:
    """Yield the devices that a plugin has to publish, without those that are gone.

    Args:
        plugin: the driver's.
        host: the node's machine as the driver found it.
        faults: the machine's faults now.

    Raises:
        StartFailed: the plugin does not start on this machine.
    """
    for device in plugin.devices(host):
        code = faults.errors.get(device["name"])
        shown = device if code is None else plugin.after_error(device, code)
        if shown is not None and device["name"] not in host.faults.gone:
            yield shown


def status_of(pod: Object, outcome: Start, addresses: Object | None = None) -> Object:
    """Return the pod status that a kubelet would report, as a JSON merge patch.

    Args:
        pod: as it is.
        outcome: how its start went.
        addresses: the fields that hold its own and its node's.
    """
    now, spec = _now(), pod["spec"]
    ready = outcome.problem is None
    initialized = outcome.waiting is None
    conditions = {
        "PodReadyToStartContainers": (True, None, None),
        "Initialized": (initialized, "ContainersNotInitialized", outcome.waiting),
        "Ready": (ready, "ContainersNotReady", outcome.problem),
        "ContainersReady": (ready, "ContainersNotReady", outcome.problem),
        **{gate["conditionType"]: (True, None, None) for gate in spec.get("readinessGates", []) if ready},
    }
    return {
        "phase": "Running" if initialized else "Pending",
        "startTime": pod["status"].get("startTime") or now,
        "conditions": [
            *[item for item in pod["status"].get("conditions", []) if item["type"] not in conditions],
            *[_condition(kind, *state, now) for kind, state in conditions.items()],
        ],
        "initContainerStatuses": [
            _container(item, _init_state(item, initialized, now), ready=initialized)
            for item in spec.get("initContainers", [])
        ],
        "containerStatuses": [_plugin_container(item, outcome, now) for item in spec["containers"]],
        **(addresses or {}),
    }


def creating(pod: Object) -> Object:
    """Return the status of a pod whose kubelet still prepares it, as a JSON merge patch."""
    reason = "PodInitializing" if pod["spec"].get("initContainers") else "ContainerCreating"
    containers = [
        _container(item, {"waiting": {"reason": reason}}, ready=False) for item in pod["spec"]["containers"]
    ]
    return {"phase": "Pending", "containerStatuses": containers}


def succeeded(pod: Object) -> Object:
    """Return the status of a running pod whose containers ended well, as a JSON merge patch."""
    now, status = _now(), pod["status"]
    ended = {"exitCode": 0, "reason": "Completed", "startedAt": status["startTime"], "finishedAt": now}
    unready = {"status": "False", "reason": "PodCompleted", "lastTransitionTime": now}
    return {
        "phase": "Succeeded",
        "conditions": [
            {**item, **unready} if item["type"] in ("Ready", "ContainersReady") else item
            for item in status["conditions"]
        ],
        "containerStatuses": [
            _container(item, {"terminated": ended}, ready=False) for item in pod["spec"]["containers"]
        ],
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _condition(kind: str, good: bool, reason: str | None, message: str | None, now: str) -> Object:
    body: Object = {"type": kind, "status": str(good), "lastTransitionTime": now}
    return body if good else {**body, "reason": reason, "message": message}


def _init_state(container: Object, passed: bool, now: str) -> Object:
    if not passed or container.get("restartPolicy") == "Always":
        return {"running": {"startedAt": now}}
    return {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": now, "finishedAt": now}}


def _plugin_container(container: Object, outcome: Start, now: str) -> Object:
    name = container["name"]
    if outcome.waiting:
        return _container(container, {"waiting": {"reason": "PodInitializing"}}, ready=False)
    if name not in outcome.failed:
        return _container(container, {"running": {"startedAt": now}}, ready=name not in outcome.unready)
    text = outcome.failed[name]
    waiting = {
        "reason": "CrashLoopBackOff",
        "message": f"back-off restarting failed container {name}: {text}",
    }
    last = {
        "terminated": {"exitCode": 1, "reason": "Error", "message": text, "startedAt": now, "finishedAt": now}
    }
    return {**_container(container, {"waiting": waiting}, ready=False), "restartCount": 1, "lastState": last}


def _container(container: Object, state: Object, *, ready: bool) -> Object:
    return {
        "name": container["name"],
        "image": container["image"],
        "imageID": "",
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "state": state,
    }


def shows(pod: Object, status: Object) -> bool:
    """Return whether a pod already has this status, apart from times."""
    return _essence(pod.get("status", {})) == _essence(status)


def _essence(status: Object) -> object:
    return (
        status.get("phase"),
        sorted((item["type"], item["status"], item.get("message")) for item in status.get("conditions", [])),
        [_state(item) for item in status.get("initContainerStatuses", [])],
        [_state(item) for item in status.get("containerStatuses", [])],
    )


def _state(item: Object) -> object:
    states: list[tuple[str, Object]] = list(item["state"].items())
    shown = [(kind, detail.get("reason"), detail.get("message")) for kind, detail in states]
    return item["name"], item["ready"], shown


def is_ready(pod: Object) -> bool:
    """Return whether a pod is Ready and not being deleted."""
    if "deletionTimestamp" in pod["metadata"]:
        return False
    conditions = pod.get("status", {}).get("conditions", [])
    return any(item["type"] == "Ready" and item["status"] == "True" for item in conditions)
