"""NVIDIA's driver, its installers, the GPU Operator and ComputeDomains on simulated machines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.drivers.nvidia.simulation import binaries, machine
from dra_fleet.drivers.nvidia.simulation.compute_domain import ComputeDomainPlugin
from dra_fleet.drivers.nvidia.simulation.compute_domains.parts import ComputeDomainParts, crash_of
from dra_fleet.drivers.nvidia.simulation.installers import installer_problem, is_installer
from dra_fleet.drivers.nvidia.simulation.operator.daemons import Daemons
from dra_fleet.drivers.nvidia.simulation.operator.roles import CLUSTER_WIDE, role_of
from dra_fleet.drivers.nvidia.simulation.outfit import outfit
from dra_fleet.drivers.nvidia.simulation.plugin import NvidiaGpuPlugin, prestart_problem
from dra_fleet.drivers.nvidia.simulation.webhook import Webhooks
from dra_fleet.rehearsal.agent.driver_pod import Start
from dra_fleet.rehearsal.drivers.node_side import NodeSide, OwnProgram, Reach

if TYPE_CHECKING:
    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.world.node import Host


def start_problem(pod: Object, host: Host) -> Start | None:
    """How an installer's pod, or one of a ComputeDomain, fails on a machine."""
    if (problem := installer_problem(pod, host)) is not None:
        return Start(waiting=problem)
    if (crash := crash_of(pod)) is not None:
        return Start(failed={pod["spec"]["containers"][0]["name"]: crash})
    return None


def reach(pod: Object) -> Reach | None:
    """Who must look again when a part of the operator or an installer changes."""
    role = role_of(pod)
    if role in CLUSTER_WIDE:
        return Reach.CLUSTER
    return Reach.NODE if role is not None or is_installer(pod) else None


NODE_SIDE: Final = NodeSide(
    plugins=(NvidiaGpuPlugin, ComputeDomainPlugin),
    programs=(Daemons, ComputeDomainParts, Webhooks),
    waits_for=prestart_problem,
    start_problem=start_problem,
    reach=reach,
    installed=machine.installed,
    with_pods=machine.with_pods,
    resources=machine.resources,
    own=OwnProgram(
        plugin=NvidiaGpuPlugin, recipes=binaries.recipes, prepare=binaries.nvml_standin, outfit=outfit
    ),
)
