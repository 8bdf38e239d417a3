"""Content of a file: device-related objects with their heads, skipped objects, and unreadable parts."""

from __future__ import annotations

import re
from collections import Counter
from functools import reduce
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from dra_fleet.check.pods import containers, is_claim_field, names_extended, pods_of, taken
from dra_fleet.check.references import is_companion
from dra_fleet.check.resources import DEVICE_KINDS, GROUP, RENDER, TEMPLATE, at, mapping, resources, sequence
from dra_fleet.core.findings.errors import DROPPED_FIELD, choices, mistyped, nearest
from dra_fleet.core.findings.finding import FileFinding
from dra_fleet.core.yaml_text import Document, read_each
from dra_fleet.drivers.common.values import merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found
    from dra_fleet.core.yaml_text import Torn, Unreadable


_OWN_GROUP: Final = re.compile(r"[a-z0-9]+|[a-z0-9]+/\w+|([a-z0-9]+\.)*[a-z0-9]+\.k8s\.io/\w+")
"""The API versions of Kubernetes' own groups; those of its projects end in x-k8s.io.

https://kubernetes.io/docs/reference/using-api/#api-groups
"""


class Contents(Struct, frozen=True, kw_only=True):
    """Content of a file.

    Attributes:
        objects: The objects to check.
        others: The skipped objects.
        findings: Findings about the file.
        passed: The number of skipped documents by reason.
    """

    objects: list[FileObject] = field(default_factory=list["FileObject"])
    others: list[FileObject] = field(default_factory=list["FileObject"])
    findings: Found = field(default_factory=dict[FileFinding, None])
    passed: Counter[str] = field(default_factory=Counter[str])


def contents_of(name: str, data: bytes, *, is_named: bool) -> Contents:
    """Read a file.

    Args:
        name: what findings call it.
        data: its bytes.
        is_named: whether someone named it, so that all of it is meant to be objects.
    """
    contents = Contents()
    documents, torn = read_each(name, data)
    for item in torn:
        contents.findings[_torn(name, item)] = None
        contents.passed["not rendered" if TEMPLATE.search(item.text) else "unreadable"] += 1
    for document in documents:
        contents.findings.update(_repeated(name, document))
        if not is_named and not _is_object(document.value):
            contents.passed["no Kubernetes objects"] += 1
            continue
        for item in resources(document, contents.findings):
            why = _why_passed(item)
            if why:
                contents.passed[why] += 1
                contents.others.append(item)
            else:
                contents.objects.append(item)
    return contents


def documents_of(name: str, data: bytes, found: Found) -> list[Document]:
    """Return the documents of a values file, merged into one as Helm does, and report unreadable ones.

    Source: https://github.com/helm/helm/blob/v4.0.0/pkg/chart/v2/loader/load.go, LoadValues.
    """
    documents, torn = read_each(name, data)
    found |= dict.fromkeys(_torn(name, item) for item in torn)
    for document in documents:
        found |= _repeated(name, document)
    values = [mapping(document.value) for document in documents if mapping(document.value)]
    if len(values) < 2:  # noqa: PLR2004
        return documents
    places = {path: place for document in documents for path, place in document.places.items()}
    places[()] = documents[0].place(())
    return [Document(file=name, value=reduce(merged, values), places=places)]


def unreadable(name: str, problem: Unreadable) -> FileFinding:
    """Return the finding for an unreadable part."""
    return FileFinding(
        file=name,
        line=problem.place.line,
        column=problem.place.column,
        severity="error",
        object="",
        path="",
        rule="unreadable",
        what=problem.what,
        fix=problem.fix,
    )


def _repeated(name: str, document: Document) -> Found:
    return dict.fromkeys(unreadable(name, problem) for problem in document.repeated)


def _torn(name: str, item: Torn) -> FileFinding:
    mark = TEMPLATE.search(item.text)
    if mark is None:
        return unreadable(name, item.problem)
    return FileFinding(
        file=name,
        line=item.problem.place.line,
        column=item.problem.place.column,
        severity="warning",
        object="",
        path="",
        rule="not-rendered",
        what="is a template that was not rendered, and was not checked",
        fix=RENDER.get(mark[0][0], "put values in the places of the marks first"),
    )


def _is_object(value: object) -> bool:
    fields = mapping(value)
    is_device_object = fields.get("kind") in DEVICE_KINDS and "spec" in fields
    return "kind" in fields and ("apiVersion" in fields or is_device_object)


def _why_passed(item: FileObject) -> str:
    is_namespace = item.kind == "Namespace" and item.api_version == "v1"
    if item.is_device_object or is_companion(item) or is_namespace or has_wrong_kind(item):
        return ""
    pods = pods_of(item)
    asks = (names_extended(item) for pod in pods for _, item in containers(pod))
    if any(any(map(is_claim_field, pod.spec)) or any(taken(pod)) for pod in pods) or any(asks):
        return ""
    return "ask for no devices" if pods or not is_foreign(item) else f"kind {item.kind} not known"


def is_foreign(item: FileObject) -> bool:
    """Return True if the object's API group is not Kubernetes' own: it may create pods and claims."""
    return not _OWN_GROUP.fullmatch(item.api_version)


# Sources: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ and
# https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/ (resource.k8s.io).

