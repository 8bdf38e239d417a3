"""The GPU Operator's release: who installs the GPU driver, makes MIG partitions and advertises GPUs.

Source: https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/deployments/gpu-operator/values.yaml and
https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/dra-intro-install.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from dra_fleet.core.findings.errors import shown
from dra_fleet.drivers.common.placement import install_dir_refusals
from dra_fleet.drivers.common.value_checks import check_values, refused_together
from dra_fleet.drivers.common.values import merged, value_at
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.facts import DEPLOY, EVICTION, OF_OPERATOR, OPERANDS
from dra_fleet.drivers.nvidia.mig_config import config_file, is_built_in
from dra_fleet.drivers.nvidia.resources import RESOURCES
from dra_fleet.drivers.nvidia.settings import MigSharing
from dra_fleet.drivers.nvidia.sharing import is_divided
from dra_fleet.drivers.nvidia.sharing.replicas import plugin_values
from dra_fleet.kubernetes.scheduling.taints import (
    toleration_list,
    toleration_text,
    tolerations,
    untolerated_taints,
)
from dra_fleet.model.plan import ReleasePlan

if TYPE_CHECKING:
    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.nvidia.facts import GpuModel, GpuOperatorVersion
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.model.plan import ChartValues, PoolPlan
    from dra_fleet.model.settings import GpuOperatorSettings


# Settings of the GPU Operator that a stack must not change: its pods' places, the driver, the partitions.
#
# Source: https://github.com/NVIDIA/aicr (the two ways of owning the driver on AKS) and
# https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html

_OWNERSHIP = ("toolkit.enabled", "operator.runtimeClass")
"""The effect of the GPU driver's owner; with mixed owners, pods find no runtime or no driver."""

_MAKERS = {
    "migManager.enabled": "turns off who makes the MIG partitions of",
    "gfd.enabled": "turns off who finds that GPUs can have MIG partitions, so that none are made of",
}

NAME = "gpu-operator"

_CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}

_GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}

_CONTROL_PLANE = {
    "key": "node-role.kubernetes.io/control-plane",
    "operator": "Exists",
    "effect": "NoSchedule",
}

_MIG_CONFIG_MAP = "dra-fleet-mig-config"
_DEFAULT_LAYOUT = "migManager.config.default"


def plan_gpu_operator(
    at: tuple[str, ...],
    settings: GpuOperatorSettings,
    pools: Sequence[PoolPlan],
    host: HostDriver,
    findings: Findings,
) -> ReleasePlan | None:
    """Return the operator's release, or None if its version was rejected.

    Args:
        at: the operator's path in the stack file.
        settings: its version and values.
        pools: the pools of the cluster.
        host: facts of nodes whose image includes the GPU driver.
        findings: collects the problems.
    """
    facts = nvidia_facts.gpu_operator()
    version = facts.checked_version(settings.version)
    if version is None:
        findings.unknown(
            *at,
            "version",
            what="is not a known version of the GPU Operator's chart",
            got=settings.version,
            known=[entry.version for entry in facts.versions],
        )
        return None
    if version.checked_by:
        findings.doubt(*at, "version", what=f"{version.version} {version.unjudged}")
    own = _values(version, pools, host.runtime)
    final = merged(own, settings.values)
    refusals = check_values(version, settings.values)
    # The operator's DRA driver is refused below, as a second one.
    conflicts = [item for item in refused_together(version, final) if not item.path.startswith("gpuCluster.")]
    for refusal in refusals + conflicts:
        if version.checked_by:
            findings.doubt(
                *at, "values", refusal.path, what=f"{version.checked_by} refuses it: {refusal.what}"
            )
        else:
            findings.refuse(refusal, *at, "values")
    if not refusals:
        _check(at, final, pools, host, findings)
        check_default_layout(at, settings.values, pools, findings)
        check_operator_values(at, own, final, pools, findings)
        check_partitioning(at, final, [(pool, gpu) for pool, gpu, _ in partitioned(pools)], findings)
    return ReleasePlan(
        name=NAME,
        driver=NAME,
        chart=version.chart,
        version=version.version,
        repository=version.repository,
        namespace=settings.namespace or facts.namespace,
        values=final,
    )


def partitioned(pools: Sequence[PoolPlan]) -> list[tuple[PoolPlan, GpuModel, MigSharing]]:
    """Return the pools with MIG partitions, with their GPUs."""
    gpus = nvidia_facts.gpus()
    return [
        (pool, gpus[pool.machine.gpu], pool.sharing)
        for pool in pools
        if isinstance(pool.sharing, MigSharing) and pool.machine.gpu is not None
    ]


