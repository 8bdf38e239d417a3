"""Values files of charts, those of drivers and those of operators."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import clouds, drivers
from dra_fleet.check.contents import documents_of, unreadable
from dra_fleet.check.resources import check_rendered, is_about_value, mapping
from dra_fleet.check.scheduling import admitted_by_labels, unknown_labels
from dra_fleet.core.facts import is_chart_version
from dra_fleet.core.findings.errors import choices, mistyped
from dra_fleet.core.findings.finding import Found, Subject
from dra_fleet.core.yaml_text import Unreadable
from dra_fleet.drivers.base import Release
from dra_fleet.drivers.common.facts import version_of, version_order
from dra_fleet.drivers.common.placement import (
    PluginPods,
    install_dir_refusals,
    looks_elsewhere,
    root_in,
    root_of,
)
from dra_fleet.drivers.common.value_checks import check_values, refused_together
from dra_fleet.drivers.common.values import flow, is_on, value_at
from dra_fleet.fleet.plan import advertisers
from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, some_labels
from dra_fleet.kubernetes.scheduling.taints import Toleration, sequence, toleration_text, untolerated_taints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dra_fleet.check.checking import ValuesFile
    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.clouds import Cloud
    from dra_fleet.core.findings.errors import Refusal
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.drivers import Driver
    from dra_fleet.drivers.common.facts import ChartVersion
    from dra_fleet.drivers.resources import Operator
    from dra_fleet.kubernetes.scheduling.node_affinity import Requirement
    from dra_fleet.model.plan import ChartValues, PoolPlan


_FREE = ("list", "map")
_STRATEGY = "mig.strategy"
_OF_EVERY_NODE = ("kubernetes.io/arch", "kubernetes.io/hostname", "kubernetes.io/os")
"""Labels that each kubelet sets: https://kubernetes.io/docs/reference/labels-annotations-taints/."""
_MET_WITHOUT_LABEL = ("NotIn", "DoesNotExist")
"""Operators that a node without the label meets."""


class ChartUnknown(Exception):  # noqa: N818 - it says what the chart is
    """Unknown chart or version; the message lists the known ones.

    `oldest`: the oldest known version, where the version is one that is older.
    """

    def __init__(self, message: str, *, oldest: str = "") -> None:
        super().__init__(message)
        self.oldest = oldest


class Chart(Struct, frozen=True, kw_only=True):
    """A known version of a driver's chart."""

    driver: Driver
    version: ChartVersion


def check_file(file: ValuesFile, cluster: ClusterInventory) -> Found:
    """Check a values file for a cluster.

    Args:
        file: the file, and the chart that it is for.
        cluster: the cluster.
    """
    found: Found = {}
    name = f"values of {file.chart} {file.version}"
    try:
        version, check_values = _checks(file, cluster)
    except ChartUnknown as unknown:
        if not unknown.oldest:
            return {unreadable(file.name, Unreadable(str(unknown))): None}
        for document in documents_of(file.name, file.data, found):
            Subject(document=document, name=name, found=found).warning(
                rule="chart-version",
                what=f"cannot be checked: the version is older than all known ones, from {unknown.oldest} on",
                fix="upgrade the chart",
            )
        return found
    for document in documents_of(file.name, file.data, found):
        subject = Subject(document=document, name=name)
        check_values(subject)
        about = [item for item in subject.found if is_about_value(subject, document.value, item)]
        typed = _typed(version, mapping(document.value))
        check_rendered(Subject(document=document, name=name, found=found), typed, fixes={})
        found |= dict.fromkeys(about)
    return found


def _checks(file: ValuesFile, cluster: ClusterInventory) -> tuple[ChartVersion, Callable[[Subject], None]]:
    """Return the version of a file's chart, and the checks of its values."""
    operator = operator_version(file.chart, file.version)
    if operator is not None:
        return operator[1], lambda subject: check_operator_values(subject, *operator, cluster)
    chart = find_chart(file.chart, file.version)
    return chart.version, lambda subject: check_chart_values(subject, chart, (cluster,))


