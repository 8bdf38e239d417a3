"""Chart values that place a driver's plugin on nodes with its devices, and the nodes that they reach."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from dra_fleet.core.findings.errors import Refusal, shown
from dra_fleet.drivers.common.values import merged, nested, value_at
from dra_fleet.kubernetes.scheduling.node_affinity import (
    RequiredNodeAffinity,
    Requirement,
    Term,
    carries,
    some_labels,
)
from dra_fleet.kubernetes.scheduling.taints import (
    mapping,
    sequence,
    text,
    toleration_list,
    toleration_text,
    tolerations,
    untolerated_taints,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from dra_fleet.core.findings.errors import Findings
    from dra_fleet.drivers.base import Driver, Release
    from dra_fleet.drivers.common.facts import ChartVersion, PluginDemand
    from dra_fleet.drivers.resources import DriverResources, Operator, Progress
    from dra_fleet.kubernetes.scheduling.node_affinity import Labels
    from dra_fleet.kubernetes.scheduling.taints import Taint, Toleration
    from dra_fleet.model.plan import ChartValues, PoolPlan, ReleasePlan


# The place of the hardware's driver on a node's host, and the place where a DRA driver looks for it.
#
# The place depends on the installer: a node's image uses the host's root, an operator or a cloud's installer
# a separate folder. In a wrong folder, the plugin finds no library and publishes no device.

HOST: Final = "/"
"""The folder that a driver searches by default, and that node images use."""


def placed(driver: Driver, release: Release) -> ChartValues:
    """Return values that place the plugin on pools with the driver's devices, and tolerate their taints.

    Args:
        driver: the driver.
        release: the release to be made.
    """
    served, version = driver.served(release.pools), release.version
    affinity, chosen = driver.plugin_key("affinity"), dict[str, object]()
    if affinity in version.values and served and all(pool.labels for pool in served):
        chosen[affinity] = node_affinity(
            [[node_label(*label) for label in pool.labels.items()] for pool in served]
        )
    given = [dict(one) for one in version.plugin_tolerations]
    # Helm replaces lists, so that the chart's own are repeated.
    tolerations = toleration_list((taint for pool in served for taint in pool.taints), given)
    if tolerations != given:
        chosen[driver.plugin_key("tolerations")] = tolerations
    return nested(chosen)


def nothing_served(driver: Driver, release: Release, what: str) -> Sequence[Refusal]:
    """Return the refusal of a driver on a cluster whose pools have none of its devices.

    Args:
        driver: the driver.
        release: the release to be made.
        what: the devices that the driver serves.
    """
    if not release.pools or driver.served(release.pools):
        return ()
    known_drivers = (
        f"describe them: devices: [{{driver: {driver.facts.driver}, name: NAME, count: 2, …}}] of a pool; or "
    )
    where, fix = (
        ("pool", f"{known_drivers}remove it") if driver.takes_descriptions else ("machine", "remove it")
    )
    return (Refusal(what=f"serves {what}, which no {where} of this cluster has", fix=fix),)


def node_label(key: str, *values: str) -> dict[str, Any]:
    """Return a requirement that a node label has one of the values."""
    return {"key": key, "operator": "In", "values": list(values)}


def node_affinity(terms: list[list[Any]]) -> dict[str, Any]:
    """Return a pod's affinity to nodes that match one of the terms."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": term} for term in terms]
            }
        }
    }


def labelled_with(labels: Mapping[str, str]) -> dict[str, Any] | None:
    """Return the affinity to nodes with one of the labels; None if every node matches."""
    return node_affinity([[node_label(*label)] for label in labels.items()]) if labels else None


