"""A stack's own values must not keep a DRA driver's plugin from its pools, nor start it too early.

Helm replaces lists and null removes, so that one value can undo what the plan wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.core.findings.errors import shown
from dra_fleet.drivers.common.plugin_pods import PluginPods
from dra_fleet.drivers.common.values import value_at
from dra_fleet.kubernetes.scheduling.node_affinity import some_labels
from dra_fleet.kubernetes.scheduling.taints import toleration_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver
    from dra_fleet.model.plan import PoolPlan, ReleasePlan


def check_plugin_placement(
    at: tuple[str, ...], driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
) -> None:
    """Refuse final values by which the plugin publishes whole GPUs of a cut pool, or nothing of a pool.

    Args:
        at: where the driver stands in the stack file.
        driver: the driver.
        pools: the pools of the cluster.
        release: the driver's release.
        findings: collects the problems.
    """
    version = driver.facts.judged_version(release.version)
    pods = PluginPods.of(driver, version, release.values)
    served = [pool for pool in pools if pool.machine.gpus and driver.serves(pool.machine)]
    _check_start(at, driver, served, release, findings)
    key = driver.plugin_key("tolerations")
    given = value_at(release.values, key, default=list(version.plugin_tolerations) if version else [])
    for pool in served:
        for taint in pods.kept_off_by(pool):
            findings.error(
                *at,
                "values",
                key,
                what=f"does not tolerate {taint} of pool {pool.name}, so that the plugin never "
                "runs there and no device is published",
                got=shown(given),
                fix=f"remove it from values, for the plan tolerates the pools' taints; or add "
                f"{toleration_text(taint)}",
            )


def _check_start(
    at: tuple[str, ...],
    driver: Driver,
    pools: Sequence[PoolPlan],
    release: ReleasePlan,
    findings: Findings,
) -> None:
    pods = PluginPods.of(driver, driver.facts.judged_version(release.version), release.values)
    dividable = driver.resources.dividable
    if dividable is None:
        return
    key, progress = driver.plugin_key("affinity"), dividable.progress
    for pool in pools:
        divided = driver.is_divided(pool.machine, pool.sharing)
        if divided and pods.may_start_early(some_labels(pool.labels), progress):
            findings.error(
                *at,
                "values",
                key,
                what=f"lets the plugin start on pool {pool.name} before its MIG partitions exist, and "
                "publish whole GPUs",
                got=shown(value_at(release.values, key)),
                allowed=f"{progress.key} In [{progress.ready}] on the pool's nodes",
                fix="remove it from values; the plan writes it",
            )
