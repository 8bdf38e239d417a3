"""Values of the charts of operators: its keys, and that it owns on the pools what the stack says it owns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet import drivers
from dra_fleet.check.resources import mapping
from dra_fleet.drivers.common.facts import version_of
from dra_fleet.drivers.common.host_root import install_dir_refusals
from dra_fleet.drivers.common.value_checks import check_values
from dra_fleet.drivers.common.values import flow, is_on

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.core.findings.errors import Refusal
    from dra_fleet.core.findings.finding import Subject
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.resources import Operator


def operators() -> list[Operator]:
    """The operators that ready nodes for drivers."""
    told = [driver.resources.operator for driver in drivers.known()]
    return [operator for operator in told if operator is not None]


def operator_version(chart: str, version: str) -> tuple[Operator, ChartVersion] | None:
    """An operator by the name of its chart, and the chart's version, with or without its v."""
    for operator in operators():
        if operator.chart == chart:
            known = {entry.version.removeprefix("v"): entry for entry in operator.versions()}
            bare = version.removeprefix("v")
            entry = known.get(bare) or version_of(operator.versions(), bare)
            return None if entry is None else (operator, entry)
    return None


def tell_refusals(subject: Subject, version: ChartVersion, refusals: Iterable[Refusal]) -> None:
    """Tell what a chart refuses of its values; of an unknown version, what the one before it refuses."""
    if version.judged_by:
        subject.warning(rule="chart-version", what=f"chart version {version.version} {version.unjudged}")
    for refusal in refusals:
        subject.refuse(refusal, rule="values-refused", severity="warning" if version.judged_by else "error")


def check_operator_values(
    subject: Subject, operator: Operator, version: ChartVersion, cluster: ClusterInventory
) -> None:
    """Tell what is wrong with values of an operator on a cluster whose devices DRA gives away."""
    values = mapping(subject.document.value)
    if subject.document.value != values:
        subject.error(rule="values-refused", what="must be a mapping, as values.yaml of the chart is")
        return
    tell_refusals(subject, version, check_values(version, values))
    pools = [pool for pool in cluster.plan.pools if pool.machine.gpus]
    if not pools:
        return
    # A plugin that the operator leaves off a pool is one of another pool.
    kept_off = operator.device_plugin_kept_off
    met = [
        pool
        for pool in pools
        if not pool.by_plugin and not any(pool.labels.get(key) == "false" for key in kept_off)
    ]
    names = ", ".join(pool.name for pool in met)
    if met and is_on(operator.device_plugin, values):
        subject.error(
            *operator.device_plugin.key.split("."),
            rule="device-plugin-beside-driver",
            what=f"would advertise the GPUs of {names}, which the DRA driver publishes: each is given away "
            "twice",
            got="true",
            allowed="false",
            fix=flow(operator.device_plugin.key, "false"),
        )
    if is_on(operator.dra, values):
        subject.error(
            *operator.dra.key.split("."),
            rule="second-driver",
            what="makes the operator install a DRA driver of its own beside the stack's",
            got="true",
            allowed="false",
            fix="remove it",
        )
    installs = is_on(operator.kernel_driver, values)
    for refusal in install_dir_refusals(operator, values, installs=installs):
        subject.refuse(refusal, rule="driver-root")
    for pool in pools:
        if installs != (pool.gpu_driver == "operator"):
            subject.error(
                *operator.kernel_driver.key.split("."),
                rule="gpu-driver-owner",
                what=f"contradicts pool {pool.name} (gpuDriver: {pool.gpu_driver}): "
                + ("two owners of one GPU driver" if installs else "nobody installs its GPU driver"),
                got=str(installs).lower(),
                allowed=str(not installs).lower(),
                fix=f"{flow(operator.kernel_driver.key, str(not installs).lower())}, or change the pool's "
                "gpuDriver",
            )