def _typed(version: ChartVersion, values: ChartValues, prefix: str = "") -> ChartValues:
    """Return the values except free mappings and lists, which may contain templates for other programs."""
    kept: dict[str, object] = {}
    for name, value in values.items():
        kind = version.values.get(f"{prefix}{name}")
        if kind not in _FREE:
            kept[name] = _typed(version, mapping(value), f"{prefix}{name}.") if mapping(value) else value
    return kept


def find_chart(name: str, version: str) -> Chart:
    """Return the chart by its name, without its repository, and version.

    Raises:
        ChartUnknown: There is no such chart or version.
    """
    charts = [
        Chart(driver=driver, version=entry) for driver in drivers.known() for entry in driver.facts.versions
    ]
    for operator in operators():
        if name == operator.chart:
            raise _unknown_version(name, version, operator.versions())
    named = [chart for chart in charts if chart_name(chart) == name]
    if not named:
        names = {*(chart_name(chart) for chart in charts), *(operator.chart for operator in operators())}
        raise ChartUnknown(
            f"chart {name!r} is not the chart of a known driver; allowed: {choices(name, names)}"
            + (f"; fix: {fix}" if (fix := mistyped(name, names)) else "")
        )
    versions = [chart.version for chart in named]
    entry = _entry(versions, version)
    if entry is None:
        raise _unknown_version(name, version, versions)
    return Chart(driver=named[0].driver, version=entry)


def _unknown_version(name: str, version: str, known: Sequence[ChartVersion]) -> ChartUnknown:
    is_older = is_chart_version(version) and version_order(version) < version_order(known[0].version)
    return ChartUnknown(
        f"chart {name} has no known version {version!r}; allowed: {', '.join(one.version for one in known)}",
        oldest=known[0].version if is_older else "",
    )


def chart_name(chart: Chart) -> str:
    """Return a chart's name without its repository."""
    return chart.version.chart.rpartition("/")[2]


def check_chart_values(subject: Subject, chart: Chart, clusters: Iterable[ClusterInventory]) -> None:
    """Check a values file for a chart on the stack's clusters."""
    values = mapping(subject.document.value)
    if subject.document.value != values:
        subject.error(rule="values-refused", what="must be a mapping, as values.yaml of the chart is")
        return
    refusals = check_values(chart.version, values)
    report_refusals(subject, chart.version, refusals)
    wrong = {refusal.path for refusal in refusals}
    for cluster in clusters:
        _check_on(subject, chart, cluster, values, wrong)


def _check_on(
    subject: Subject, chart: Chart, cluster: ClusterInventory, values: ChartValues, wrong: set[str]
) -> None:
    pools = [pool for pool in chart.driver.served(cluster.plan.pools) if pool.by_dra]
    if not cluster.plan.settings.drivers:
        subject.warning(
            rule="second-driver",
            what=f"cluster {cluster.plan.name} already has DRA drivers (drivers: {{}}): a second "
            f"driver with the name {chart.driver.facts.driver} on its nodes would replace the "
            "ResourceSlices of the first",
            fix="install nothing there, or name the driver under drivers of the cluster",
        )
    release = Release(
        version=chart.version,
        minor=cluster.plan.kubernetes,
        namespace=chart.driver.facts.namespace,
        pools=pools,
    )
    guarded = [item for item in chart.driver.guards(release, values) if item.path not in wrong]
    report_refusals(subject, chart.version, guarded)
    served, left = advertisers.by_advertiser(chart.driver, cluster.plan.pools)
    for refusal in advertisers.refusals(chart.driver, chart.version, values, served, left):
        subject.refuse(_of_file(refusal, chart, values), rule="device-plugin-beside-driver")
    _check_controller(subject, chart, cluster, values)
    cloud = clouds.named(cluster.plan.cloud)
    _check_priority(subject, chart, cloud, values)
    pods = PluginPods.of(chart.driver, chart.version, values)
    reached = _check_plugin_nodes(subject, chart, cloud, pools, pods)
    _check_tolerations(subject, chart, cloud, reached, pods)
    _check_root(subject, chart.driver, cluster, reached, values)
    _check_partitions(subject, chart.driver, reached, pods)


