"""Amazon Elastic Kubernetes Service."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.clouds.base import Cloud, TagRule, read_machines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.account import CloudQuestion, Exposed, Lookup
    from dra_fleet.clouds.base import Place
    from dra_fleet.clouds.eks.settings import EksClusterSettings
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.model.fleet import ClusterSettings, FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.model.plan import ChartValues, ClusterPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.settings import GpuOperatorSettings, TextOrOutput


class Eks(Cloud["EksClusterSettings"]):
    """Amazon Elastic Kubernetes Service."""

    name = "eks"
    title = "EKS"
    vendors = ("aws", "amazon")
    credential_helper = "aws"
    command_line = "aws"
    # ExtendedResourceToleration: https://github.com/aws/containers-roadmap/issues/739
    tolerates_resources = True
    # It has no template of the slices of an empty pool: https://github.com/kubernetes/autoscaler/issues/7799;
    # of Karpenter: https://karpenter.sh/docs/reference/settings/.
    autoscaler = "the Cluster Autoscaler on EKS"
    first_node = ", or set karpenter: true of the pool"

    tag_rule = TagRule(
        key=re.compile(r"(?!(?i:aws):)[\w +\-=._:/@]{1,128}"),
        value=re.compile(r"[\w +\-=._:/@]{0,256}"),
        most=50,
        allowed="letters, digits, spaces and + - = . _ : / @, a key of at most 128 characters that does not "
        "begin with aws:, a value of at most 256",
        source="https://docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html (2026-11-25)",
    )

    @property
    @override
    def settings(self) -> type[EksClusterSettings]:
        from dra_fleet.clouds.eks.settings import EksClusterSettings

        return EksClusterSettings

    @property
    @override
    def machines(self) -> Mapping[str, Machine]:
        return read_machines(__name__)

    @property
    @override
    def resources(self) -> CloudResources:
        from dra_fleet.clouds.eks.resources import RESOURCES

        return RESOURCES

    @override
    def exposure(self, settings: ClusterSettings) -> Sequence[Exposed]:
        from dra_fleet.clouds.eks.account import exposure

        return exposure(self.own(settings))

    @override
    def questions(self, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
        from dra_fleet.clouds.eks.account import questions

        return questions(self.own(cluster.settings), cluster)

    @override
    def lookup(
        self, kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]
    ) -> Lookup | None:
        from dra_fleet.clouds.eks.account import lookup

        return lookup(kind, inputs, provider)

    @override
    def plan_pool(
        self, at: Place, name: str, settings: ClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        from dra_fleet.clouds.eks.plan import plan_eks_pool

        return plan_eks_pool(at, name, self.own(settings), findings)

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
        from dra_fleet.clouds.eks.checks import check_eks

        check_eks(name, fleet, self.own(settings), minor, pools, findings=findings)

    @override
    def operators(self, settings: ClusterSettings) -> Mapping[str, GpuOperatorSettings]:
        operator = self.own(settings).gpu_operator
        return {} if operator is None else {"gpuOperator": operator}

    @override
    def releases(self, name: str, settings: ClusterSettings) -> tuple[ReleasePlan, ...]:
        from dra_fleet.clouds.eks.karpenter import release

        return release(name, self.own(settings))

    @override
    def imagined_devices(
        self, pool: PoolPlan, published: Sequence[NodeDevice]
    ) -> tuple[tuple[NodeDevice, ...], str] | None:
        from dra_fleet.clouds.eks.karpenter import predicted_devices

        return predicted_devices(pool, published) if pool.autoscaler else None

    @property
    @override
    def host_driver(self) -> HostDriver:
        from dra_fleet.drivers.operators import HostDriver

        return HostDriver(runtime="nvidia")

    @override
    def driver_values(
        self, driver: Driver, release: Release, settings: ClusterSettings, theirs: ChartValues
    ) -> ChartValues:
        from dra_fleet.clouds.eks.plan import eks_driver_values

        return eks_driver_values(
            driver, release, theirs, discovers_features=self.own(settings).gpu_operator is not None
        )

    @override
    def check_values(
        self, at: Place, driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
    ) -> None:
        from dra_fleet.clouds.eks.checks import check_eks_values

        check_eks_values(at, driver, pools, release, findings)

    @override
    def adopts(self, settings: ClusterSettings) -> TextOrOutput | None:
        adopt = self.own(settings).adopt
        return None if adopt is None else adopt.name

    @override
    def account(self, settings: ClusterSettings) -> tuple[str, str | None]:
        return "account", self.own(settings).account

    @override
    def arguments(self, settings: ClusterSettings) -> Mapping[str, ChartValues]:
        from dra_fleet.clouds.eks.plan import eks_arguments

        return eks_arguments(self.own(settings))


CLOUD = Eks()
