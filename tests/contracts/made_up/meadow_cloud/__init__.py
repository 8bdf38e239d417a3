"""Meadow, a cloud that does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.clouds.base import Cloud, read_machines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.account import Exposed
    from dra_fleet.clouds.base import Place
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.model.fleet import ClusterSettings, FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import PoolPlan
    from meadow_cloud.cluster import MeadowCluster
    from meadow_cloud.settings import MeadowClusterSettings
    from meadow_cloud.simulation import MeadowSimulation


class Meadow(Cloud["MeadowClusterSettings"]):
    """A cloud with one setting, `field`."""

    name = "meadow"
    title = "Meadow"
    credential_helper = "meadow-login"
    autoscaler = "Meadow's autoscaler"

    @property
    @override
    def settings(self) -> type[MeadowClusterSettings]:
        from meadow_cloud.settings import MeadowClusterSettings

        return MeadowClusterSettings

    @property
    @override
    def machines(self) -> Mapping[str, Machine]:
        return read_machines(__name__)

    @property
    @override
    def resources(self) -> CloudResources:
        from meadow_cloud.resources import RESOURCES

        return RESOURCES

    @override
    def exposure(self, settings: ClusterSettings) -> Sequence[Exposed]:
        from dra_fleet.clouds.account import Exposed, administrators

        return [
            Exposed(subject="API server", text=f"stands on field {self.own(settings).field}", level="note"),
            administrators([], "owns the field"),
        ]

    @override
    def plan_pool(
        self, at: Place, name: str, settings: ClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        from dra_fleet.clouds.common.machines import find_machine, planned
        from dra_fleet.model.specs import POOL

        pool = self.own(settings).pools[name]
        machine = find_machine(at, pool.machine, self.machines, "choose coop", findings=findings)
        return None if machine is None else planned(name, pool, machine, {POOL: name})

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
        field = self.own(settings).field
        if field == "fallow":
            findings.error("clusters", name, "field", what="bears nothing this year", got=field)

    @override
    def component(self) -> type[MeadowCluster]:
        from meadow_cloud.cluster import MeadowCluster

        return MeadowCluster

    @override
    def simulation(self) -> MeadowSimulation:
        from meadow_cloud.simulation import MeadowSimulation

        return MeadowSimulation()


CLOUD = Meadow()