def _of_file(refusal: Refusal, chart: Chart, values: ChartValues) -> Refusal:
    """Return the refusal with a fix for a values file, whose affinity the plan does not write."""
    if refusal.path != chart.driver.plugin_key("affinity"):
        return refusal
    is_given = value_at(values, refusal.path, default=chart) is not chart
    return replace(
        refusal,
        got=refusal.got if is_given else "the chart's default",
        fix="exclude the pool's nodes there, or set advertise: dra on the pool",
    )


def _check_controller(subject: Subject, chart: Chart, cluster: ClusterInventory, values: ChartValues) -> None:
    """Charts before 0.4 let their controller run on control-plane nodes only, which managed clusters hide."""
    if not chart.driver.has_controller(values, default=True):
        return
    _check_controller_nodes(subject, cluster, values)
    if not chart.version.controller_needs_control_plane:
        return
    if value_at(values, "controller.affinity", default=subject) is not subject:
        return
    managed = clouds.named(cluster.plan.cloud).makes_nodes
    report = subject.error if managed else subject.warning
    report(
        *_path("controller.affinity"),
        rule="controller-placement",
        what=f"chart {chart.version.version} lets its controller run only on nodes labelled "
        "node-role.kubernetes.io/control-plane"
        + (
            ", and a managed cluster has none: it would stay Pending"
            if managed
            else ": it would stay Pending on a managed cluster, which has none"
        ),
        fix=f"controller: {{affinity: null}}, or {flow(chart.driver.controller_switch, 'false')}",
    )


def _check_controller_nodes(subject: Subject, cluster: ClusterInventory, values: ChartValues) -> None:
    """Report a controller whose nodes have unknown labels, or taints that it does not tolerate."""
    section = mapping(values.get("controller"))
    required = RequiredNodeAffinity.of(mapping(section.get("nodeSelector")), section.get("affinity"))
    field = "nodeSelector" if section.get("nodeSelector") else "affinity"
    pools = cluster.plan.pools
    for key in unknown_labels(required, pools, pools):
        subject.warning(
            *_path(f"controller.{field}"),
            rule="controller-placement",
            what=f"sends the controller to nodes with the label {key}, which no pool of the stack is "
            "known to carry",
            got=key,
            fix="name a label of the system pool",
        )
    reached = [
        pool for pool in pools if required.keys and required.matches(some_labels(pool.labels)) == "yes"
    ]
    given = [Toleration.of(item) for item in sequence(section.get("tolerations"))]
    kept = {pool.name: untolerated_taints(pool.taints, given) for pool in reached}
    if reached and all(kept.values()):
        subject.error(
            *_path(f"controller.{field}"),
            rule="controller-placement",
            what="sends the controller only to pools whose taints it does not tolerate: "
            + "; ".join(f"{name} has {', '.join(map(str, taints))}" for name, taints in kept.items()),
            fix="send it to the system pool, or set controller.tolerations",
        )


def _check_priority(subject: Subject, chart: Chart, cloud: Cloud, values: ChartValues) -> None:
    """Charts' pods are critical by default; some clouds admit such pods in few namespaces."""
    keys = chart.driver.priority_keys(values, chart.version) if cloud.guarded_priorities else ()
    for key in keys:
        given = value_at(values, key)
        if given is not None and given not in cloud.guarded_priorities:
            continue
        part = key.rpartition(".")[0]
        unset = 'priorityClassName: ""'
        subject.warning(
            *_path(key),
            rule="critical-pods",
            what=f"{cloud.title} admits critical pods outside of kube-system only where a ResourceQuota of "
            "their namespace allows that priority class; without one the driver gets no pods there",
            got=str(given) if given else "the chart's default, which is critical",
            allowed='"", or a class that is not critical',
            fix=f"{f'{part}: {{{unset}}}' if part else unset}, or such a quota in the namespace",
        )


