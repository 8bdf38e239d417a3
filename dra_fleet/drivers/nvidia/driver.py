"""NVIDIA's DRA driver: the class that answers for the modules of this folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, cast

from typing_extensions import override

from dra_fleet.core.facts import Fact
from dra_fleet.drivers.base import Accelerators, Driver, MachineTraits
from dra_fleet.drivers.common.placement import node_affinity, node_label
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import compute_domains, sharing, slices, values
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.compute_domains import checked_domain
from dra_fleet.drivers.nvidia.facts import (
    EVICTION,
    GPU_PRESENT,
    KEY,
    MIG_CONFIG,
    MIG_NONE,
    MIG_READY,
    MIG_STATE,
)
from dra_fleet.drivers.nvidia.mig_config import config_name
from dra_fleet.drivers.nvidia.operator import plan_gpu_operator
from dra_fleet.drivers.nvidia.resources import RESOURCES
from dra_fleet.drivers.nvidia.settings import (
    ComputeDomainSettings,
    MigSharing,
    Mps,
    ReplicaSharing,
    TimeSlicing,
)
from dra_fleet.drivers.nvidia.shares import GATE, NO_SHARES
from dra_fleet.drivers.nvidia.sharing import is_divided
from dra_fleet.drivers.nvidia.sharing.replicas import check_replicas, plugin_labels, replicas
from dra_fleet.drivers.nvidia.values import priority_keys
from dra_fleet.model.claims import FirstAvailableRequest
from dra_fleet.model.specs import POOL

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings, Refusal, SettingsError
    from dra_fleet.core.transitions import Transition
    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.kubernetes.cel.intent import Asked
    from dra_fleet.model.classes import OpaqueSettings
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import Object, Published
    from dra_fleet.model.plan import ChartValues, ComputeDomainPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.settings import GpuOperatorSettings, SettingsModel, Sharing
    from dra_fleet.model.workloads import DemandSettings


# Isolation between the users of devices, as text, and choices that a production stack must state.
#
# MIG and exclusive GPUs isolate memory and faults in hardware, a vGPU by the hypervisor. Time-slicing and
# MPS, a claim that several pods hold together, and parts of a GPU that several claims hold isolate neither.
# Source: https://docs.nvidia.com/datacenter/tesla/mig-user-guide/ and https://github.com/kubernetes-
# sigs/dra-driver-nvidia-gpu (sharing of a claim's configuration).

UNISOLATED = {"TimeSlicing": "time-slicing", "MPS": "MPS"}
"""Titles of the strategies that isolate neither memory nor faults."""


def isolation(machine: Machine, sharing: Sharing) -> str:
    """Return the isolation between the devices of a pool; empty without GPUs."""
    if machine.gpu is None:
        return ""
    if isinstance(sharing, MigSharing):
        return "MIG partitions: memory and faults are kept apart in hardware, compute is reserved"
    if isinstance(sharing, ReplicaSharing):
        return f"{sharing.strategy}, {sharing.replicas} pods per GPU: neither memory nor faults are isolated"
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
                *settings.place(name),
                "claim",
                what=f"{what}; production needs a reason for that",
                got=workload.claim,
                allowed="exclusive GPUs, MIG partitions, vGPUs",
                fix="ask for a MIG partition, or say why in accept: {isolation: the reason}",
            )
        else:
            findings.warnings.append(f"workload {name} {what}")


def shared_by(workload: DemandSettings, settings: FleetSettings) -> str:
    """Return the way in which the pods of a workload share devices without isolation, or an empty text.

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


# Requirements of NVIDIA's driver on nodes: labels, chart values for a timely start, MIG progress.
#
# The GPU Operator's MIG manager reads `nvidia.com/mig.config` and answers in `nvidia.com/mig.config.state`:
# https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html

_FABRIC_GATE = "CrashOnNVLinkFabricErrors"

_CLIQUE_LABEL = "kubeletPlugin.containers.computeDomains.gpuCliqueLabelEnabled"


