"""Judges files against a stack's fleet: all files together, so that they may refer to each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fleet.checking.admin_access import check_admin_access
from fleet.checking.charts import ChartUnknown, check_chart_values, find_chart
from fleet.checking.device_objects import check_object, expressions
from fleet.checking.documents import Unreadable, read_documents
from fleet.checking.finding import Finding, Subject
from fleet.checking.inventory import clusters
from fleet.checking.pods import check_claims, pod_of
from fleet.checking.references import references
from fleet.checking.resources import Resource, at, resources
from fleet.checking.scheduling import check_scheduling
from fleet.checking.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fleet.checking.documents import Document
    from fleet.checking.inventory import Cluster
    from fleet.checking.pods import Pod
    from fleet.plan.model import FleetPlan


@dataclass(frozen=True, kw_only=True)
class ManifestFile:
    """A file of Kubernetes objects: its name as findings say it, and its bytes."""

    name: str
    data: bytes


@dataclass(frozen=True, kw_only=True)
class ValuesFile:
    """A chart's values file, for a chart by name and version."""

    chart: str
    version: str
    name: str
    data: bytes


def check(
    plan: FleetPlan, manifests: Iterable[ManifestFile], values: Iterable[ValuesFile] = ()
) -> list[Finding]:
    """Everything wrong or doubtful in the files, in the order of files and lines.

    Args:
        plan: the stack's plan, which says what pools, classes and claims there are.
        manifests: files of Kubernetes objects. Kinds that have nothing to do with devices are passed over.
        values: values files of driver charts.
    """
    fleet = clusters(plan)
    found: list[Finding] = []
    files = list(manifests)
    objects = [
        resource
        for file in files
        for document in _documents(file.name, file.data, found)
        for resource in resources(document, found)
    ]
    _check_objects(fleet, objects)
    charts = list(values)
    for file in charts:
        found += _check_values(file, fleet)
    for resource in objects:
        found += [finding for finding in resource.subject.found if finding not in found]
    order = {name: index for index, name in enumerate([*(f.name for f in files), *(f.name for f in charts)])}
    return sorted(found, key=lambda finding: (order[finding.file], finding))


def _documents(name: str, data: bytes, found: list[Finding]) -> list[Document]:
    try:
        return read_documents(name, data)
    except Unreadable as unreadable:
        found.append(_unreadable(name, unreadable))
        return []


def _unreadable(name: str, unreadable: Unreadable) -> Finding:
    return Finding(
        file=name,
        line=unreadable.place.line,
        column=unreadable.place.column,
        severity="error",
        object="",
        path="",
        what=unreadable.what,
        fix=unreadable.fix,
    )


def _check_objects(fleet: tuple[Cluster, ...], objects: list[Resource]) -> None:
    minors = sorted({cluster.plan.kubernetes for cluster in fleet})
    device_objects = [check_object(item, minors) for item in objects if item.is_device_object]
    classes = [item for item in device_objects if item.kind == "DeviceClass"]
    claims = [item for item in device_objects if item.kind in ("ResourceClaim", "ResourceClaimTemplate")]
    selection = Selection(
        clusters=fleet,
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
    check_admin_access(fleet, claims, objects)
    known = references(fleet, claims)
    extended = {
        str(name): item.name for item in classes if (name := at(item.value, ("spec", "extendedResourceName")))
    }
    for pod in _pods(objects):
        check_claims(pod, known)
        check_scheduling(pod, fleet, selection.chosen, extended)


def _pods(objects: Sequence[Resource]) -> list[Pod]:
    return [pod for pod in map(pod_of, objects) if pod is not None]


def _check_values(file: ValuesFile, fleet: tuple[Cluster, ...]) -> list[Finding]:
    found: list[Finding] = []
    try:
        chart = find_chart(file.chart, file.version)
    except ChartUnknown as unknown:
        return [_unreadable(file.name, Unreadable(str(unknown)))]
    for document in _documents(file.name, file.data, found):
        name = f"values of {file.chart} {file.version}"
        check_chart_values(Subject(document=document, name=name, found=found), chart, fleet)
    return found
