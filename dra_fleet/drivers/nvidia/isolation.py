"""What keeps the holders of devices apart, in words, and what a production stack must not choose silently.

MIG and exclusive GPUs isolate memory and faults in hardware, a vGPU by the hypervisor. Time-slicing and MPS,
a claim that several pods hold together, and parts of a GPU that several claims hold isolate neither.
Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ and
https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu (sharing of a claim's configuration).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.settings import MigSharing
from dra_fleet.drivers.nvidia.shares import GATE, NO_SHARES
from dra_fleet.model.claims import FirstAvailableRequest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.model.classes import OpaqueSettings
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.sharing import Sharing
    from dra_fleet.model.workloads import WorkloadSettings

UNISOLATED = {"TimeSlicing": "time-slicing", "MPS": "MPS"}
"""Titles of the strategies that isolate neither memory nor faults."""


def isolation(machine: Machine, sharing: Sharing) -> str:
    """What isolates the devices of a pool from each other; empty without GPUs."""
    if machine.gpu is None:
        return ""
    if isinstance(sharing, MigSharing):
        return "MIG partitions: memory and faults are kept apart in hardware, compute is reserved"
    if machine.gpu_fraction is not None:
        return (
            f"vGPU, {machine.gpu_fraction} of a GPU: memory and faults are kept apart by the hypervisor, "
            "compute is time-sliced with other machines"
        )
    return "whole GPUs: a claim shares its GPU with no other"


def check_isolation(cluster: str, settings: FleetSettings, findings: Findings) -> None:
    """Reject, in production, devices that pods share without isolation and without a stated reason.

    In other environments it is a warning.
    """
    for name, workload in sorted(settings.workloads.items()):
        if workload.cluster != cluster or workload.claim not in settings.claims:
            continue
        shared = shared_by(workload, settings)
        if not shared or "isolation" in workload.accept:
            continue
        what = f"shares devices by {shared}, which isolates neither memory nor faults"
        if settings.environment == "production":
            findings.error(
                "workloads",
                name,
                "claim",
                what=f"{what}; production needs a reason for that",
                got=workload.claim,
                allowed="exclusive GPUs, MIG partitions, vGPUs",
                fix="ask for a MIG partition, or say why in accept: {isolation: the reason}",
            )
        else:
            findings.warnings.append(f"workload {name} {what}")


def shared_by(workload: WorkloadSettings, settings: FleetSettings) -> str:
    """By what the pods of a workload share devices without isolation; empty where they do not.

    Args:
        workload: Its claim is one of the fleet's.
        settings: The fleet.
    """
    for config in _configs(workload, settings):
        if config.driver != nvidia_facts.driver().driver:
            continue
        sharing = config.parameters.get("sharing")
        strategy = cast("Mapping[str, Any]", sharing).get("strategy") if isinstance(sharing, dict) else None
        if isinstance(strategy, str) and strategy in UNISOLATED:
            return UNISOLATED[strategy]
    if settings.claims[workload.claim].shared and workload.copies > 1:
        return f"one claim of {workload.copies} pods"
    if _holds_parts(workload, settings):
        return "parts of one GPU that only the scheduler counts"
    return ""


def _holds_parts(workload: WorkloadSettings, settings: FleetSettings) -> bool:
    """Whether the NVIDIA driver of the cluster lets other claims hold parts of this one's GPUs."""
    release = settings.clusters[workload.cluster].drivers.get("nvidia")
    if release is None or not value_at(release.values, f"featureGates.{GATE}", default=False):
        return False
    option = str(value_at(release.values, "consumableShares") or "")
    requests = settings.claims[workload.claim].requests.values()
    asked = any(
        item.capacity
        for request in requests
        for item in (request.first_available if isinstance(request, FirstAvailableRequest) else (request,))
    )
    # Where memory is what is shared, a claim that asks for none of it gets all.
    return option not in NO_SHARES and (asked or option != "memory")


def _configs(workload: WorkloadSettings, settings: FleetSettings) -> Iterator[OpaqueSettings]:
    claim = settings.claims[workload.claim]
    for item in claim.config:
        yield item.opaque
    for _, name in claim.classes():
        if name in settings.classes:
            yield from settings.classes[name].config
