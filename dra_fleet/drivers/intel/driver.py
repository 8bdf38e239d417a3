"""Intel's driver for GPUs (Data Center GPU Max and Flex, Arc): chart values.

Source: https://github.com/intel/intel-resource-drivers-for-kubernetes, `charts/intel-gpu-resource-driver`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from typing_extensions import override

from dra_fleet.core.findings.errors import Refusal
from dra_fleet.drivers.base import Driver
from dra_fleet.drivers.common.placement import nothing_served
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.resources import DriverResources, OtherPlugin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.base import Release
    from dra_fleet.model.hardware import Machine
    from dra_fleet.model.plan import ChartValues


class Intel(Driver):
    """Intel's driver."""

    name = "intel"
    publishers = {"gpu.intel.com": "kubelet-gpu-plugin"}
    intents = {"product": "model", "architecture": "family", "memory": "memory"}
    plugin_section = "kubeletPlugin"
    resources = DriverResources(
        known_by="machines",
        program=re.compile(r"(?<![\w-])kubelet-gpu-plugin(?![\w-])"),
        other_plugins=(
            OtherPlugin(
                title="Intel",
                charts=frozenset({"intel-device-plugins-gpu"}),
                programs=re.compile(r"(^|[\s/])(intel-gpu-plugin|gpu_device_plugin)(?![\w-])"),
                source="https://github.com/intel/helm-charts/tree/main/charts/gpu-device-plugin",
                date="2026-11-25",
                # https://github.com/intel/intel-device-plugins-for-kubernetes/blob/main/cmd/gpu_plugin/README.md
                limits=re.compile(r"gpu\.intel\.com/.+"),
            ),
        ),
    )
    extended_resource = "intel.com/gpu"
    takes_descriptions = True

    @override
    def guards(self, release: Release, final: ChartValues) -> Sequence[Refusal]:
        """Reject a selector that the chart ignores when rules of node features choose the nodes."""
        if not value_at(final, "kubeletPlugin.nodeSelector"):
            return ()
        return [
            Refusal(
                path="kubeletPlugin.nodeSelector",
                what=f"is omitted by the chart where {demand.key} is true",
                fix="remove one of them",
            )
            for demand in release.version.plugin_demands
            if value_at(final, demand.key, default=False)
        ]

    @override
    def conflicts(self, release: Release) -> Sequence[Refusal]:
        return nothing_served(self, release, "Intel GPUs")

    @override
    def serves(self, machine: Machine) -> bool:
        return False


DRIVER: Final = Intel()
