"""Values for the chart of AMD's driver, and what it refuses.

Source: https://github.com/ROCm/k8s-gpu-dra-driver, `helm-charts-k8s`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.amd import DRIVER
from dra_fleet.drivers.common.placement import nothing_served, placed
from dra_fleet.drivers.common.value_checks import default_namespace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.findings.refusal import Refusal
    from dra_fleet.model.plan import ChartValues


def values(release: Release) -> ChartValues:
    """The plugin on the pools with AMD GPUs alone: elsewhere its pods wait for a kernel module for ever."""
    return placed(DRIVER, release)


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """What the chart refuses."""
    return default_namespace(release, final)


def conflicts(release: Release) -> Sequence[Refusal]:
    """A cluster without AMD GPUs."""
    return nothing_served(DRIVER, release, "AMD GPUs")


def priority_keys(values: ChartValues) -> Sequence[str]:
    """The plugin's."""
    del values
    return ("kubeletPlugin.priorityClassName",)
