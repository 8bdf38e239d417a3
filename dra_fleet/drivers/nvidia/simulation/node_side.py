"""NVIDIA's driver, its installers, the GPU Operator and ComputeDomains on simulated machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.drivers.nvidia.simulation import binaries, machine
from dra_fleet.drivers.nvidia.simulation.compute_domain import ComputeDomainPlugin
from dra_fleet.drivers.nvidia.simulation.compute_domains.parts import ComputeDomainParts, crash_of
from dra_fleet.drivers.nvidia.simulation.hardware import NvidiaNode
from dra_fleet.drivers.nvidia.simulation.installers import installer_problem, is_installer
from dra_fleet.drivers.nvidia.simulation.operator.daemons import Daemons
from dra_fleet.drivers.nvidia.simulation.operator.roles import CLUSTER_WIDE, role_of
from dra_fleet.drivers.nvidia.simulation.outfit import outfit
from dra_fleet.drivers.nvidia.simulation.plugin import NvidiaGpuPlugin, prestart_problem
from dra_fleet.drivers.nvidia.simulation.webhook import Webhooks
from dra_fleet.rehearsal.agent.driver_pod import Start
from dra_fleet.rehearsal.drivers.node_side import NodeSide, OwnProgram, Reach

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.drivers.node_side import Outfit
    from dra_fleet.rehearsal.tools.recipes import Recipe
    from dra_fleet.rehearsal.world.node import Host


class NvidiaProgram(OwnProgram):
    """NVIDIA's gpu-kubelet-plugin, built from its module and run over a simulated NVML."""

    plugin = NvidiaGpuPlugin

    @override
    def recipes(self) -> Mapping[str, Recipe]:
        return binaries.recipes()

    @override
    def prepare(self) -> None:
        binaries.nvml_standin()

    @override
    def outfit(self, host: Host, directory: Path) -> Outfit:
        return outfit(host, directory)


class NvidiaNodes(NodeSide):
    """NVIDIA's driver, its installers, the GPU Operator and ComputeDomains on simulated machines."""

    plugins = (NvidiaGpuPlugin, ComputeDomainPlugin)
    programs = (Daemons, ComputeDomainParts, Webhooks)
    node_model = NvidiaNode
    own = NvidiaProgram()

    @override
    def waits_for(self, container: Object, host: Host) -> str | None:
        return prestart_problem(container, host)

    @override
    def start_problem(self, pod: Object, host: Host) -> Start | None:
        if (problem := installer_problem(pod, host)) is not None:
            return Start(waiting=problem)
        if (crash := crash_of(pod)) is not None:
            return Start(failed={pod["spec"]["containers"][0]["name"]: crash})
        return None

    @override
    def reach(self, pod: Object) -> Reach | None:
        role = role_of(pod)
        if role in CLUSTER_WIDE:
            return Reach.CLUSTER
        return Reach.NODE if role is not None or is_installer(pod) else None

    @override
    def installed(self, host: Host, pods: Sequence[Object], remembered: str) -> Host:
        return machine.installed(host, pods, remembered)

    @override
    def with_pods(self, host: Host, pods: Sequence[Object]) -> Host:
        return machine.with_pods(host, pods)

    @override
    def resources(self, host: Host, pods: Sequence[Object], capacity: Mapping[str, str]) -> Mapping[str, str]:
        return machine.resources(host, pods, capacity)


NODE_SIDE: Final = NvidiaNodes()
