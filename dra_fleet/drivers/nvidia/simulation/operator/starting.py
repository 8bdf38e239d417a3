"""How the operator's pods start on a machine: what they wait for, and on what they crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.common.host_root import HOST, looks_elsewhere
from dra_fleet.drivers.nvidia.simulation.hardware import parts_of
from dra_fleet.drivers.nvidia.simulation.operator.capacity import plugin_problem
from dra_fleet.drivers.nvidia.simulation.operator.features import is_vgpu
from dra_fleet.drivers.nvidia.simulation.operator.operands import DRIVER_VALIDATION
from dra_fleet.drivers.nvidia.simulation.operator.roles import Role, role_of
from dra_fleet.rehearsal.agent.driver_pod import Start, is_ready
from dra_fleet.rehearsal.drivers.plugin import environment_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host

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


def runtimes(installed: Host, ready: dict[Role | None, Object]) -> set[str]:
    """The NVIDIA runtime handlers that the machine's containerd knows."""
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
    """What an init container keeps waiting for; None once it passes.

    That the toolkit is set up is what the validator says of it, once it passed its own init containers:
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