def pool_labels(machine: Machine, requested: Sharing, *, by_operator: bool) -> dict[str, str]:
    """Return labels that report GPUs, let the operator evict the plugin, and name the MIG layout."""
    labels: dict[str, str] = {}
    if machine.gpus:
        labels[GPU_PRESENT] = "true"
        if by_operator:
            labels[EVICTION] = "true"
    if isinstance(requested, MigSharing) and machine.gpu is not None:
        labels[MIG_CONFIG] = config_name(nvidia_facts.gpus()[machine.gpu], requested.layout)
    return labels


def placement_values(release: Release) -> ChartValues:
    """Return values with which the plugin waits for partitions and can be evicted for a driver upgrade."""
    chosen: dict[str, Any] = {}
    cut = [pool.name for pool in release.pools if is_divided(pool.machine, pool.sharing)]
    if cut:
        chosen["affinity"] = after_partitioning(cut)
    if any(pool.gpu_driver == "operator" for pool in release.pools if pool.machine.gpus):
        chosen["nodeSelector"] = {EVICTION: "true"}
    return {"kubeletPlugin": chosen} if chosen else {}


def fabric_values(release: Release, fabric: str, *, is_labelled: bool) -> ChartValues:
    """ComputeDomains, where GPUs of some pools reach those of other machines over NVLink."""
    with_gpus = [pool for pool in release.pools if pool.machine.gpus]
    joined = [pool for pool in with_gpus if pool.machine.fabric == fabric]
    if not joined:
        return {}
    chosen: dict[str, Any] = {"resources": {"computeDomains": {"enabled": True}}}
    if len(joined) < len(with_gpus) and _FABRIC_GATE in release.version.feature_gates:
        # One DaemonSet serves all pools, and its plugin would crash where there is no such fabric.
        chosen["featureGates"] = {_FABRIC_GATE: False}
    if not is_labelled and _CLIQUE_LABEL in release.version.values:
        # Pods of a ComputeDomain find each other by this label. Two who set it would undo each other.
        chosen["kubeletPlugin"] = {"containers": {"computeDomains": {"gpuCliqueLabelEnabled": True}}}
    return chosen


def awaits(spec: Object, node: Object) -> str | None:
    """Return the condition that pods on partitioned nodes wait for; None if they do not wait."""
    labels = node["metadata"].get("labels", {})
    selection = json.dumps(spec.get("affinity", {})) + json.dumps(spec.get("nodeSelector", {}))
    if MIG_STATE not in selection or MIG_CONFIG not in labels or labels.get(MIG_STATE) == MIG_READY:
        return None
    return (
        f"the driver waits until the GPUs of node {node['metadata']['name']} are partitioned: "
        + _progress(labels)
    )


def undivided(asks: Asked, device: Object, node: Object) -> str:
    """Return why a node shows whole GPUs when partitions are requested, and the fix; empty otherwise."""
    wants_partition = "mig" in asks.texts("type") or asks.reads("profile")
    if not wants_partition or device.get("attributes", {}).get("type", {}).get("string") != "gpu":
        return ""
    labels = node["metadata"].get("labels", {})
    reported = f"the GPUs of node {node['metadata']['name']} are whole"
    config = labels.get(MIG_CONFIG)
    if config is None:
        return f"{reported}: label its pool {MIG_CONFIG}=all-1g.10gb, or another layout, for the GPU Operator"
    if config == MIG_NONE:
        return (
            f"{reported}: {MIG_CONFIG} is {MIG_NONE}, which makes no partitions; "
            "name a layout such as all-1g.10gb"
        )
    if labels.get(MIG_STATE) == MIG_READY:
        return (
            f"{reported}, though {MIG_STATE} is {MIG_READY}: the driver started before the partitions; "
            "restart its pod"
        )
    return f"{reported}: {_progress(labels)}"


class _Gpus(Fact):
    """The `nvidia` part of a machine's row.

    `mig`: False if MIG cannot be used although the GPUs have it. `managed_mig`: whether the cloud makes
    partitions itself. `min_driver`: the oldest branch of the driver that supports the GPUs.
    """

    mig: bool | None = None
    managed_mig: bool | None = None
    min_driver: int | None = None


