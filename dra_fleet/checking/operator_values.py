"""Values of the GPU Operator's chart: its keys, and that it owns on the pools what the stack says it owns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.checking.resources import mapping
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import value_at
from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.operator_checks import install_dir_refusals

if TYPE_CHECKING:
    from dra_fleet.checking.inventory import ClusterInventory
    from dra_fleet.drivers.nvidia.facts import GpuOperatorVersion
    from dra_fleet.findings.finding import Subject

OPERATOR = "gpu-operator"


def operator_version(version: str) -> GpuOperatorVersion | None:
    """A version of the GPU Operator's chart, with or without its v."""
    facts = nvidia_facts.gpu_operator()
    return facts.version(f"v{version.removeprefix('v')}") or facts.version(version.removeprefix("v"))


def check_operator_values(subject: Subject, version: GpuOperatorVersion, cluster: ClusterInventory) -> None:
    """Tell what is wrong with values of the GPU Operator on a cluster whose devices DRA gives away."""
    values = mapping(subject.document.value)
    if subject.document.value != values:
        subject.error(rule="values-refused", what="must be a mapping, as values.yaml of the chart is")
        return
    for refusal in check_values(version, values):
        subject.refuse(refusal, rule="values-refused")
    pools = [pool for pool in cluster.plan.pools if pool.machine.gpus]
    if not pools:
        return
    names = ", ".join(pool.name for pool in pools)
    if value_at(values, "devicePlugin.enabled", default=True):
        subject.error(
            "devicePlugin",
            "enabled",
            rule="device-plugin-beside-driver",
            what=f"would advertise the GPUs of {names}, which the DRA driver publishes: each is given away "
            "twice",
            got="true",
            allowed="false",
            fix="devicePlugin: {enabled: false}",
        )
    if value_at(values, "gpuCluster.deployCR", default=False):
        subject.error(
            "gpuCluster",
            "deployCR",
            rule="second-driver",
            what="makes the operator install a DRA driver of its own beside the stack's",
            got="true",
            allowed="false",
            fix="remove it",
        )
    installs = bool(value_at(values, "driver.enabled", default=True))
    for refusal in install_dir_refusals(values, installs=installs):
        subject.refuse(refusal, rule="driver-root")
    for pool in pools:
        if installs != (pool.gpu_driver == "operator"):
            subject.error(
                "driver",
                "enabled",
                rule="gpu-driver-owner",
                what=f"contradicts pool {pool.name} (gpuDriver: {pool.gpu_driver}): "
                + ("two owners of one GPU driver" if installs else "nobody installs its GPU driver"),
                got=str(installs).lower(),
                allowed=str(not installs).lower(),
                fix=f"driver: {{enabled: {str(not installs).lower()}}}, or change the pool's gpuDriver",
            )