def _installs_driver(pools: Sequence[PoolPlan]) -> bool:
    return any(pool.gpu_driver == "operator" for pool in pools if pool.machine.gpus)


def _has_plugin(pools: Sequence[PoolPlan]) -> bool:
    """Return True if the operator's device plugin runs; a label disables it on pools of other advertisers."""
    return any(pool.by_plugin for pool in pools if pool.machine.gpus)


def _values(version: GpuOperatorVersion, pools: Sequence[PoolPlan], host_runtime: str) -> dict[str, Any]:
    tolerations = toleration_list((taint for pool in pools for taint in pool.taints), [_GPU])
    chosen: dict[str, Any] = {
        **_driver_values(_installs_driver(pools), host_runtime),
        "hostPaths": {"driverInstallDir": OF_OPERATOR},
        "devicePlugin": {"enabled": _has_plugin(pools), **plugin_values(pools)},
        "gfd": {"enabled": True},
        "nfd": {"enabled": True},
        "cdi": {"enabled": True},
        "daemonsets": {"tolerations": tolerations},
        # The system pool, where these run, has the taint CriticalAddonsOnly. Helm replaces lists.
        "node-feature-discovery": {
            "worker": {"tolerations": [_CONTROL_PLANE, *tolerations]},
            "master": {"tolerations": [_CONTROL_PLANE, _CRITICAL]},
            "gc": {"tolerations": [_CRITICAL]},
        },
        **_mig_values(pools),
    }
    if "clusterPolicy.deployCR" in version.values:
        chosen["clusterPolicy"] = {"deployCR": True}
        chosen["gpuCluster"] = {"deployCR": False}
    return chosen


def _driver_values(installs: bool, host_runtime: str) -> dict[str, Any]:
    operator = {"tolerations": [_CONTROL_PLANE, _CRITICAL]}
    if not installs:
        return {
            "operator": {**operator, "runtimeClass": host_runtime},
            "driver": {"enabled": False},
            "toolkit": {"enabled": False},
        }
    manager = {
        "ENABLE_GPU_POD_EVICTION": "true",
        "ENABLE_AUTO_DRAIN": "false",
        "NODE_LABEL_FOR_GPU_POD_EVICTION": EVICTION,
    }
    accept = {"name": "ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED", "value": "false"}
    return {
        "operator": {**operator, "runtimeClass": "nvidia"},
        "driver": {
            "enabled": True,
            "manager": {"env": [{"name": name, "value": value} for name, value in manager.items()]},
        },
        # Without it a container could name any GPU in an environment variable, past its claim.
        "toolkit": {"enabled": True, "env": [accept]},
    }


def _mig_values(pools: Sequence[PoolPlan]) -> dict[str, Any]:
    cut = partitioned(pools)
    if not cut:
        return {"mig": {"strategy": "single"}, "migManager": {"enabled": False}}
    manager: dict[str, Any] = {"enabled": True, "env": [{"name": "WITH_REBOOT", "value": "true"}]}
    layouts = [(gpu, sharing.layout) for _, gpu, sharing in cut]
    if not all(is_built_in(gpu, layout) for gpu, layout in layouts):
        manager["config"] = {
            "create": True,
            "name": _MIG_CONFIG_MAP,
            "default": "all-disabled",
            "data": {"config.yaml": config_file(layouts)},
        }
    uniform = all(len(layout) == 1 for _, layout in layouts)
    return {"mig": {"strategy": "single" if uniform else "mixed"}, "migManager": manager}


def _check(
    at: tuple[str, ...], final: ChartValues, pools: Sequence[PoolPlan], host: HostDriver, findings: Findings
) -> None:
    """Check that pools, operator and driver root agree on the owner of the GPU driver."""
    installs = _installs_driver(pools)
    reported = value_at(final, "driver.enabled", default=True)
    if reported != installs:
        findings.error(
            *at,
            "values",
            "driver.enabled",
            what="contradicts the pools: two owners of one GPU driver, or none",
            got=str(reported).lower(),
            allowed=str(installs).lower(),
            fix=_other_owner(host, requested=bool(reported)),
        )
    plugin = bool(value_at(final, "devicePlugin.enabled", default=True))
    if plugin != _has_plugin(pools):
        findings.error(
            *at,
            "values",
            "devicePlugin.enabled",
            what="would advertise the GPUs that the DRA driver publishes, so that each is allocated twice"
            if plugin
            else "leaves pools with advertise: device-plugin without a device plugin",
            got=str(plugin).lower(),
            allowed=str(not plugin).lower(),
            fix="remove it from values, or set advertise: device-plugin on the pools that it is for"
            if plugin
            else "remove it from values; it follows from the pools' advertise",
        )
    if value_at(final, "gpuCluster.deployCR", default=False):
        findings.error(
            *at,
            "values",
            "gpuCluster.deployCR",
            what="makes the operator install a second DRA driver beside this program's",
            got="true",
            allowed="false",
            fix="remove it from values",
        )


