"""Clusters that already exist, wherever they run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.clouds.base import Cloud, read_machines

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dra_fleet.clouds.account import Exposed
    from dra_fleet.clouds.base import Place
    from dra_fleet.clouds.existing.settings import ExistingClusterSettings
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.model.fleet import ClusterSettings, FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.model.settings import KubeconfigSource


class Existing(Cloud["ExistingClusterSettings"]):
    """Clusters that already exist, wherever they run."""

    name = "existing"
    title = "existing"
    makes_nodes = False

    @property
    @override
    def settings(self) -> type[ExistingClusterSettings]:
        from dra_fleet.clouds.existing.settings import ExistingClusterSettings

        return ExistingClusterSettings

    @property
    @override
    def machines(self) -> Mapping[str, Machine]:
        return read_machines(__name__)

    @property
    @override
    def resources(self) -> CloudResources:
        from dra_fleet.clouds.existing.resources import RESOURCES

        return RESOURCES

    @override
    def exposure(self, settings: ClusterSettings) -> Sequence[Exposed]:
        from dra_fleet.clouds.existing.plan import exposure

        return exposure(self.own(settings))

    @override
    def plan_pool(
        self, at: Place, name: str, settings: ClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        from dra_fleet.clouds.existing.plan import plan_pool

        return plan_pool(at, name, self.own(settings), findings)

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
        from dra_fleet.clouds.existing.plan import check_selectors, check_source

        check_source(name, fleet, findings)
        check_selectors(name, self.own(settings), findings)

    @override
    def managed_drivers(self, settings: ClusterSettings) -> Sequence[ManagedDriver]:
        from dra_fleet.clouds.existing.facts import existing_facts

        provider = self.own(settings).provider
        return [item for item in existing_facts().managed if item.by == provider]

    @override
    def feature_gates(self, settings: ClusterSettings) -> Collection[str]:
        return self.own(settings).feature_gates

    @override
    def kubeconfig(self, settings: ClusterSettings) -> KubeconfigSource:
        return self.own(settings).kubeconfig


CLOUD = Existing()
