"""Google Kubernetes Engine."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from typing_extensions import override

from dra_fleet.clouds.base import Cloud, TagRule, read_machines

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.clouds.account import CloudQuestion, Exposed, Lookup
    from dra_fleet.clouds.base import Place
    from dra_fleet.clouds.gke.settings import GkeClusterSettings
    from dra_fleet.clouds.resources import CloudResources
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.model.fleet import ClusterSettings, FleetSettings
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.managed import ManagedDriver
    from dra_fleet.model.nodes import NodeDevice
    from dra_fleet.model.plan import ChartValues, ClusterPlan, PoolPlan, ReleasePlan
    from dra_fleet.model.settings import TextOrOutput


NO_PLUGIN = "gke-no-default-nvidia-gpu-device-plugin"
GPU_PRESENT = "nvidia.com/gpu.present"
GPU_DRA = "cloud.google.com/gke-nvidia-gpu-dra-driver"
TRIPLE = (NO_PLUGIN, GPU_PRESENT, GPU_DRA)
"""DRA for GPUs requires all three: GKE's plugin off, the driver's on, the autoscaler informed."""
TPU_DRA = "cloud.google.com/gke-tpu-dra-driver"
"""Turns GKE's TPU device plugin off."""
DRIVER = "cloud.google.com/gke-gpu-driver-version"
"""Label of nodes whose GPU driver GKE installs; its DaemonSets avoid them.

https://github.com/GoogleCloudPlatform/container-engine-accelerators/tree/master/nvidia-driver-installer
"""
DRANET = "cloud.google.com/gke-networking-dra-driver"
QUEUED = "cloud.google.com/gke-queued"
COMPUTE_CLASS = "cloud.google.com/compute-class"


class Gke(Cloud["GkeClusterSettings"]):
    """Google Kubernetes Engine."""

    name = "gke"
    title = "GKE"
    vendors = ("gcp", "google")
    credential_helper = "gke-gcloud-auth-plugin"
    command_line = "gcloud"
    # https://cloud.google.com/kubernetes-engine/docs/how-to/set-up-dra
    guarded_priorities = ("system-node-critical", "system-cluster-critical")
    # https://cloud.google.com/kubernetes-engine/docs/how-to/gpus
    tolerates_resources = True
    # https://cloud.google.com/kubernetes-engine/docs/concepts/about-custom-compute-classes
    tolerated_selectors = (COMPUTE_CLASS,)
    # https://cloud.google.com/kubernetes-engine/docs/how-to/prepare-arm-workloads-for-deployment
    tolerated_values = ("kubernetes.io/arch",)
    autoscaler = "GKE's autoscaler"

    tag_rule = TagRule(
        key=re.compile(r"[a-z][a-z0-9_-]{0,62}"),
        value=re.compile(r"[a-z0-9_-]{0,63}"),
        most=64,
        allowed="lower-case letters, digits, _ and -, at most 63 characters, a key with a letter first",
        source="https://cloud.google.com/kubernetes-engine/docs/how-to/creating-managing-labels (2026-11-25)",
    )

    @property
    @override
    def settings(self) -> type[GkeClusterSettings]:
        from dra_fleet.clouds.gke.settings import GkeClusterSettings

        return GkeClusterSettings

    @property
    @override
    def machines(self) -> Mapping[str, Machine]:
        return read_machines(__name__)

    @property
    @override
    def resources(self) -> CloudResources:
        from dra_fleet.clouds.gke.resources import RESOURCES

        return RESOURCES

    @override
    def exposure(self, settings: ClusterSettings) -> Sequence[Exposed]:
        from dra_fleet.clouds.gke.account import exposure

        return exposure(self.own(settings))

    @override
    def questions(self, cluster: ClusterPlan) -> Sequence[CloudQuestion]:
        from dra_fleet.clouds.gke.account import questions

        return questions(self.own(cluster.settings), cluster)

    @override
    def lookup(
        self, kind: str, inputs: Mapping[str, object], provider: Mapping[str, object]
    ) -> Lookup | None:
        from dra_fleet.clouds.gke.account import lookup

        return lookup(kind, inputs, provider)

    @override
    def plan_pool(
        self, at: Place, name: str, settings: ClusterSettings, findings: Findings
    ) -> PoolPlan | None:
        from dra_fleet.clouds.gke.plan import plan_gke_pool

        return plan_gke_pool(at, name, self.own(settings), findings)

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
        from dra_fleet.clouds.gke.checks import check_gke

        check_gke(name, fleet, self.own(settings), minor, pools, findings=findings)

    @override
    def driver_values(
        self, driver: Driver, release: Release, settings: ClusterSettings, theirs: ChartValues
    ) -> ChartValues:
        from dra_fleet.clouds.gke.plan import gke_driver_values

        return gke_driver_values(driver, release, theirs)

    @override
    def check_values(
        self, at: Place, driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
    ) -> None:
        from dra_fleet.clouds.gke.checks import check_gke_values

        check_gke_values(at, driver, pools, release, findings)

    @override
    def own_classes(self, settings: ClusterSettings) -> Mapping[str, str]:
        from dra_fleet.clouds.gke.plan import dranet_classes_of

        return dranet_classes_of(self.own(settings))

    @override
    def offered_classes(self) -> Mapping[str, str]:
        from dra_fleet.clouds.gke.facts import gke_facts

        return {item.name: "dranet: true" for item in gke_facts().dranet_classes}

    @override
    def imagined_devices(
        self, pool: PoolPlan, published: Sequence[NodeDevice]
    ) -> tuple[tuple[NodeDevice, ...], str]:
        del published
        from dra_fleet.clouds.gke.plan import gke_devices

        return gke_devices(pool)

    @override
    def managed_drivers(self, settings: ClusterSettings) -> Sequence[ManagedDriver]:
        from dra_fleet.clouds.gke.facts import gke_facts

        return gke_facts().managed

    @override
    def adopts(self, settings: ClusterSettings) -> TextOrOutput | None:
        adopt = self.own(settings).adopt
        return None if adopt is None else adopt.name

    @override
    def account(self, settings: ClusterSettings) -> tuple[str, str | None]:
        return "project", self.own(settings).project

    @override
    def arguments(self, settings: ClusterSettings) -> Mapping[str, ChartValues]:
        from dra_fleet.clouds.gke.plan import gke_arguments

        return gke_arguments(self.own(settings))


CLOUD = Gke()
