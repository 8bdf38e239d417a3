"""Alibaba Cloud's Container Service for Kubernetes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.clouds.base import Cloud, TagRule, read_machines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.account import CloudQuestion, Exposed, Lookup
    from dra_fleet.clouds.ack.settings import AckClusterSettings
    from dra_fleet.clouds.base import Place
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.model.fleet import ClusterSettings, FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues, ClusterPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.settings import TextOrOutput


class Ack(Cloud["AckClusterSettings"]):
    """Alibaba Cloud's Container Service for Kubernetes."""

    name = "ack"
    title = "ACK"
    vendors = ("alibaba", "aliyun")
    credential_helper = "ack-ram-tool"
    command_line = "aliyun"
    # Its provider has no template of the slices of an empty pool:
    # https://github.com/kubernetes/autoscaler/tree/master/cluster-autoscaler/cloudprovider/alicloud
    autoscaler = "the autoscaler of ACK"

    tag_rule = TagRule(
        key=re.compile(r"(?!aliyun|acs:)(?!.*https?://).{1,64}"),
        value=re.compile(r"(?!.*https?://).{0,128}"),
        most=20,
        allowed="a key of at most 64 characters that does not begin with aliyun or acs:, a value of at most "
        "128, both without http:// and https://",
        source="https://www.alibabacloud.com/help/en/ecs/user-guide/tag-overview (2026-11-25)",
    )

    @property
    @override
    def settings(self) -> type[AckClusterSettings]:
        from dra_fleet.clouds.ack.settings import AckClusterSettings

        return AckClusterSettings

    @property
    @override
    def machines(self) -> Mapping[str, Machine]:
        return read_machines(__name__)

    @property
    @override
    def resources(self) -> CloudResources:
        from dra_fleet.clouds.ack.resources import RESOURCES

        return RESOURCES

    @override
    def exposure(self, settings: ClusterSettings) -> Sequence[Exposed]:
        from dra_fleet.clouds.ack.account import exposure

        return exposure(self.own(settings))

    @override
    def questions(self, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
        from dra_fleet.clouds.ack.account import questions

        return questions(self.own(cluster.settings), cluster)

    @override
    def lookup(
        self, kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]
    ) -> Lookup | None:
        from dra_fleet.clouds.ack.account import lookup

        return lookup(kind, inputs, provider)

    @override
    def plan_pool(
        self, at: Place, name: str, settings: ClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        from dra_fleet.clouds.ack.plan import plan_ack_pool

        return plan_ack_pool(at, name, self.own(settings), findings)

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
        from dra_fleet.clouds.ack.checks import check_ack

        check_ack(name, fleet, self.own(settings), minor, pools, findings=findings)

    @override
    def driver_values(
        self, driver: Driver, release: Release, settings: ClusterSettings, theirs: ChartValues
    ) -> ChartValues:
        from dra_fleet.clouds.ack.plan import ack_driver_values

        return ack_driver_values(driver, release, self.own(settings), theirs)

    @override
    def check_values(
        self, at: Place, driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
    ) -> None:
        from dra_fleet.clouds.ack.checks import check_ack_values

        check_ack_values(at, driver, pools, release, findings)

    @override
    def adopts(self, settings: ClusterSettings) -> TextOrOutput | None:
        adopt = self.own(settings).adopt
        return None if adopt is None else adopt.id

    @override
    def account(self, settings: ClusterSettings) -> tuple[str, str | None]:
        return "account", self.own(settings).account

    @override
    def arguments(self, settings: ClusterSettings) -> Mapping[str, ChartValues]:
        from dra_fleet.clouds.ack.plan import ack_arguments

        return ack_arguments(self.own(settings))


CLOUD = Ack()
