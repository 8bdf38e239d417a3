"""GPUs that the GPU Operator's device plugin advertises several times: time-slicing and MPS.

The plugin reads its configuration from a ConfigMap; a node label selects the entry. Source:
https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-sharing.html and
https://github.com/NVIDIA/k8s-device-plugin/blob/v0.18.0/README.md#shared-access-to-gpus (2026-11-27).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dra_fleet.drivers.nvidia.facts import PLUGIN_CONFIG
from dra_fleet.drivers.nvidia.settings import ReplicaSharing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.model.fleet import FleetSettings
    from dra_fleet.model.plan import PoolPlan
    from dra_fleet.model.settings import Sharing

_CONFIG_MAP: Final = "dra-fleet-device-plugin"
_KEYS: Final = {"time-slicing": "timeSlicing", "mps": "mps"}


def replicas(sharing: Sharing) -> int:
    """Return how often the device plugin advertises each GPU."""
    return sharing.replicas if isinstance(sharing, ReplicaSharing) else 1


def plugin_labels(sharing: Sharing) -> dict[str, str]:
    """Return the node label that selects a pool's entry of the ConfigMap."""
    return {PLUGIN_CONFIG: _entry(sharing)} if isinstance(sharing, ReplicaSharing) else {}


def plugin_values(pools: Iterable[PoolPlan]) -> dict[str, Any]:
    """Return the operator's chart values that make the ConfigMap; empty if no pool shares by replicas.

    A node without the label gets the plugin's defaults, so whole GPUs.
    """
    shared = {
        _entry(pool.sharing): _config(pool.sharing)
        for pool in pools
        if isinstance(pool.sharing, ReplicaSharing)
    }
    if not shared:
        return {}
    return {
        "config": {"create": True, "name": _CONFIG_MAP, "default": "", "data": dict(sorted(shared.items()))}
    }


def check_replicas(
    cluster: str, settings: FleetSettings, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Reject replicas without the operator's device plugin, and in production without a stated reason.

    Args:
        cluster: The cluster's name.
        settings: The fleet.
        pools: The cluster's pools.
        findings: Collects the problems.
    """
    # Only some clouds' clusters have the setting.
    operator: object = getattr(settings.clusters[cluster], "gpu_operator", None)
    can_install = hasattr(settings.clusters[cluster], "gpu_operator")
    for pool in pools:
        sharing = pool.sharing
        if not isinstance(sharing, ReplicaSharing):
            continue
        at = ("clusters", cluster, "pools", pool.name)
        if pool.advertise != "device-plugin":
            findings.error(
                *at,
                "sharing",
                what=f"{sharing.strategy} by replicas is done by the device plugin, not by the DRA driver",
                got=f"advertise: {pool.advertise}",
                allowed="advertise: device-plugin",
                fix="set advertise: device-plugin, or let claims share GPUs by their config",
            )
        elif operator is None:
            findings.error(
                *at,
                "sharing",
                what="requires the device plugin of the GPU Operator, which the cluster does not install",
                got=sharing.strategy,
                fix="add gpuOperator: {version: …} to the cluster" if can_install else "",
            )
        if "isolation" in sharing.accept:
            continue
        what = f"shares GPUs by {sharing.strategy}, which isolates neither memory nor faults"
        if settings.environment == "production":
            findings.error(
                *at,
                "sharing",
                what=f"{what}; production requires a reason for that",
                got=sharing.strategy,
                allowed="exclusive GPUs, MIG partitions, vGPUs",
                fix="use a MIG layout, or state the reason in accept: {isolation: the reason}",
            )
        else:
            findings.warnings.append(f"pool {pool.name} {what}")


def _entry(sharing: ReplicaSharing) -> str:
    return f"{sharing.strategy}-{sharing.replicas}"


def _config(sharing: ReplicaSharing) -> str:
    return (
        f"version: v1\nsharing:\n  {_KEYS[sharing.strategy]}:\n    resources:\n"
        f"      - {{name: nvidia.com/gpu, replicas: {sharing.replicas}}}\n"
    )
