"""Placement of a DRA driver's plugin pods by its chart's values, for the plan and for checks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet.core.findings.errors import shown
from dra_fleet.drivers.common.values import value_at
from dra_fleet.kubernetes.scheduling.node_affinity import (
    RequiredNodeAffinity,
    Requirement,
    Term,
    carries,
    some_labels,
)
from dra_fleet.kubernetes.scheduling.taints import (
    sequence,
    text,
    toleration_text,
    tolerations,
    untolerated_taints,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver
    from dra_fleet.drivers.common.facts import ChartVersion, PluginDemand
    from dra_fleet.drivers.resources import Progress
    from dra_fleet.kubernetes.scheduling.node_affinity import Labels
    from dra_fleet.kubernetes.scheduling.taints import Taint, Toleration
    from dra_fleet.model.plan import ChartValues, PoolPlan, ReleasePlan


_ABSENT = object()


@dataclass(frozen=True, kw_only=True)
class PluginPods:
    """Node requirements and tolerations of a plugin's pods.

    Attributes:
        affinity: required node labels.
        given: tolerations from the values, or by default from the chart.
        always: tolerations that the values cannot change.
        is_default_affinity: True if the affinity is the chart's default.
        is_default_tolerations: True if the values do not set tolerations.
    """

    affinity: RequiredNodeAffinity
    given: tuple[Toleration, ...]
    always: tuple[Toleration, ...]
    is_default_affinity: bool
    is_default_tolerations: bool

    @classmethod
    def of(cls, driver: Driver, version: ChartVersion | None, values: ChartValues) -> PluginPods:
        """Read them.

        Args:
            driver: whose plugin it is.
            version: the chart's version; None for one that is not known, which is taken to tolerate nothing.
            values: the chart's values.
        """
        selector = value_at(values, driver.plugin_key("nodeSelector"))
        affinity = value_at(values, driver.plugin_key("affinity"), default=_ABSENT)
        given = value_at(values, driver.plugin_key("tolerations"), default=_ABSENT)
        default, always = (version.plugin_tolerations, version.fixed_tolerations) if version else ((), ())
        requested = RequiredNodeAffinity.of(selector, None if affinity is _ABSENT else affinity)
        if affinity is _ABSENT:
            terms = [Term(labels=(carries(*label),)) for label in driver.facts.plugin_labels.items()]
            requested = RequiredNodeAffinity(selector=requested.selector, terms=tuple(terms) or None)
        demanded = _demanded(version.plugin_demands if version else (), values)
        return cls(
            affinity=RequiredNodeAffinity(selector=(*requested.selector, *demanded), terms=requested.terms),
            given=tuple(tolerations(default if given is _ABSENT else given)),
            always=tuple(tolerations(always)),
            is_default_affinity=affinity is _ABSENT,
            is_default_tolerations=given is _ABSENT,
        )

    def may_start_early(self, labels: Labels, progress: Progress) -> bool:
        """Return True if they may be placed on a node before its devices are divided.

        Args:
            labels: the node's known labels.
            progress: the label that reports the progress of the division.
        """
        return any(
            self.affinity.matches(lambda key, value=value: value if key == progress.key else labels(key))
            != "no"
            for value in progress.before
        )

    def kept_off_by(self, pool: PoolPlan) -> list[Taint]:
        """Return the taints of a pool that keep them off its nodes."""
        return untolerated_taints(pool.taints, (*self.given, *self.always))


def _demanded(demands: Sequence[PluginDemand], values: ChartValues) -> Iterator[Requirement]:
    for demand in demands:
        given = value_at(values, demand.key)
        if not given or (demand.unless and value_at(values, demand.unless) is not None):
            continue
        allowed = (demand.only,) if demand.only else tuple(map(text, sequence(given)))
        yield Requirement(key=demand.label, operator="In", values=allowed)


# A stack's own values must not keep a DRA driver's plugin from its pools, nor start it too early.
#
# Helm replaces lists and null removes, so that one value can undo what the plan wrote.


def check_plugin_placement(
    at: tuple[str, ...], driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
) -> None:
    """Reject final values that publish whole GPUs of a partitioned pool, or nothing of a pool.

    Args:
        at: the driver's path in the stack file.
        driver: the driver.
        pools: the pools of the cluster.
        release: the driver's release.
        findings: collects the problems.
    """
    version = driver.facts.checked_version(release.version)
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
    pods = PluginPods.of(driver, driver.facts.checked_version(release.version), release.values)
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