def away_from(affinity: object, pools: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    """Return an affinity that also excludes the nodes of some pools.

    Args:
        affinity: in which nodes are required by labels alone, or nothing.
        pools: per pool the labels that all its nodes have.
    """
    at = ("nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
    given: object = affinity
    for part in at:
        given = mapping(given).get(part)
    terms = [list(sequence(mapping(term).get("matchExpressions"))) for term in sequence(given)] or [[]]
    others = [
        [{"key": key, "operator": "NotIn", "values": [value]} for key, value in chosen]
        for chosen in dict.fromkeys(
            tuple(dict.fromkeys(one)) for one in product(*(sorted(labels.items()) for labels in pools))
        )
    ]
    return merged(
        mapping(affinity), node_affinity([[*term, *without] for term in terms for without in others])
    )


def any_linux_node() -> dict[str, Any]:
    """Return an affinity that replaces a chart's own and matches every Linux node.

    A null would remove the chart's default, but the Kubernetes provider drops nulls from `values`, also with
    `allowNullValues` (pulumi-kubernetes, `provider/pkg/provider/helm_release.go`: SkipNulls, 2026-11-24).
    """
    return node_affinity([[node_label("kubernetes.io/os", "linux")]])


def looks_elsewhere(given: str, roots: Collection[str]) -> bool:
    """Return True if a driver that searches one folder misses all folders with the hardware's driver."""
    return _bare(given) not in {_bare(root) for root in roots}


def root_of(resources: DriverResources, pool: PoolPlan) -> str:
    """Return the path of the hardware's driver on a pool's nodes."""
    operator = resources.operator if pool.gpu_driver == "operator" else None
    return pool.driver_root or (HOST if operator is None else operator.default_root)


def root_in(driver: Driver, values: ChartValues) -> str:
    """Return the path that the DRA driver searches by its chart's values; null means the chart's default."""
    return str(value_at(values, driver.resources.root) or HOST)


def check_root(
    at: tuple[str, ...],
    driver: Driver,
    pools: Sequence[PoolPlan],
    values: ChartValues,
    findings: Findings,
    *,
    what: str = "is not where the pools' GPU driver is installed",
    fix: str,
) -> None:
    """Reject final values with which a DRA driver searches a path without its hardware's driver.

    Args:
        at: the driver's path in the stack file.
        driver: the driver; without such a value there is no search.
        pools: the pools of the cluster.
        values: the driver's final values.
        findings: collects the problems.
        what: the problem, as the pools' cloud describes it.
        fix: the fix.
    """
    key = driver.resources.root
    allowed = sorted({root_of(driver.resources, pool) for pool in pools if pool.machine.gpus})
    if not key or key not in values or not allowed:
        return
    root = root_in(driver, values)
    if looks_elsewhere(root, allowed):
        findings.error(*at, "values", key, what=what, got=root, allowed=", ".join(allowed), fix=fix)


def install_dir_refusals(operator: Operator, values: ChartValues, *, installs: bool) -> list[Refusal]:
    """Return why the operator's pods would not start, or not find the GPU driver, at the configured path.

    The operator mounts that folder at its own path into the container that waits for the driver. Empty and
    null leave the default.
    Source: https://github.com/NVIDIA/gpu-operator/blob/v25.10.0/controllers/object_controls.go#L881-L908

    Args:
        operator: the operator.
        values: the operator's values.
        installs: True if the operator installs the GPU driver; otherwise the host has it.
    """
    given = str(value_at(values, operator.root) or operator.default_root)
    if not looks_elsewhere(given, [HOST]):
        what = (
            "is mounted at its own path into the pods that wait for the GPU driver, and no container starts "
            "with a mount on its root: partitions, labels and devices would never come"
        )
    elif installs and looks_elsewhere(given, [operator.default_root]):
        what = "is not where the DRA driver looks for the GPU driver that the operator installs"
    else:
        return []
    return [
        Refusal(
            path=operator.root,
            what=what,
            got=given,
            allowed=operator.default_root,
            fix="remove it: that is the chart's default, also if the host has the GPU driver",
        )
    ]


def _bare(root: str) -> str:
    return root.rstrip("/") or HOST


_ABSENT = object()


class PluginPods(Struct, frozen=True, kw_only=True):
    """Node requirements and tolerations of a plugin's pods.

    Attributes:
        affinity: required node labels.
        given: tolerations from the values, or by default from the chart.
        always: tolerations that the values cannot change.
        labelled: required node labels that the chart itself has set on nodes with devices.
        is_default_affinity: True if the affinity is the chart's default.
        is_default_tolerations: True if the values do not set tolerations.
    """

    affinity: RequiredNodeAffinity
    given: tuple[Toleration, ...]
    always: tuple[Toleration, ...]
    labelled: frozenset[str]
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
        demands = [item for item in version.plugin_demands if _applies(item, values)] if version else []
        demanded = [_demanded(item, values) for item in demands]
        return cls(
            affinity=RequiredNodeAffinity(selector=(*requested.selector, *demanded), terms=requested.terms),
            given=tuple(tolerations(default if given is _ABSENT else given)),
            always=tuple(tolerations(always)),
            labelled=frozenset(item.label for item in demands if item.sets_label),
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


def _applies(demand: PluginDemand, values: ChartValues) -> bool:
    replaced = demand.unless and value_at(values, demand.unless) is not None
    return bool(value_at(values, demand.key)) and not replaced


def _demanded(demand: PluginDemand, values: ChartValues) -> Requirement:
    allowed = (demand.only,) if demand.only else tuple(map(text, sequence(value_at(values, demand.key))))
    return Requirement(key=demand.label, operator="In", values=allowed)


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
    at: tuple[str, ...], driver: Driver, pools: Sequence[PoolPlan], release: ReleasePlan, findings: Findings
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
