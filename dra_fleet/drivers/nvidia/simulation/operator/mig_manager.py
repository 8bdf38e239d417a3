"""The MIG manager's pod: reads its node's labels, creates partitions, and reports with a label."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.clusters.client import ApiError
from dra_fleet.clusters.pending.state import claim_names
from dra_fleet.drivers.nvidia.simulation.hardware import DRIVER_NAME, parts_of
from dra_fleet.drivers.nvidia.simulation.machine import kept_text
from dra_fleet.drivers.nvidia.simulation.operator import labels, mig_config
from dra_fleet.drivers.nvidia.simulation.operator.labels import GPU_CLIENTS, role_of
from dra_fleet.drivers.nvidia.simulation.operator.operands import MIG_VOLUME
from dra_fleet.rehearsal.agent.driver_pod import is_ready
from dra_fleet.rehearsal.drivers.plugin import environment_of

if TYPE_CHECKING:
    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.drivers.nvidia.simulation.operator.mig_config import Layouts
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.view import ClusterView


# The MIG manager's way from a configuration's name to partitions, one step at a time.
#
# Source: https://github.com/NVIDIA/mig-parted/blob/main/deployments/gpu-operator/reconfigure-mig.sh

PENDING: Final = "pending"

REBOOTING: Final = "rebooting"

SUCCESS: Final = "success"

FAILED: Final = "failed"

RESET_REFUSED: Final = (
    "the MIG mode change needs a GPU reset, which a virtual machine cannot do: the node must reboot, and "
    "WITH_REBOOT is not true"
)

NOT_IN_EFFECT: Final = "MIG mode change did not take effect after rebooting"


class Action(Enum):
    """The next action."""

    NOTHING = "nothing"
    BEGIN = "report pending"
    PAUSE = "stop the operator's own GPU clients"
    WAIT = "wait until the GPUs are free"
    REBOOT = "report rebooting, and reboot"
    APPLY = "make the partitions"
    SUCCEED = "report success"
    FAIL = "report failed"


class Situation(Struct, frozen=True, kw_only=True):
    """State of a node.

    Args:
        state: the node's `nvidia.com/mig.config.state`.
        requested: the layouts of the selected configuration.
        current: the existing layouts.
        needs_reset: True if a GPU of the node needs a reset to change its MIG mode.
        with_reboot: True if the manager may reboot the node.
        holders: pods that hold devices of the node.
        clients: the operator's own pods that use the GPUs.
        paused: True if those were requested to stop.
    """

    state: str | None
    requested: Layouts
    current: Layouts
    needs_reset: bool = False
    with_reboot: bool = False
    holders: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    paused: bool = False


class MigStep(Struct, frozen=True):
    """An action and why."""

    action: Action
    reason: str = ""


def next_step(now: Situation) -> MigStep:
    """Return the manager's next action."""
    agree = _modes(now.requested) == _modes(now.current)
    if now.state == REBOOTING and not agree:
        return MigStep(Action.FAIL, NOT_IN_EFFECT)
    if now.current == now.requested:
        return MigStep(Action.NOTHING if now.state == SUCCESS else Action.SUCCEED)
    return _change(now, agree=agree) if now.state == PENDING else MigStep(Action.BEGIN)


def after_reset(requested: Layouts, current: Layouts) -> Layouts:
    """Return the layouts after a reboot: the modes of `requested`; partitions do not survive a reset."""
    return tuple(None if layout is None else () for layout, _ in zip(requested, current, strict=True))


NOT_FOUND: Final = 404

ENDED: Final = ("Succeeded", "Failed")

MOST_STEPS: Final = 8

_PAUSABLE: Final = tuple(
    labels.DEPLOY + role for role in ("device-plugin", "gpu-feature-discovery", "dcgm", "dcgm-exporter")
)