def _check_plugin_nodes(
    subject: Subject, chart: Chart, cloud: Cloud, pools: list[PoolPlan], pods: PluginPods
) -> list[PoolPlan]:
    """Report the pools whose labels the plugin's pods do not match; return the others."""
    requested, key = pods.affinity, chart.driver.plugin_key("affinity")
    reached: list[PoolPlan] = []
    for pool in pools:
        answer = requested.matches(some_labels(pool.labels))
        if answer == "no":
            subject.error(
                *_path(chart.driver.plugin_key("nodeSelector") if requested.selector else key),
                rule="plugin-placement",
                what=f"keeps the plugin from the nodes of pool {pool.name}, which then publish no device",
                got=", ".join(f"{key}={value}" for key, value in pool.labels.items()),
                allowed="nodes with " + ", ".join(sorted(requested.keys)),
                fix="give the pool that label, or change the plugin's affinity",
            )
            continue
        reached.append(pool)
        if answer == "unknown" and pool.gpu_driver == "host":
            _warn_labels(subject, chart.driver, cloud, pool, pods)
    return reached


def _warn_labels(subject: Subject, driver: Driver, cloud: Cloud, pool: PoolPlan, pods: PluginPods) -> None:
    """Report labels that the plugin's pods require and that the pool may lack.

    The cloud sets its own labels, and refuses most of them on a pool.
    """
    operator, usual = driver.resources.operator, driver.facts.plugin_labels
    reported = operator.labels if operator is not None else ()

    def missing(requirements: Iterable[Requirement]) -> dict[str, str]:
        return {
            one.key: f'"{value}"' if value else "…"
            for one in requirements
            if one.operator not in _MET_WITHOUT_LABEL
            and one.key not in pool.labels
            and one.key not in _OF_EVERY_NODE
            and one.key not in pods.labelled
            and not one.key.startswith(reported)
            and not cloud.resources.sets_label(one.key)
            for value in [one.values[0] if len(one.values) == 1 else usual.get(one.key, "")]
        }

    required = missing(pods.affinity.selector)
    section = "nodeSelector" if required else "affinity"
    options = [missing(term.labels) for term in pods.affinity.terms or ()]
    if len(options) == 1:
        required |= options.pop()
    if {} in options:
        options = []
    if not required and not options:
        return
    chosen = next((option for name in usual for option in options if name in option), (*options, {})[0])
    labels = {**required, **chosen}
    texts = (
        ", ".join(sorted(required)),
        " or ".join(sorted(" and ".join(sorted(option)) for option in options)),
    )
    count = "all of them" if not options else "them" if required else "any of them"
    subject.warning(
        *_path(driver.plugin_key(section)),
        rule="plugin-placement",
        what=f"the plugin runs only on nodes with {', and with '.join(filter(None, texts))}, and pool "
        f"{pool.name} is not known to carry {count if options or len(required) > 1 else 'it'}",
        got=", ".join(f"{key}={value}" for key, value in pool.labels.items()),
        fix=f"make {', '.join(f'{name}: {value}' for name, value in sorted(labels.items()))} "
        f"{'a label' if len(labels) == 1 else 'labels'} of the pool; one set on nodes by hand is lost on a "
        "new node",
    )


def _check_tolerations(
    subject: Subject, chart: Chart, cloud: Cloud, pools: list[PoolPlan], pods: PluginPods
) -> None:
    key = chart.driver.plugin_key("tolerations")
    added = admitted_by_labels(cloud, pods.affinity)
    for pool in pools:
        missing = untolerated_taints(pods.kept_off_by(pool), added)
        if missing:
            needed = f"{{tolerations: [{', '.join(map(toleration_text, missing))}]}}"
            section = chart.driver.plugin_section
            subject.error(
                *_path(key),
                rule="plugin-placement",
                what=f"does not tolerate {', '.join(map(str, missing))} of pool {pool.name}, so "
                f"that the plugin "
                "never runs there and no device is published",
                got="the chart's default"
                if pods.is_default_tolerations
                else f"{len(pods.given)} tolerations",
                fix=f"{section}: {needed}" if section else needed[1:-1],
            )


