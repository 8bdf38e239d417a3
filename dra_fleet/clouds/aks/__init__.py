"""Azure Kubernetes Service."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.clouds.base import Cloud, TagRule, read_machines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.account import CloudQuestion, Exposed, Lookup
    from dra_fleet.clouds.aks.settings import AksClusterSettings
    from dra_fleet.clouds.base import Place
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.model.fleet import ClusterSettings, FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.plan import ChartValues, ClusterPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.settings import GpuOperatorSettings, TextOrOutput


class Aks(Cloud["AksClusterSettings"]):
    """Azure Kubernetes Service."""

    name = "aks"
    title = "AKS"
    vendors = ("azure", "microsoft")
    credential_helper = "kubelogin"
    command_line = "az"
    # ExtendedResourceToleration: https://learn.microsoft.com/azure/aks/faq
    tolerates_resources = True
    # It has no template of the slices of an empty pool: https://github.com/kubernetes/autoscaler/issues/7799.
    autoscaler = "the cluster autoscaler of AKS"

    tag_rule = TagRule(
        key=re.compile(r"[^<>%&\\?/]{1,512}"),
        value=re.compile(r".{0,256}"),
        most=50,
        allowed="a key of at most 512 characters without < > % & \\ ? /, a value of at most 256",
        source="https://learn.microsoft.com/azure/azure-resource-manager/management/tag-resources "
        "(2026-11-25)",
    )

    @property
    @override
    def settings(self) -> type[AksClusterSettings]:
        from dra_fleet.clouds.aks.settings import AksClusterSettings

        return AksClusterSettings

    @property
    @override
    def machines(self) -> Mapping[str, Machine]:
        return read_machines(__name__)

    @property
    @override
    def resources(self) -> CloudResources:
        from dra_fleet.clouds.aks.resources import RESOURCES

        return RESOURCES

    @override
    def exposure(self, settings: ClusterSettings) -> Sequence[Exposed]:
        from dra_fleet.clouds.aks.account import exposure

        return exposure(self.own(settings))

    @override
    def questions(self, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
        from dra_fleet.clouds.aks.account import questions

        return questions(self.own(cluster.settings), cluster)

    @override
    def lookup(
        self, kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]
    ) -> Lookup | None:
        from dra_fleet.clouds.aks.account import lookup

        return lookup(kind, inputs, provider)

    @override
    def plan_pool(
        self, at: Place, name: str, settings: ClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        from dra_fleet.clouds.aks.plan import plan_aks_pool

        return plan_aks_pool(at, name, self.own(settings), findings)

    @override
    def check(
        self,
        name: str,
        fleet: FleetSettings,
        settings: ClusterSettings,
        minor: str,
        pools: Sequence[PoolPlan],
        *,
        findings: Findings,
    ) -> None:
        from dra_fleet.clouds.aks.checks import check_aks

        check_aks(name, fleet, self.own(settings), minor, pools, findings=findings)

    @override
    def operators(self, settings: ClusterSettings) -> Mapping[str, GpuOperatorSettings]:
        operator = self.own(settings).gpu_operator
        return {} if operator is None else {"gpuOperator": operator}

    @property
    @override
    def host_driver(self) -> HostDriver:
        from dra_fleet.drivers.operators import HostDriver

        return HostDriver(runtime="nvidia-container-runtime", setting="aks")

    @override
    def driver_values(
        self, driver: Driver, release: Release, settings: ClusterSettings, theirs: ChartValues
    ) -> ChartValues:
        from dra_fleet.clouds.aks.plan import aks_driver_values

        return aks_driver_values(driver, release, theirs)

    @override
    def check_values(
        self, at: Place, driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
    ) -> None:
        from dra_fleet.clouds.aks.checks import check_aks_values

        check_aks_values(at, driver, pools, release, findings)

    @override
    def managed_drivers(self, settings: ClusterSettings) -> Sequence[ManagedDriver]:
        from dra_fleet.clouds.aks.facts import aks_facts

        return aks_facts().managed

    @override
    def adopts(self, settings: ClusterSettings) -> TextOrOutput | None:
        adopt = self.own(settings).adopt
        return None if adopt is None else adopt.name

    @override
    def account(self, settings: ClusterSettings) -> tuple[str, str | None]:
        return "subscription", self.own(settings).subscription

    @override
    def arguments(self, settings: ClusterSettings) -> Mapping[str, ChartValues]:
        from dra_fleet.clouds.aks.plan import aks_arguments

        return aks_arguments(self.own(settings))


CLOUD = Aks()