class MigManager:
    """All MIG managers of a cluster.

    Args:
        identities: the manager labels its node with its pod's token.
        view: which pods use the GPUs.
        machines: whose GPUs are partitioned.
    """

    def __init__(self, identities: Identities, view: ClusterView, machines: Machines) -> None:
        self._identities = identities
        self._view = view
        self._machines = machines
        self._given_up: dict[str, tuple[str, str]] = {}

    async def reconcile(self, pod: Object) -> str | None:
        """Go as far as possible now; what it waits for or failed on, if anything."""
        api = await self._identities.pod(pod)
        name = pod["spec"]["nodeName"]
        for _ in range(MOST_STEPS):
            node = await api.get("v1", "Node", name)
            found: dict[str, str] = node["metadata"].get("labels", {})
            config = found.get(labels.MIG_CONFIG)
            if not config:
                return None
            state = found.get(labels.MIG_STATE)
            step, requested = await self._step(api, pod, found, config)
            if state == FAILED and self._given_up.get(pod["metadata"]["uid"], ("", ""))[0] == config:
                return None
            reason = await self._do(api, pod, found, step, requested)
            if reason or step.action in (Action.NOTHING, Action.REBOOT, Action.SUCCEED, Action.FAIL):
                return reason
        return None

    async def _step(
        self, api: KubeApi, pod: Object, found: dict[str, str], config: str
    ) -> tuple[MigStep, Layouts]:
        host = self._machines.host(pod["spec"]["nodeName"])
        current = tuple(gpu.mig for gpu in parts_of(host).gpus)
        try:
            requested = mig_config.choose(await self._file(api, pod), config, parts_of(host).gpus)
        except mig_config.MigConfigInvalid as error:
            return MigStep(Action.FAIL, str(error)), current
        models = [gpu.model.mig for gpu in parts_of(host).gpus]
        environment = environment_of(pod["spec"]["containers"][0])
        situation = Situation(
            state=found.get(labels.MIG_STATE),
            requested=requested,
            current=current,
            needs_reset=any(
                mig is not None and mig.needs_reset and (one is None) != (other is None)
                for mig, one, other in zip(models, requested, current, strict=True)
            ),
            with_reboot=environment.get("WITH_REBOOT") == "true",
            holders=self._holders(host.name),
            clients=self._clients(host.name),
            paused=all(found.get(key) != "true" for key in _PAUSABLE),
        )
        return next_step(situation), requested

    async def _file(self, api: KubeApi, pod: Object) -> str:
        """Return the configuration file: mounted from a ConfigMap, or written for this node's GPUs."""
        namespace, name = pod["metadata"]["namespace"], pod["spec"]["nodeName"]
        volumes: list[Object] = pod["spec"].get("volumes", [])
        mounted = next((item["configMap"]["name"] for item in volumes if item["name"] == MIG_VOLUME), None)
        if mounted is not None:
            kubelet = self._identities.kubelet(name)
            try:
                body = await kubelet.get("v1", "ConfigMap", mounted, namespace)
            except ApiError as error:
                if error.code != NOT_FOUND:
                    raise
                raise mig_config.MigConfigInvalid(f'configmap "{mounted}" not found') from error
            return str(body.get("data", {}).get("config.yaml", ""))
        models = {gpu.model.name: gpu.model for gpu in parts_of(self._machines.host(name)).gpus}
        text = mig_config.built_in(models.values())
        meta = {"name": f"{name}-mig-config", "namespace": namespace}
        if await api.find("v1", "ConfigMap", meta["name"], namespace) is None:
            await api.create(
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"config.yaml": text}}
            )
        return text

    async def _do(
        self, api: KubeApi, pod: Object, found: dict[str, str], step: MigStep, requested: Layouts
    ) -> str | None:
        name = pod["spec"]["nodeName"]
        resumed = {key: "true" for key in _PAUSABLE if found.get(key) == labels.PAUSED}
        match step.action:
            case Action.NOTHING:
                return None
            case Action.WAIT:
                return step.reason
            case Action.BEGIN:
                await _label(api, name, {labels.MIG_STATE: PENDING})
            case Action.PAUSE:
                paused = {key: labels.PAUSED for key in _PAUSABLE if found.get(key) == "true"}
                await _label(api, name, paused)
            case Action.REBOOT:
                await _label(api, name, {labels.MIG_STATE: REBOOTING})
                parts = parts_of(self._machines.host(name))
                reset = after_reset(requested, tuple(gpu.mig for gpu in parts.gpus))
                await self._machines.reboot(name, DRIVER_NAME, kept_text(parts, reset))
            case Action.APPLY:
                parts = parts_of(self._machines.host(name))
                await self._machines.change(name, DRIVER_NAME, kept_text(parts, requested))
            case Action.SUCCEED:
                await _label(api, name, {**resumed, labels.MIG_STATE: SUCCESS})
            case Action.FAIL:
                self._given_up[pod["metadata"]["uid"]] = (found[labels.MIG_CONFIG], step.reason)
                await _label(api, name, {**resumed, labels.MIG_STATE: FAILED})
                return step.reason
        return None

    def _holders(self, node: str) -> tuple[str, ...]:
        """Return the pods with GPUs of a node, from a claim or from an extended resource."""
        return tuple(sorted(pod["metadata"]["name"] for pod in self._view.pods_on(node) if _holds(pod)))

    def _clients(self, node: str) -> tuple[str, ...]:
        return tuple(
            sorted(pod["metadata"]["name"] for pod in self._view.pods_on(node) if role_of(pod) in GPU_CLIENTS)
        )


def _holds(pod: Object) -> bool:
    if pod.get("status", {}).get("phase") in ENDED or not is_ready(pod):
        return False
    limits = (item.get("resources", {}).get("limits", {}) for item in pod["spec"]["containers"])
    return bool(claim_names(pod)) or any(key.startswith("nvidia.com/") for one in limits for key in one)


async def _label(api: KubeApi, node: str, change: dict[str, str]) -> None:
    await api.merge("v1", "Node", node, {"metadata": {"labels": change}})


def _change(now: Situation, *, agree: bool) -> MigStep:
    if now.holders:
        return MigStep(Action.WAIT, f"In use by another client: {', '.join(now.holders)}")
    if not now.paused:
        return MigStep(Action.PAUSE)
    if now.clients:
        return MigStep(Action.WAIT, f"waiting for {', '.join(now.clients)} to shut down")
    if agree or not now.needs_reset:
        return MigStep(Action.APPLY)
    return MigStep(Action.REBOOT) if now.with_reboot else MigStep(Action.FAIL, RESET_REFUSED)


def _modes(layouts: Layouts) -> list[bool]:
    return [layout is not None for layout in layouts]