class Nvidia(Driver):
    """NVIDIA's driver."""

    name = "nvidia"
    sharing_value = "consumableShares"
    publishers = {
        "gpu.nvidia.com": "gpu-kubelet-plugin",
        "compute-domain.nvidia.com": "compute-domain-kubelet-plugin",
    }
    intents = {
        "product": "productName",
        "architecture": "architecture",
        "profile": "profile",
        "computeCapability": "cudaComputeCapability",
        "memory": "memory",
        "multiprocessors": "multiprocessors",
    }
    plugin_section = "kubeletPlugin"
    resources = RESOURCES
    controller_switch = "resources.computeDomains.enabled"
    operator = "gpuOperator"
    extended_resource = "nvidia.com/gpu"
    api_group = "resource.nvidia.com"
    unisolated = UNISOLATED
    settles = frozenset({KEY})
    is_usual = True
    # Ranges over Go maps, in all versions from 25.3.2 on, but sorts what DynamicMIG may make:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/v0.5.0/cmd/gpu-kubelet-plugin, `driver.go`
    # (2026-11-22; five starts of one node gave five orders).
    order = "random"
    order_with_counters = "sorted"

    @override
    def transitions(self) -> tuple[Transition, ...]:
        from dra_fleet.core.transitions import read_transitions  # noqa: PLC0415 - only upgrades read them

        return read_transitions(self.package)

    @override
    def values(self, release: Release) -> ChartValues:
        return values.values(release)

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        return values.guards(release, final)

    @override
    def conflicts(self, release: Release) -> Sequence[Refusal]:
        return values.conflicts(release)

    @override
    def priority_class_keys(self, values: ChartValues) -> Sequence[str]:
        return priority_keys(values)

    @override
    def serves(self, machine: Machine) -> bool:
        return machine.gpu in nvidia_facts.gpus()

    @override
    def accelerators_of(self, machine: Machine) -> Accelerators | None:
        if machine.gpu is None or not self.serves(machine):
            return None
        return Accelerators(model=machine.gpu, count=machine.gpus)

    @override
    def accelerators(self) -> Mapping[str, int | None]:
        return {
            name: min(model.memory_range) if model.memory_mib is None else model.memory_mib
            for name, model in nvidia_facts.gpus().items()
        }

    @override
    def traits(self, machine: Machine) -> MachineTraits:
        gpus = machine.of_vendor(self.name, _Gpus) or _Gpus()
        return MachineTraits(
            divisible=gpus.mig, divided_by_cloud=gpus.managed_mig, least_host_driver=gpus.min_driver
        )

    @override
    def predict(self, pool: PoolPlan, installed: Installed, minor: str) -> Published:
        return slices.predict(pool, installed, minor)

    @override
    def strategies(self) -> tuple[type[SettingsModel], ...]:
        return (MigSharing, TimeSlicing, Mps)

    @override
    def sections(self) -> Mapping[str, type[SettingsModel]]:
        return {"computeDomains": ComputeDomainSettings}

    @override
    def check_sharing(self, machine: Machine, requested: Sharing, path: str) -> list[SettingsError]:
        return sharing.check_sharing(machine, requested, path)

    @override
    def isolation(self, machine: Machine, requested: Sharing) -> str:
        return isolation(machine, requested)

    @override
    def is_divided(self, machine: Machine, requested: Sharing) -> bool:
        return sharing.is_divided(machine, requested)

    @override
    def check_fleet(self, settings: FleetSettings, findings: Findings) -> None:
        compute_domains.check_compute_domains(settings, findings)

    @override
    def check_cluster(
        self, cluster: str, settings: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
    ) -> None:
        check_isolation(cluster, settings, findings)
        check_replicas(cluster, settings, pools, findings)

    @override
    def replicas(self, sharing: Sharing) -> int:
        return replicas(sharing)

    @override
    def plugin_resources(self, pool: PoolPlan, operator: ChartValues) -> Mapping[str, int]:
        """With partitions, the plugin advertises them as whole GPUs, or by profile with strategy mixed.

        https://github.com/NVIDIA/k8s-device-plugin/blob/v0.18.0/README.md
        """
        whole = super().plugin_resources(pool, operator)
        if not pool.partitions:
            return whole
        parts = {name: pool.machine.gpus * count for name, count in pool.partitions.items()}
        if value_at(operator, "mig.strategy", default="single") == "mixed":
            return {f"nvidia.com/mig-{name}": count for name, count in parts.items()}
        return {self.extended_resource: sum(parts.values())}

    @override
    def plugin_labels(self, sharing: Sharing) -> Mapping[str, str]:
        return plugin_labels(sharing)

    @override
    def plan_domains(
        self,
        cluster: str,
        settings: FleetSettings,
        pools: Sequence[PoolPlan],
        releases: Sequence[ReleasePlan],
        findings: Findings,
    ) -> tuple[ComputeDomainPlan, ...]:
        return compute_domains.plan_compute_domains(cluster, settings, pools, releases, findings)

    @override
    def node_labels(self, workload: DemandSettings, pools: Sequence[PoolPlan]) -> Mapping[str, str]:
        return compute_domains.domain_labels(workload, pools)

    @override
    def shared_by(self, workload: DemandSettings, settings: FleetSettings) -> str:
        return shared_by(workload, settings)

    @override
    def object_refusals(self, spec: Object, installed: Sequence[Installed]) -> Sequence[Refusal]:
        return checked_domain(spec, installed)

    @override
    def plan_operator(
        self,
        at: tuple[str, ...],
        settings: GpuOperatorSettings,
        pools: Sequence[PoolPlan],
        host: HostDriver,
        findings: Findings,
    ) -> ReleasePlan | None:
        return plan_gpu_operator(at, settings, pools, host, findings)

    @override
    def pool_labels(self, machine: Machine, requested: Sharing, *, by_operator: bool) -> Mapping[str, str]:
        return pool_labels(machine, requested, by_operator=by_operator)

    @override
    def placement_values(self, release: Release) -> ChartValues:
        return placement_values(release)

    @override
    def fabric_values(self, release: Release, fabric: str, *, is_labelled: bool) -> ChartValues:
        return fabric_values(release, fabric, is_labelled=is_labelled)

    @override
    def awaits(self, spec: Object, node: Object) -> str | None:
        return awaits(spec, node)

    @override
    def undivided(self, asks: Asked, device: Object, node: Object) -> str:
        return undivided(asks, device, node)

    @override
    def unusable(self) -> str:
        return "no GPU or driver, or MIG mode on without partitions"


