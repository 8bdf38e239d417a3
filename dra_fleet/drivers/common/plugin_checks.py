"""A stack's own values must not keep the NVIDIA DRA driver's plugin from its pools, nor start it too early.

Helm replaces lists and null removes, so that one value can undo what the plan wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.drivers.common.plugin_pods import PluginPods
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import DRIVER
from dra_fleet.drivers.nvidia.mig_labels import READY, STATE, may_start_early
from dra_fleet.drivers.nvidia.operator import partitioned
from dra_fleet.kubernetes.scheduling.node_affinity import some_labels
from dra_fleet.kubernetes.scheduling.taints import toleration_text
from dra_fleet.settings.translate import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.findings.refusals import Findings
    from dra_fleet.model.plan import PoolPlan, ReleasePlan

_AFFINITY = "kubeletPlugin.affinity"
_TOLERATIONS = "kubeletPlugin.tolerations"


def check_plugin_placement(
    at: tuple[str, ...], pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
) -> None:
    """Refuse final values by which the plugin publishes whole GPUs of a cut pool, or nothing of a pool.

    Args:
        at: where the driver stands in the stack file.
        pools: the pools of the cluster.
        release: the driver's release.
        findings: collects the problems.
    """
    version = DRIVER.facts.version(release.version)
    pods = PluginPods.of(DRIVER, version, release.values)
    _check_start(at, pools, pods, shown(value_at(release.values, _AFFINITY)), findings)
    given = value_at(
        release.values, _TOLERATIONS, default=list(version.plugin_tolerations) if version else []
    )
    for pool in pools:
        for taint in pods.kept_off_by(pool) if pool.machine.gpus else ():
            findings.error(
                *at,
                "values",
                _TOLERATIONS,
                what=f"does not tolerate {taint} of pool {pool.name}, so that the plugin never "
                "runs there and no device is published",
                got=shown(given),
                fix=f"remove it from values, for the plan tolerates the pools' taints; or add "
                f"{toleration_text(taint)}",
            )


def _check_start(
    at: tuple[str, ...], pools: Sequence[PoolPlan], pods: PluginPods, given: str, findings: Findings
) -> None:
    for pool, _, _ in partitioned(pools):
        if may_start_early(some_labels(pool.labels), pods.affinity):
            findings.error(
                *at,
                "values",
                _AFFINITY,
                what=f"lets the plugin start on pool {pool.name} before its MIG partitions exist, and "
                "publish whole GPUs",
                got=given,
                allowed=f"{STATE} In [{READY}] on the pool's nodes",
                fix="remove it from values; the plan writes it",
            )