KINDS: Final = (*DEVICE_KINDS, "DeviceTaintRule", "ResourcePoolStatusRequest")
_REMOVED: Final = {
    "ResourceClass": (
        "1.31",
        f"apiVersion: {GROUP}/v1 and kind: DeviceClass, which selects by device.driver instead of driverName",
    ),
    "PodSchedulingContext": ("1.32", "remove it"),
    "ResourceClaimParameters": ("1.31", "remove it"),
    "ResourceClassParameters": ("1.31", "remove it"),
}
"""Kinds of the alpha versions, each with the Kubernetes version that removed it, and the fix.

Source: https://github.com/kubernetes/kubernetes/tree/v1.31.0/staging/src/k8s.io/api/resource (v1alpha3).
"""
_ALIKE: Final = 0.85
_OWNER: Final = ("apiVersion", "kind", "name", "uid")
_TAINT_RULE: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("spec",): ("deviceSelector", "taint"),
    ("spec", "deviceSelector"): ("driver", "pool", "device"),
    ("spec", "taint"): ("key", "value", "effect", "timeAdded"),
}
_FIRST_TAINT_RULE: Final = f"{GROUP}/v1alpha3", ("deviceClassName", "selectors")
"""The version of DeviceTaintRule that also selects by class and CEL, in Kubernetes 1.33 and 1.34."""
_EFFECTS: Final = ("None", "NoSchedule", "NoExecute")


def has_wrong_kind(resource: FileObject) -> bool:
    """Return whether an object has a kind or group that is meant for resource.k8s.io and does not exist."""
    group = resource.api_version.partition("/")[0]
    if group == GROUP:
        return resource.kind not in KINDS and not resource.kind.endswith("List")
    is_meant = resource.kind in DEVICE_KINDS and bool(nearest(group, [GROUP], least=_ALIKE))
    return is_meant and "/" in resource.api_version


def check_heads(objects: Iterable[FileObject]) -> None:
    """Report what the API server refuses of the heads of objects, and objects that one file has twice."""
    seen: dict[tuple[object, ...], FileObject] = {}
    for item in objects:
        _check_kind(item)
        _check_metadata(item)
        if item.kind == "DeviceTaintRule" and item.api_version.startswith(f"{GROUP}/"):
            _check_taint_rule(item)
        key = (item.subject.document.file, item.api_version, *item.key)
        first = seen.setdefault(key, item)
        if first is not item and item.name and first.value.get("spec") != item.value.get("spec"):
            item.subject.warning(
                "metadata",
                "name",
                rule="object-twice",
                what="the file has this object twice with different specs; the last applied object stays",
                got=item.name,
                fix="choose another name, or remove one",
            )


def _check_kind(item: FileObject) -> None:
    if not has_wrong_kind(item):
        return
    group, _, version = item.api_version.partition("/")
    if group != GROUP:
        item.subject.error(
            "apiVersion",
            rule="object-refused",
            what="the API server does not serve this group",
            got=item.api_version,
            allowed=GROUP,
            fix=f"apiVersion: {GROUP}/{version}",
        )
        return
    if item.kind in _REMOVED:
        since, fix = _REMOVED[item.kind]
        what = f"{GROUP} has no such kind since Kubernetes {since}"
    else:
        what, fix = f"unknown kind of {GROUP}", mistyped(item.kind, KINDS)
    allowed = choices(item.kind, KINDS)
    item.subject.error("kind", rule="object-refused", what=what, got=item.kind, allowed=allowed, fix=fix)


def _check_metadata(item: FileObject) -> None:
    is_stored = not item.api_version.startswith("config.")  # a program reads its configuration from a file
    if is_stored and not item.name:
        item.subject.error(
            rule="object-refused", what="metadata.name or metadata.generateName is required", fix="add a name"
        )
    for index, owner in enumerate(sequence(at(item.value, ("metadata", "ownerReferences")))):
        missing = [field for field in _OWNER if not mapping(owner).get(field)]
        if missing:
            item.subject.error(
                *("metadata", "ownerReferences", index),
                rule="object-refused",
                what=f"{', '.join(missing)} required in an owner reference",
                fix="let the owner's controller write it, or remove it",
            )


def _check_taint_rule(item: FileObject) -> None:
    first, others = _FIRST_TAINT_RULE
    for path, allowed in _TAINT_RULE.items():
        passed = others if item.api_version == first and path[-1] == "deviceSelector" else ()
        for unknown in sorted({*mapping(at(item.value, path))} - {*allowed, *passed}):
            item.subject.error(
                *path,
                unknown,
                rule="object-refused",
                what=DROPPED_FIELD,
                got=unknown,
                allowed=", ".join(allowed),
                fix="" if unknown in others else mistyped(unknown, allowed),
            )
    taint = mapping(at(item.value, ("spec", "taint")))
    if not taint.get("key"):
        item.subject.error("spec", rule="object-refused", what="spec.taint.key is required", fix="add taint")
    elif taint.get("effect") not in _EFFECTS:
        item.subject.error(
            *("spec", "taint", "effect"),
            rule="object-refused",
            what="unknown effect of a device taint",
            got=str(taint.get("effect", "")),
            allowed=", ".join(_EFFECTS),
        )
