"""Values for the chart of Intel's GPU driver, and what it refuses.

Source: https://github.com/intel/intel-resource-drivers-for-kubernetes, `charts/intel-gpu-resource-driver`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.placement import nothing_served, placed
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.intel import DRIVER
from dra_fleet.findings.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues


def values(release: Release) -> ChartValues:
    """The plugin on the pools with Intel GPUs, whose taints it tolerates beside those of the chart."""
    return placed(DRIVER, release)


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """A selector that the chart leaves out where rules of node features choose the nodes."""
    del release
    given = value_at(final, "kubeletPlugin.nodeSelector")
    if not given or not value_at(final, "nodeFeatureRules.enabled", default=False):
        return ()
    return (
        Refusal(
            path="kubeletPlugin.nodeSelector",
            what="is left out by the chart where nodeFeatureRules.enabled is true",
            fix="remove one of them",
        ),
    )


def conflicts(release: Release) -> Sequence[Refusal]:
    """A cluster without Intel GPUs."""
    return nothing_served(DRIVER, release, "Intel GPUs")


def priority_keys(values: ChartValues) -> Sequence[str]:
    """None: its pods are not critical."""
    del values
    return ()