DRIVER: Final = Nvidia()


def _holds_parts(workload: DemandSettings, settings: FleetSettings) -> bool:
    """Return True if the cluster's NVIDIA driver lets other claims share this workload's GPUs."""
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
    # Where memory is what is shared, a claim that requests none of it gets all.
    return option not in NO_SHARES and (asked or option != "memory")


def _configs(workload: DemandSettings, settings: FleetSettings) -> Iterator[OpaqueSettings]:
    claim = settings.claims[workload.claim]
    for item in claim.config:
        yield item.opaque
    for _, name in claim.classes():
        if name in settings.classes:
            yield from settings.classes[name].config


def after_partitioning(pools: Sequence[str]) -> dict[str, Any]:
    """Return the affinity for partitioned nodes: a plugin that starts too early publishes whole GPUs."""
    present = node_label(GPU_PRESENT, "true")
    return node_affinity(
        [
            [present, {"key": POOL, "operator": "NotIn", "values": list(pools)}],
            [present, node_label(POOL, *pools), node_label(MIG_STATE, MIG_READY)],
        ]
    )


def _progress(labels: Object) -> str:
    state = labels.get(MIG_STATE)
    if state is None:
        return (
            f"{MIG_CONFIG} is {labels[MIG_CONFIG]} and no one has begun ({MIG_STATE} is not set); "
            "see whether the GPU Operator's MIG manager runs there"
        )
    if state == "failed":
        return (
            f"{MIG_STATE} is failed for {MIG_CONFIG}={labels[MIG_CONFIG]}; "
            "see the log of the MIG manager's pod there"
        )
    return f"{MIG_STATE} is {state} for {MIG_CONFIG}={labels[MIG_CONFIG]}"
