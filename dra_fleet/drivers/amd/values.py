"""Values for the chart of AMD's driver, and what it refuses.

Source: https://github.com/ROCm/k8s-gpu-dra-driver, `helm-charts-k8s`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.amd.gpus import gpus_of
from dra_fleet.drivers.common.affinity import node_affinity, node_label
from dra_fleet.drivers.common.value_checks import default_namespace
from dra_fleet.findings.refusal import Refusal
from dra_fleet.kubernetes.scheduling.taints import toleration_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.driver import Release
    from dra_fleet.model.plan import ChartValues, PoolPlan


def values(release: Release) -> ChartValues:
    """The plugin on the pools with AMD GPUs alone: elsewhere its pods wait for a kernel module for ever."""
    served = _served(release)
    chosen: dict[str, Any] = {}
    if served and all(pool.labels for pool in served):
        terms = [[node_label(*label) for label in pool.labels.items()] for pool in served]
        chosen["affinity"] = node_affinity(terms)
    tolerations = toleration_list(taint for pool in served for taint in pool.taints)
    if tolerations:
        chosen["tolerations"] = tolerations
    return {"kubeletPlugin": chosen} if chosen else {}


def guards(release: Release, final: ChartValues) -> Sequence[Refusal]:
    """What the chart refuses."""
    return default_namespace(release, final)


def conflicts(release: Release) -> Sequence[Refusal]:
    """A cluster without AMD GPUs."""
    if not release.pools or _served(release):
        return ()
    return (Refusal(what="serves AMD GPUs, which no machine of this cluster has", fix="remove it"),)


def priority_keys(values: ChartValues) -> Sequence[str]:
    """The plugin's."""
    del values
    return ("kubeletPlugin.priorityClassName",)


def _served(release: Release) -> list[PoolPlan]:
    return [pool for pool in release.pools if gpus_of(pool.machine) is not None]