def _check_root(
    subject: Subject, driver: Driver, cluster: ClusterInventory, pools: list[PoolPlan], values: ChartValues
) -> None:
    key = driver.resources.root
    for pool in pools if key else ():
        if pool.gpu_driver == "host" and not clouds.named(cluster.plan.cloud).makes_nodes:
            continue  # the stack does not know the folder: Talos, for example, uses /usr/local
        root, requested = root_in(driver, values), root_of(driver.resources, pool)
        if looks_elsewhere(root, [requested]):
            subject.error(
                *_path(key),
                rule="driver-root",
                what=f"is not where pool {pool.name} has its GPU driver "
                f"(gpuDriver: {_driver_setting(cluster, pool)}); the plugin would find no GPU",
                got=root,
                allowed=requested,
                fix=f"{key}: {requested}",
            )


def _check_partitions(subject: Subject, driver: Driver, pools: list[PoolPlan], pods: PluginPods) -> None:
    """Partitions that an operator makes must be there before the plugin looks."""
    dividable = driver.resources.dividable
    if dividable is None:
        return
    label, progress = dividable.label, dividable.progress
    for pool in pools:
        config = pool.labels.get(label)
        divided = driver.is_divided(pool.machine, pool.sharing) or config is not None
        if pool.gpu_driver != "operator" or not divided:
            continue
        if config in (None, dividable.whole_label):
            has = f"carries {label}={config}" if config else f"carries no label {label}"
            report = subject.error if config else subject.warning
            report(
                rule="partitions-missing",
                what=f"pool {pool.name} {has}, which makes no MIG partitions; mig.strategy alone makes "
                f"none either",
                got=config or "",
                fix=f"give the pool the label {_requested(driver, pool, label)}",
            )
        if pods.may_start_early(some_labels(pool.labels), progress):
            subject.error(
                *_path(driver.plugin_key("affinity")),
                rule="partitions-missing",
                what=f"the plugin may start on pool {pool.name} before its MIG partitions exist, and "
                f"publishes whole "
                "GPUs then",
                fix=f"require {progress.key} In [{progress.ready}] in {driver.plugin_key('affinity')}",
            )


def _requested(driver: Driver, pool: PoolPlan, label: str) -> str:
    requested = driver.pool_labels(pool.machine, pool.sharing, by_operator=True).get(label, "<profile>")
    return f"{label}={requested}"


def _path(key: str) -> Path:
    return cast("Path", tuple(key.split(".")) if key else ())


def operators() -> list[Operator]:
    """Return the operators that prepare nodes for drivers."""
    reported = [driver.resources.operator for driver in drivers.known()]
    return [operator for operator in reported if operator is not None]


def operator_version(chart: str, version: str) -> tuple[Operator, ChartVersion] | None:
    """Return an operator by its chart's name, and the chart's version, with or without its v."""
    for operator in operators():
        if operator.chart == chart:
            entry = _entry(operator.versions(), version)
            return None if entry is None else (operator, entry)
    return None


def _entry(versions: Sequence[ChartVersion], version: str) -> ChartVersion | None:
    """Return the entry of a chart's version, with or without its v, or the one before it, if any.

    An unknown version also has the keys of the next known one, because either may have added them.
    """
    bare = version.removeprefix("v")
    known = next((entry for entry in versions if entry.version.removeprefix("v") == bare), None)
    entry = known or version_of(versions, bare)
    if entry is None or not entry.checked_by:
        return entry
    later = [item for item in versions if version_order(item.version) > version_order(bare)]
    if not later:
        return entry
    next_one = min(later, key=lambda item: version_order(item.version))
    gates = {**dict.fromkeys(next_one.feature_gates, False), **entry.feature_gates}
    return entry.model_copy(update={"values": {**next_one.values, **entry.values}, "feature_gates": gates})


