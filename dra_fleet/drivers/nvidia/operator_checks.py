"""What a stack's own values of the GPU Operator must not undo: its pods' places, the driver, the partitions.

Source: https://github.com/NVIDIA/aicr (the two ways of owning the driver on AKS) and
https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.findings.errors import shown
from dra_fleet.drivers.common.host_root import install_dir_refusals
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia.labels import DEPLOY, OPERANDS
from dra_fleet.drivers.nvidia.resources import RESOURCES
from dra_fleet.drivers.nvidia.sharing import is_divided
from dra_fleet.kubernetes.scheduling.taints import toleration_text, tolerations, untolerated_taints

if TYPE_CHECKING:
    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.drivers.nvidia.facts import GpuModel
    from dra_fleet.model.plan import ChartValues, PoolPlan

_OWNERSHIP = ("toolkit.enabled", "operator.runtimeClass")
"""What follows from who installs the GPU driver; mixed, pods find no runtime or no driver."""
_MAKERS = {
    "migManager.enabled": "turns off who makes the MIG partitions of",
    "gfd.enabled": "turns off who finds that GPUs can have MIG partitions, so that none are made of",
}


def check_operator_values(
    at: tuple[str, ...], ours: ChartValues, final: ChartValues, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Refuse values that contradict the pools' owner of the driver, or keep the operator off a pool.

    Args:
        at: where the operator stands in the stack file.
        ours: the values that follow from the pools.
        final: those with the stack's own laid over them.
        pools: the pools of the cluster.
        findings: collects the problems.
    """
    for key in _OWNERSHIP:
        wanted, told = value_at(ours, key), value_at(final, key)
        if wanted is not None and told != wanted:
            findings.error(
                *at,
                "values",
                key,
                what="does not go with who installs the GPU driver",
                got=shown(told),
                allowed=shown(wanted),
                fix="remove it from values; it follows from the pools' gpuDriver",
            )
    installs = bool(value_at(ours, "driver.enabled"))
    operator = RESOURCES.operator
    for refusal in install_dir_refusals(operator, final, installs=installs) if operator is not None else ():
        findings.refuse(refusal, *at, "values")
    _check_labels(at, pools, findings)
    given = value_at(final, "daemonsets.tolerations")
    for pool in pools:
        for taint in untolerated_taints(pool.taints, tolerations(given)) if pool.machine.gpus else ():
            findings.error(
                *at,
                "values",
                "daemonsets.tolerations",
                what=f"does not tolerate {taint} of pool {pool.name}, so that none of the "
                "operator's pods runs there",
                got=shown(given),
                fix="remove it from values, for the plan tolerates the pools' taints; or add "
                f"{toleration_text(taint)}",
            )


def _check_labels(at: tuple[str, ...], pools: Sequence[PoolPlan], findings: Findings) -> None:
    """Refuse labels of pools by which the operator's pods that these need are on none of their nodes."""
    for pool in pools:
        needed = _needed(pool)
        told = {f"{DEPLOY}{operand}": without for operand, without in needed.items()}
        if needed and pool.labels.get(OPERANDS) == "false":
            told = {OPERANDS: "; ".join(needed.values())}
        for key, without in told.items():
            if (value := pool.labels.get(key, "true")) != "true":
                findings.error(
                    *at,
                    what=f"is kept off pool {pool.name} by a label of its nodes: {without}",
                    got=f"{key}: {value}",
                    fix=f"remove {key} from the labels of pool {pool.name}",
                )


def _needed(pool: PoolPlan) -> dict[str, str]:
    """Of the operator's DaemonSets those that a pool needs, each with what is missing without it."""
    needed: dict[str, str] = {}
    if not pool.machine.gpus:
        return needed
    if pool.gpu_driver == "operator":
        needed["driver"] = "nobody installs their GPU driver, and no device is published"
    if is_divided(pool.machine, pool.sharing):
        needed["mig-manager"] = "nobody makes their MIG partitions"
    if pool.by_plugin:
        needed["device-plugin"] = "nobody gives their GPUs out"
    return needed


def check_partitioning(
    at: tuple[str, ...], final: ChartValues, cut: Sequence[tuple[PoolPlan, GpuModel]], findings: Findings
) -> None:
    """Refuse values by which the MIG partitions of pools are never made.

    Args:
        at: where the operator stands in the stack file.
        final: its final values.
        cut: the pools with partitions, and their GPUs.
        findings: collects the problems.
    """
    names = ", ".join(pool.name for pool, _ in cut)
    for key, what in _MAKERS.items():
        if cut and not value_at(final, key, default=True):
            findings.error(
                *at,
                "values",
                key,
                what=f"{what} {names}",
                got="false",
                allowed="true",
                fix="remove it from values",
            )
    resetting = ", ".join(pool.name for pool, gpu in cut if gpu.mig is not None and gpu.mig.needs_reset)
    environment = value_at(final, "migManager.env")
    if resetting and not _may_reboot(environment):
        findings.error(
            *at,
            "values",
            "migManager.env",
            what=f"does not let the MIG manager reboot nodes, without which the GPUs of {resetting} never "
            "change their MIG mode in a virtual machine",
            got=shown(environment),
            fix='add {name: WITH_REBOOT, value: "true"}',
        )


def _may_reboot(environment: object) -> bool:
    if not isinstance(environment, Sequence):
        return False
    items = cast("Sequence[object]", environment)
    pairs = [cast("Mapping[str, Any]", item) for item in items if isinstance(item, Mapping)]
    return any(
        pair.get("name") == "WITH_REBOOT" and str(pair.get("value")).lower() == "true" for pair in pairs
    )