def check_default_layout(
    at: tuple[str, ...], final: ChartValues, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Reject a default MIG layout of the operator for pools that declare none.

    The MIG manager divides each GPU of a node without the label, so the proof would count whole GPUs.
    Source: https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/gpu-operator-mig.html.
    """
    name = str(value_at(final, _DEFAULT_LAYOUT, default="") or "")
    if name in ("", "all-disabled") or not value_at(final, "migManager.enabled", default=True):
        return
    for pool in pools:
        model = nvidia_facts.gpus().get(pool.machine.gpu or "")
        if model is None or model.mig is None or isinstance(pool.sharing, MigSharing):
            continue
        profile = model.mig.profile(name.removeprefix("all-").replace(".me", "+me"))
        layout = "…" if profile is None else f"{{{profile.name}: {profile.max_instances}}}"
        findings.error(
            *at,
            "values",
            _DEFAULT_LAYOUT,
            what=f"would divide the GPUs of pool {pool.name}, which declares no layout",
            got=name,
            allowed="all-disabled",
            fix=f"pool {pool.name}: sharing: {{strategy: mig, layout: {layout}}}",
        )


def _other_owner(host: HostDriver, *, requested: bool) -> str:
    """Return how to make pools and operator agree, as the pools' cloud describes it."""
    if not host.setting:
        return "remove it from values: the node image includes the GPU driver"
    return f"set the pools' gpuDriver: {'operator' if requested else f'{host.setting}, or remove it'}"


def check_operator_values(
    at: tuple[str, ...], own: ChartValues, final: ChartValues, pools: Sequence[PoolPlan], findings: Findings
) -> None:
    """Reject values that contradict the pools' owner of the driver, or keep the operator off a pool.

    Args:
        at: the operator's path in the stack file.
        own: the values that follow from the pools.
        final: the final values, with the stack's overrides.
        pools: the pools of the cluster.
        findings: collects the problems.
    """
    for key in _OWNERSHIP:
        requested, reported = value_at(own, key), value_at(final, key)
        if requested is not None and reported != requested:
            findings.error(
                *at,
                "values",
                key,
                what="does not match the component that installs the GPU driver",
                got=shown(reported),
                allowed=shown(requested),
                fix="remove it from values; it follows from the pools' gpuDriver",
            )
    installs = bool(value_at(own, "driver.enabled"))
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
        reported = {f"{DEPLOY}{operand}": without for operand, without in needed.items()}
        if needed and pool.labels.get(OPERANDS) == "false":
            reported = {OPERANDS: "; ".join(needed.values())}
        for key, without in reported.items():
            if (value := pool.labels.get(key, "true")) != "true":
                findings.error(
                    *at,
                    what=f"is kept off pool {pool.name} by a label of its nodes: {without}",
                    got=f"{key}: {value}",
                    fix=f"remove {key} from the labels of pool {pool.name}",
                )


def _needed(pool: PoolPlan) -> dict[str, str]:
    """Return the operator's DaemonSets that a pool needs, each with the missing feature without it."""
    needed: dict[str, str] = {}
    if not pool.machine.gpus:
        return needed
    if pool.gpu_driver == "operator":
        needed["driver"] = "no one installs their GPU driver, and no device is published"
    if is_divided(pool.machine, pool.sharing):
        needed["mig-manager"] = "no one makes their MIG partitions"
    if pool.by_plugin:
        needed["device-plugin"] = "no one gives their GPUs out"
    return needed


def check_partitioning(
    at: tuple[str, ...], final: ChartValues, cut: Sequence[tuple[PoolPlan, GpuModel]], findings: Findings
) -> None:
    """Reject values with which the MIG partitions of pools are never created.

    Args:
        at: the operator's path in the stack file.
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
            what=f"does not allow the MIG manager to reboot nodes, so that the GPUs of {resetting} never "
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
