"""The GPU Operator's release: who installs the GPU driver, makes MIG partitions and advertises GPUs.

Source: https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/deployments/gpu-operator/values.yaml and
https://docs.nvidia.com/datacenter/cloud-native/gpu-operator/latest/dra-intro-install.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import merged, value_at
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.labels import EVICTION, OF_OPERATOR
from dra_fleet.drivers.nvidia.mig_config import config_file, is_built_in
from dra_fleet.drivers.nvidia.operator_checks import check_operator_values, check_partitioning
from dra_fleet.drivers.nvidia.settings import MigSharing
from dra_fleet.kubernetes.scheduling.taints import toleration_list
from dra_fleet.model.plan import ReleasePlan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.core.findings.refusals import Findings
    from dra_fleet.drivers.nvidia.facts import GpuModel, GpuOperatorVersion
    from dra_fleet.drivers.operators import HostDriver
    from dra_fleet.model.operators import GpuOperatorSettings
    from dra_fleet.model.plan import ChartValues, PoolPlan

NAME = "gpu-operator"
_CRITICAL = {"key": "CriticalAddonsOnly", "operator": "Exists"}
_GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
_CONTROL_PLANE = {
    "key": "node-role.kubernetes.io/control-plane",
    "operator": "Exists",
    "effect": "NoSchedule",
}
_MIG_CONFIG_MAP = "dra-fleet-mig-config"


def plan_gpu_operator(
    at: tuple[str, ...],
    settings: GpuOperatorSettings,
    pools: Sequence[PoolPlan],
    host: HostDriver,
    findings: Findings,
) -> ReleasePlan | None:
    """The operator's release, or None after its version was refused.

    Args:
        at: where the operator stands in the stack file.
        settings: its version and values.
        pools: the pools of the cluster.
        host: what is known of nodes whose image brings the GPU driver.
        findings: collects the problems.
    """
    facts = nvidia_facts.gpu_operator()
    version = facts.judged_version(settings.version)
    if version is None:
        findings.unknown(
            *at,
            "version",
            what="is no version of the GPU Operator's chart that this program knows",
            got=settings.version,
            known=[entry.version for entry in facts.versions],
        )
        return None
    if version.judged_by:
        findings.doubt(*at, "version", what=f"{version.version} {version.unjudged}")
    refusals = check_values(version, settings.values)
    for refusal in refusals:
        if version.judged_by:
            findings.doubt(
                *at, "values", refusal.path, what=f"{version.judged_by} refuses it: {refusal.what}"
            )
        else:
            findings.refuse(refusal, *at, "values")
    ours = _values(version, pools, host.runtime)
    final = merged(ours, settings.values)
    if not refusals:
        _check(at, final, pools, host, findings)
        check_operator_values(at, ours, final, pools, findings)
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
    """The pools cut into MIG partitions, with their GPUs."""
    gpus = nvidia_facts.gpus()
    return [
        (pool, gpus[pool.machine.gpu], pool.sharing)
        for pool in pools
        if isinstance(pool.sharing, MigSharing) and pool.machine.gpu is not None
    ]


def _installs_driver(pools: Sequence[PoolPlan]) -> bool:
    return any(pool.gpu_driver == "operator" for pool in pools if pool.machine.gpus)


def _has_plugin(pools: Sequence[PoolPlan]) -> bool:
    """Whether the operator's device plugin runs; a label keeps it off pools that others advertise."""
    return any(pool.by_plugin for pool in pools if pool.machine.gpus)


def _values(version: GpuOperatorVersion, pools: Sequence[PoolPlan], host_runtime: str) -> dict[str, Any]:
    tolerations = toleration_list((taint for pool in pools for taint in pool.taints), [_GPU])
    chosen: dict[str, Any] = {
        **_driver_values(_installs_driver(pools), host_runtime),
        "hostPaths": {"driverInstallDir": OF_OPERATOR},
        "devicePlugin": {"enabled": _has_plugin(pools)},
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
    """The ownership of the driver is one decision: pools, operator and driver root must say the same."""
    installs = _installs_driver(pools)
    told = value_at(final, "driver.enabled", default=True)
    if told != installs:
        findings.error(
            *at,
            "values",
            "driver.enabled",
            what="contradicts the pools: two owners of one GPU driver, or none",
            got=str(told).lower(),
            allowed=str(installs).lower(),
            fix=_other_owner(host, wanted=bool(told)),
        )
    plugin = bool(value_at(final, "devicePlugin.enabled", default=True))
    if plugin != _has_plugin(pools):
        findings.error(
            *at,
            "values",
            "devicePlugin.enabled",
            what="would advertise the GPUs that the DRA driver publishes, so that each is given away twice"
            if plugin
            else "leaves pools without anybody who gives their GPUs out, which say advertise: device-plugin",
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
            what="makes the operator install a DRA driver of its own beside this program's",
            got="true",
            allowed="false",
            fix="remove it from values",
        )


def _other_owner(host: HostDriver, *, wanted: bool) -> str:
    """How pools and operator come to agree, in the words of the pools' cloud."""
    if not host.setting:
        return "remove it from values: the node image brings the GPU driver"
    return f"set the pools' gpuDriver: {'operator' if wanted else f'{host.setting}, or remove it'}"
