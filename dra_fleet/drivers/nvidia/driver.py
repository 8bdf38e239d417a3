"""NVIDIA's DRA driver: the class that answers for the modules of this folder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.core.facts.entry import Fact
from dra_fleet.drivers.base import Accelerators, Driver, MachineTraits
from dra_fleet.drivers.nvidia import compute_domains, isolation, nodes, sharing, slices, values
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.compute_domain_checks import judged_domain
from dra_fleet.drivers.nvidia.labels import KEY
from dra_fleet.drivers.nvidia.operator import plan_gpu_operator
from dra_fleet.drivers.nvidia.resources import RESOURCES
from dra_fleet.drivers.nvidia.settings import ComputeDomainSettings, MigSharing
from dra_fleet.drivers.nvidia.values import priority_keys

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.core.findings.errors import SettingsError
    from dra_fleet.core.findings.refusal import Refusal
    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.drivers.base import Release
    from dra_fleet.drivers.installed import Installed
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.kubernetes.cel.intent import Asked
    from dra_fleet.model.base import SettingsModel
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import Object, Published
    from dra_fleet.model.operators import GpuOperatorSettings
    from dra_fleet.model.plan import ChartValues, ComputeDomainPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.sharing import Sharing
    from dra_fleet.model.workloads import WorkloadSettings


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
    unisolated = isolation.UNISOLATED
    settles = frozenset({KEY})
    is_usual = True
    # Ranges over Go maps, in all versions from 25.3.2 on, but sorts what DynamicMIG may make:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/tree/v0.5.0/cmd/gpu-kubelet-plugin, `driver.go`
    # (2026-11-22; five starts of one node gave five orders).
    order = "random"
    order_with_counters = "sorted"

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
        return {name: model.memory_mib for name, model in nvidia_facts.gpus().items()}

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
        return (MigSharing,)

    @override
    def sections(self) -> Mapping[str, type[SettingsModel]]:
        return {"computeDomains": ComputeDomainSettings}

    @override
    def check_sharing(self, machine: Machine, wanted: Sharing, path: str) -> list[SettingsError]:
        return sharing.check_sharing(machine, wanted, path)

    @override
    def isolation(self, machine: Machine, wanted: Sharing) -> str:
        return isolation.isolation(machine, wanted)

    @override
    def is_divided(self, machine: Machine, wanted: Sharing) -> bool:
        return sharing.is_divided(machine, wanted)

    @override
    def check_fleet(self, settings: FleetSettings, findings: Findings) -> None:
        compute_domains.check_compute_domains(settings, findings)

    @override
    def check_cluster(
        self, cluster: str, settings: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
    ) -> None:
        isolation.check_isolation(cluster, settings, findings)

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
    def node_labels(self, workload: WorkloadSettings, pools: Sequence[PoolPlan]) -> Mapping[str, str]:
        return compute_domains.domain_labels(workload, pools)

    @override
    def shared_by(self, workload: WorkloadSettings, settings: FleetSettings) -> str:
        return isolation.shared_by(workload, settings)

    @override
    def object_refusals(self, spec: Object, installed: Sequence[Installed]) -> Sequence[Refusal]:
        return judged_domain(spec, installed)

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
    def pool_labels(self, machine: Machine, wanted: Sharing, *, by_operator: bool) -> Mapping[str, str]:
        return nodes.pool_labels(machine, wanted, by_operator=by_operator)

    @override
    def placement_values(self, release: Release) -> ChartValues:
        return nodes.placement_values(release)

    @override
    def fabric_values(self, release: Release, fabric: str, *, is_labelled: bool) -> ChartValues:
        return nodes.fabric_values(release, fabric, is_labelled=is_labelled)

    @override
    def awaits(self, spec: Object, node: Object) -> str | None:
        return nodes.awaits(spec, node)

    @override
    def undivided(self, asks: Asked, device: Object, node: Object) -> str:
        return nodes.undivided(asks, device, node)

    @override
    def unusable(self) -> str:
        return "no GPU or driver, or MIG mode on without partitions"


DRIVER: Final = Nvidia()
