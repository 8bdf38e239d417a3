"""Checks the objects of all files on one cluster, as if they were applied there together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import clouds, drivers
from dra_fleet.check.device_objects import class_name, config_path, devices_path, expressions, requests
from dra_fleet.check.extended_resources import ExtendedResources, report_unknown_class
from dra_fleet.check.fitting import Fitting, check_gangs, prove_gang
from dra_fleet.check.pods import check_claims, pods_of
from dra_fleet.check.references import (
    References,
    check_companions,
    claims_of_domains,
    class_mentions,
    references,
)
from dra_fleet.check.resources import at, is_about_value, keyed, mapping, sequence
from dra_fleet.check.scheduling import check_scheduling
from dra_fleet.check.selection import ClassSelection
from dra_fleet.kubernetes.devices.device_class import CelSelector, DeviceClassSpec, DeviceSelector
from dra_fleet.model.plan import DeviceClassPlan
from dra_fleet.proof.answer.claims import (
    AdminRequest,
    checked_parameters,
    limits_beyond,
    mismatch,
    refused_admin_access,
    skipped,
    wrong_types,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.check.device_objects import Validated
    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.pods import Pod
    from dra_fleet.check.resources import FileObject, Key
    from dra_fleet.core.findings.finding import FileFinding
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.drivers import Driver


# Claims that ask for devices which others use: their namespace must allow it, and their driver prepare them.
#
# Source: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access.

_LABEL = "resource.kubernetes.io/admin-access"

_STRATEGY = ("sharing", "strategy")


class Outcome(Struct, frozen=True, kw_only=True):
    """Findings about an object on a cluster; `runs`: whether it and its dependencies have no error there."""

    findings: tuple[FileFinding, ...]
    runs: bool


def checked_on(
    cluster: ClusterInventory,
    everywhere: Sequence[ClusterInventory],
    given: Sequence[Validated],
    unknown: Sequence[FileObject],
    *,
    is_production: bool,
) -> list[Outcome]:
    """Check each object on a cluster.

    Args:
        cluster: the cluster.
        everywhere: all clusters of the stack.
        given: the objects of all files, validated for the cluster's minor.
        unknown: the objects of unknown kinds, which may create claims.
        is_production: whether devices must not be shared without isolation in silence.
    """
    subjects = [replace(item.given.subject, found=dict(item.found)) for item in given]
    objects = [replace(item.given, subject=subject) for item, subject in zip(given, subjects, strict=True)]
    device_objects = [
        replace(item.as_v1, subject=subject)
        for item, subject in zip(given, subjects, strict=True)
        if item.as_v1 is not None
    ]
    classes = [item for item in device_objects if item.kind == "DeviceClass"]
    claims = [item for item in device_objects if item.kind in ("ResourceClaim", "ResourceClaimTemplate")]
    selection = ClassSelection(
        clusters=(cluster,),
        others=tuple(other for other in everywhere if other is not cluster),
        declared={
            item.name: tuple(text for _, text in expressions(item, ("spec",)))
            for item in classes
            if item.name
        },
    )
    for item in classes:
        selection.check_class(item)
    for item in claims:
        selection.check_claim(item)
    configured = [item for item in (*classes, *claims) if at(item.value, (*config_path(item), "config"))]
    if configured:
        for item in configured:
            check_config(item, cluster, selection.declared, config_path(item), is_production=is_production)
    check_admin_access(cluster, claims, objects, selection.declared)
    check_companions(objects, claims, cluster)
    for item in objects:
        for path, name in class_mentions(item):
            if name not in selection.classes:
                report_unknown_class(item.subject, path, name, selection.known_classes())
    pods = [pod for item in objects for pod in pods_of(item)]
    plan = cluster.plan
    gates = clouds.named(plan.cloud).feature_gates(plan.settings)
    gangs = check_gangs(objects, pods, plan.kubernetes, gates)
    _check_pods(pods, gangs, _Surroundings.of(cluster, selection, classes, claims, objects, unknown=unknown))
    marked = {id(item) for item, one in zip(objects, given, strict=True) if one.has_marks}
    return _outcomes(objects, claims, pods, selection.broken, marked)


class _Surroundings(Struct, frozen=True, kw_only=True):
    """Context in which pods are checked."""

    cluster: ClusterInventory
    selection: ClassSelection
    known: References
    extended: ExtendedResources
    fitting: Fitting
    declared: Sequence[DeviceClassPlan]

    @classmethod
    def of(
        cls,
        cluster: ClusterInventory,
        selection: ClassSelection,
        classes: Sequence[FileObject],
        claims: Sequence[FileObject],
        objects: Sequence[FileObject],
        *,
        unknown: Sequence[FileObject],
    ) -> _Surroundings:
        declared = references((cluster,), claims, selection.classes)
        known = References(claims=[*declared.claims, *claims_of_domains(objects)], makers=unknown)
        reported = [
            item for item in claims if item.key in selection.chosen and item.key not in selection.unjudged
        ]
        sound = [item for item in reported if not item.subject.has_errors]
        fitting = Fitting(cluster, selection.declared, sound)
        for item in sound:
            fitting.check_claim(item, selection.chosen[item.key])
        extended = ExtendedResources(cluster, selection, classes)
        own = [
            DeviceClassPlan(name=name, spec=DeviceClassSpec(selectors=tuple(map(_selector, texts))))
            for name, texts in selection.declared.items()
            if name not in selection.broken
        ]
        return cls(
            cluster=cluster,
            selection=selection,
            known=known,
            extended=extended,
            fitting=fitting,
            declared=own,
        )


def _selector(text: str) -> DeviceSelector:
    return DeviceSelector(cel=CelSelector(expression=text))


def _check_pods(pods: Sequence[Pod], gangs: Mapping[Pod, int], around: _Surroundings) -> None:
    strange = dict.fromkeys(around.selection.unjudged, True)
    for pod in pods:
        check_claims(pod, around.known)
        if pod.of_chart is not None:
            continue
        asks = around.extended.check(pod, around.known)
        keys = pod.keys.values()
        is_placed = bool(asks) or any(_has_place(key, strange, around) for key in keys)
        if not is_placed and (not keys or any(keyed(strange, key) for key in keys)):
            continue
        chosen = [keyed(around.selection.chosen, key) for key in keys]
        chosen.append(around.extended.pools(pod, asks) if asks else None)
        pools = [
            pool
            for pool in around.cluster.plan.pools
            if all(names is None or pool.name in names for names in chosen)
        ]
        left = check_scheduling(pod, around.cluster, pools, is_placed=is_placed)
        if pod in gangs and left:
            placed = replace(around.cluster.plan, pools=tuple(left))
            if prove_gang(pod, gangs[pod], placed, around.fitting.own_claims(pod), around.declared):
                continue
        around.fitting.check_pod(pod, left)


def _has_place(key: Key, strange: Mapping[Key, bool], around: _Surroundings) -> bool:
    is_known = around.known.of(key) is not None and not keyed(strange, key)
    return is_known or keyed(around.selection.chosen, key) is not None


def _outcomes(
    objects: Sequence[FileObject],
    claims: Sequence[FileObject],
    pods: Sequence[Pod],
    broken: set[str],
    marked: set[int],
) -> list[Outcome]:
    """Return the outcome of each object; `marked` are those with unrendered template marks."""
    failed = {
        item.key: item.subject.has_errors or any(class_name(request) in broken for request in requests(item))
        for item in claims
    }
    stopped = {id(pod.resource) for pod in pods if any(keyed(failed, key) for key in pod.keys.values())}
    return [
        Outcome(
            findings=tuple(
                found
                for found in item.subject.found
                if id(item) not in marked or is_about_value(item.subject, item.value, found)
            ),
            runs=not item.subject.has_errors and not failed.get(item.key) and id(item) not in stopped,
        )
        for item in objects
    ]


def check_admin_access(
    cluster: ClusterInventory,
    claims: Iterable[FileObject],
    objects: Sequence[FileObject],
    declared: Mapping[str, Sequence[str]],
) -> None:
    """Report claims with admin access that a cluster or its driver is not known to allow.

    Args:
        cluster: the cluster.
        claims: the files' claims and templates.
        objects: everything in the files.
        declared: expressions of the classes of the files, by name.
    """
    labels = {namespace.name: dict(namespace.labels) for namespace in cluster.plan.namespaces} | {
        item.name: mapping(at(item.value, ("metadata", "labels")))
        for item in objects
        if item.kind == "Namespace" and item.api_version == "v1"
    }
    publishers = {
        item.name: [config.opaque.driver for config in item.spec.config] for item in cluster.plan.classes
    } | {
        item.name: _publishers(sequence(at(item.value, ("spec", "config"))))
        for item in objects
        if item.kind == "DeviceClass"
    }
    for claim in claims:
        configs = [mapping(item) for item in sequence(at(claim.value, (*devices_path(claim.kind), "config")))]
        for request in requests(claim):
            if request.is_alternative or request.value.get("adminAccess") is not True:
                continue
            path = (*request.path, "adminAccess")
            _grants_admin_access(claim, path, labels)
            requested = class_name(request)
            asking = AdminRequest(
                name=request.result_name,
                class_name=requested,
                expressions=declared.get(requested, cluster.classes.get(requested, ())),
                publishers=publishers.get(requested, ()),
                configs=configs,
            )
            for what, fix in refused_admin_access(asking, cluster.drivers):
                claim.subject.error(*path, rule="admin-access", what=what, got="true", fix=fix)


def _publishers(configs: Sequence[Any]) -> list[str]:
    return [str(at(item, ("opaque", "driver"))) for item in configs]


def _grants_admin_access(
    claim: FileObject, path: tuple[str | int, ...], labels: dict[str, dict[str, str]]
) -> None:
    namespace = claim.namespace
    if not namespace or namespace not in labels:
        named = f"namespace {namespace}" if namespace else "its namespace"
        claim.subject.warning(
            *path,
            rule="admin-access",
            what=f"is rejected unless {named} has the label {_LABEL}=true, which neither the stack nor the "
            "files set",
            fix="check the Namespace together with this file",
        )
    elif labels[namespace].get(_LABEL) != "true":
        claim.subject.error(
            *path,
            rule="admin-access",
            what=f"is rejected: namespace {namespace} has no label {_LABEL}=true",
            got=str(labels[namespace].get(_LABEL, "")),
            allowed='"true"',
            fix=f'label the namespace {_LABEL}: "true"',
        )


def check_config(
    resource: FileObject,
    cluster: ClusterInventory,
    declared: Mapping[str, Sequence[str]],
    path: Path,
    *,
    is_production: bool,
) -> None:
    """Report configuration of a class or claim that the driver would reject.

    Args:
        resource: the class or claim.
        cluster: the cluster, which says what runs there.
        declared: expressions of the classes of the files, by name.
        path: where `config` stands.
        is_production: whether devices must not be shared without isolation in silence.
    """
    for index, item in enumerate(sequence(at(resource.value, (*path, "config")))):
        opaque = mapping(mapping(item).get("opaque"))
        parameters, driver = opaque.get("parameters"), opaque.get("driver")
        if not isinstance(parameters, dict):
            continue
        base = (*path, "config", index, "opaque", "parameters")
        _opaque_parameters(resource, base, str(driver), cast("dict[str, Any]", parameters), cluster)
        if is_production:
            _warn_unisolated(resource, base, drivers.publishing(str(driver)), parameters)
        if resource.kind != "DeviceClass":
            _check_types(resource, (*path, "config", index), mapping(item), (cluster, declared))
            whole = mapping(at(resource.value, path))
            for beyond in limits_beyond(whole, mapping(item), cluster.drivers):
                resource.subject.refuse(beyond, *base, rule="parameters-refused")


def _opaque_parameters(
    resource: FileObject, base: Path, driver: str, parameters: Mapping[str, Any], cluster: ClusterInventory
) -> None:
    for item in checked_parameters(cluster.plan, cluster.drivers, driver, parameters):
        # A third-party driver may have other gates.
        resource.subject.refuse(
            item.refusal, *base, rule="parameters-refused", severity="warning" if item.is_guess else "error"
        )


def _warn_unisolated(
    resource: FileObject,
    base: Path,
    driver: Driver | None,
    parameters: Any,  # noqa: ANN401 - any YAML
) -> None:
    strategy = str(at(parameters, _STRATEGY))
    if driver is not None and strategy in driver.unisolated:
        resource.subject.warning(
            *base,
            *_STRATEGY,
            rule="sharing-without-isolation",
            what=f"{driver.unisolated[strategy]} isolates neither memory nor faults, and this is a "
            "production stack",
            got=strategy,
            allowed="exclusive GPUs, MIG partitions, vGPUs",
            fix="ask for a MIG partition, or say in the stack file why: accept: {isolation: the reason}",
        )


def _check_types(
    resource: FileObject,
    path: Path,
    item: Mapping[str, Any],
    where: tuple[ClusterInventory, Mapping[str, Sequence[str]]],
) -> None:
    """Check that the configuration of named requests fits their devices; without names others are skipped."""
    cluster, declared = where
    kind = str(at(item, ("opaque", "parameters", "kind")))
    driver = drivers.publishing(str(at(item, ("opaque", "driver"))))
    for number, name in enumerate(sequence(item.get("requests"))):
        alternatives = [
            request.result_name
            for request in requests(resource)
            if request.is_alternative and request.name == name
        ]
        if alternatives and driver is not None and driver.facts.parameters:
            resource.subject.warning(
                *path,
                *("requests", number),
                rule="parameters-passed-over",
                what=skipped(str(at(item, ("opaque", "driver"))), str(name)),
                fix=f"name the alternatives: {', '.join(alternatives)}",
            )
        for request in requests(resource):
            requested = class_name(request)
            found = wrong_types(kind, declared.get(requested, cluster.classes.get(requested, ())))
            if request.result_name == name and found is not None:
                what = mismatch(kind, requested, found)
                resource.subject.error(
                    *path, "requests", number, rule="parameters-for-other-type", what=what, got=str(name)
                )