def report_refusals(subject: Subject, version: ChartVersion, refusals: Iterable[Refusal]) -> None:
    """Report values that a chart rejects; for an unknown version, that the version before it rejects."""
    if version.checked_by:
        subject.warning(rule="chart-version", what=f"chart version {version.version} {version.unjudged}")
    for refusal in refusals:
        subject.refuse(refusal, rule="values-refused", severity="warning" if version.checked_by else "error")


def _driver_setting(cluster: ClusterInventory, pool: PoolPlan) -> str:
    image = clouds.named(cluster.plan.cloud).host_driver.setting
    return pool.gpu_driver if pool.gpu_driver == "operator" else image or pool.gpu_driver


def _check_strategy(subject: Subject, values: ChartValues, pools: Iterable[PoolPlan]) -> None:
    """Report a MIG strategy on a cluster whose pools all keep whole GPUs: it only names partitions."""
    strategy = value_at(values, _STRATEGY)
    layout = value_at(values, "migManager.config.default", default="")
    divided = any(
        driver.is_divided(pool.machine, pool.sharing) for pool in pools for driver in drivers.known()
    )
    if strategy not in (None, "none") and not layout and not divided:
        subject.warning(
            *_path(_STRATEGY),
            rule="partitions-missing",
            what="makes no MIG partitions; it only says how partitions are named, and no pool has a layout",
            got=str(strategy),
            fix="sharing: {strategy: mig, layout: …} of the pool whose GPUs shall be divided",
        )


def _installs_driver_of(operator: Operator, cluster: ClusterInventory) -> bool:
    """Return True if the stack installs the DRA driver that the operator belongs to."""
    installed = cluster.plan.settings.drivers
    return any(each.name in installed for each in drivers.known() if each.resources.operator is operator)


def check_operator_values(
    subject: Subject, operator: Operator, version: ChartVersion, cluster: ClusterInventory
) -> None:
    """Check values of an operator on a cluster whose devices DRA allocates."""
    values = mapping(subject.document.value)
    if subject.document.value != values:
        subject.error(rule="values-refused", what="must be a mapping, as values.yaml of the chart is")
        return
    report_refusals(subject, version, check_values(version, values) + refused_together(version, values))
    pools = [pool for pool in cluster.plan.pools if pool.machine.gpus]
    if not pools:
        return
    _check_strategy(subject, values, pools)
    # A plugin that the operator leaves off a pool is one of another pool.
    kept_off = operator.device_plugin_kept_off
    met = [
        pool
        for pool in pools
        if not pool.by_plugin and not any(pool.labels.get(key) == "false" for key in kept_off)
    ]
    names = ", ".join(pool.name for pool in met)
    has_dra = is_on(operator.dra, values)
    if met and not has_dra and is_on(operator.device_plugin, values):
        subject.error(
            *operator.device_plugin.key.split("."),
            rule="device-plugin-beside-driver",
            what=f"would advertise the GPUs of {names}, which the DRA driver publishes: each is allocated "
            "twice",
            got="true",
            allowed="false",
            fix=flow(operator.device_plugin.key, "false"),
        )
    if has_dra and _installs_driver_of(operator, cluster):
        subject.error(
            *operator.dra.key.split("."),
            rule="second-driver",
            what="makes the operator install a second DRA driver beside the stack's",
            got="true",
            allowed="false",
            fix="remove it",
        )
    installs = is_on(operator.kernel_driver, values)
    has_driver = any(not pool.by_plugin or pool.by_dra for pool in pools)
    for refusal in install_dir_refusals(operator, values, installs=installs and has_driver):
        subject.refuse(refusal, rule="driver-root")
    for pool in pools:
        if installs != (pool.gpu_driver == "operator"):
            subject.error(
                *operator.kernel_driver.key.split("."),
                rule="gpu-driver-owner",
                what=f"contradicts pool {pool.name} (gpuDriver: {_driver_setting(cluster, pool)}): "
                + ("two owners of one GPU driver" if installs else "no one installs its GPU driver"),
                got=str(installs).lower(),
                allowed=str(not installs).lower(),
                fix=f"{flow(operator.kernel_driver.key, str(not installs).lower())}, or change the pool's "
                "gpuDriver",
            )
