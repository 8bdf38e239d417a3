"""Judges the objects of all files on one cluster, as if they were applied there together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dra_fleet.check.admin_access import check_admin_access
from dra_fleet.check.companions import check_companions, claims_of_domains
from dra_fleet.check.device_objects import class_name, config_path, expressions, requests
from dra_fleet.check.extended_resources import ExtendedResources
from dra_fleet.check.fitting import Fitting
from dra_fleet.check.pods import check_claims, pods_of
from dra_fleet.check.references import References, references
from dra_fleet.check.rendering import is_about_value
from dra_fleet.check.resources import at, keyed
from dra_fleet.check.scheduling import check_scheduling
from dra_fleet.check.selection import ClassSelection

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.check.device_objects import Validated
    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.pods import Pod
    from dra_fleet.check.resources import FileObject, Key
    from dra_fleet.core.findings.finding import FileFinding


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What is found of an object on a cluster; `runs`: whether it and what it needs have no error there."""

    findings: tuple[FileFinding, ...]
    runs: bool


def judged_on(
    cluster: ClusterInventory,
    everywhere: Sequence[ClusterInventory],
    given: Sequence[Validated],
    *,
    is_production: bool,
) -> list[Outcome]:
    """What is found of each object.

    Args:
        cluster: the cluster.
        everywhere: all clusters of the stack.
        given: the objects of all files, validated for the cluster's minor.
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
        from dra_fleet.check.opaque import check_config  # noqa: PLC0415 - most have none

        for item in configured:
            check_config(item, cluster, selection.declared, config_path(item), is_production=is_production)
    check_admin_access(cluster, claims, objects, selection.declared)
    check_companions(objects, claims, cluster)
    pods = [pod for item in objects for pod in pods_of(item)]
    _check_pods(pods, _Surroundings.of(cluster, selection, classes, claims, objects))
    marked = {id(item) for item, one in zip(objects, given, strict=True) if one.has_marks}
    return _outcomes(objects, claims, pods, selection.broken, marked)


@dataclass(frozen=True, kw_only=True)
class _Surroundings:
    """What pods are judged by."""

    cluster: ClusterInventory
    selection: ClassSelection
    known: References
    extended: ExtendedResources
    fitting: Fitting

    @classmethod
    def of(
        cls,
        cluster: ClusterInventory,
        selection: ClassSelection,
        classes: Sequence[FileObject],
        claims: Sequence[FileObject],
        objects: Sequence[FileObject],
    ) -> _Surroundings:
        declared = references((cluster,), claims, selection.classes)
        known = References(claims=[*declared.claims, *claims_of_domains(objects)])
        told = [
            item for item in claims if item.key in selection.chosen and item.key not in selection.unjudged
        ]
        sound = [item for item in told if not item.subject.has_errors]
        fitting = Fitting(cluster, selection.declared, sound)
        for item in sound:
            fitting.check_claim(item, selection.chosen[item.key])
        extended = ExtendedResources(cluster, selection, classes)
        return cls(cluster=cluster, selection=selection, known=known, extended=extended, fitting=fitting)


def _check_pods(pods: Sequence[Pod], around: _Surroundings) -> None:
    strange = dict.fromkeys(around.selection.unjudged, True)
    for pod in pods:
        check_claims(pod, around.known)
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
        around.fitting.check_pod(pod, left)


def _has_place(key: Key, strange: Mapping[Key, bool], around: _Surroundings) -> bool:
    """Whether it can be told where a claim's devices are."""
    is_known = around.known.of(key) is not None and not keyed(strange, key)
    return is_known or keyed(around.selection.chosen, key) is not None


def _outcomes(
    objects: Sequence[FileObject],
    claims: Sequence[FileObject],
    pods: Sequence[Pod],
    broken: set[str],
    marked: set[int],
) -> list[Outcome]:
    """What came of each object; `marked` are those in which templates left something."""
    failed = {
        item.key: item.subject.has_errors or any(class_name(request) in broken for request in requests(item))
        for item in claims
    }
    stopped = {id(pod.resource) for pod in pods if any(keyed(failed, key) for key in pod.keys.values())}
    return [
        Outcome(
            findings=tuple(
                found for found in item.subject.found if id(item) not in marked or is_about_value(item, found)
            ),
            runs=not item.subject.has_errors and not failed.get(item.key) and id(item) not in stopped,
        )
        for item in objects
    ]
