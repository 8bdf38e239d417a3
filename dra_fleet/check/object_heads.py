"""The heads of objects: kinds and groups that do not exist, names, owners, and objects that a file has twice.

Sources: https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/object-meta/ and
https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/ (resource.k8s.io).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.check.resources import DEVICE_KINDS, GROUP, at, mapping, sequence
from dra_fleet.core.findings.errors import choices, mistyped, nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.check.resources import FileObject

KINDS: Final = (*DEVICE_KINDS, "DeviceTaintRule", "ResourcePoolStatusRequest")
_REMOVED: Final = {
    "ResourceClass": "DeviceClass",
    "PodSchedulingContext": "",
    "ResourceClaimParameters": "",
    "ResourceClassParameters": "",
}
"""Kinds of resource.k8s.io/v1alpha2, which Kubernetes 1.31 and 1.32 removed, and what is in their place."""
_ALIKE: Final = 0.85
_OWNER: Final = ("apiVersion", "kind", "name", "uid")
_TAINT_RULE: Final[Mapping[tuple[str, ...], tuple[str, ...]]] = {
    ("spec",): ("deviceSelector", "taint"),
    ("spec", "deviceSelector"): ("driver", "pool", "device", "deviceClassName", "selectors"),
    ("spec", "taint"): ("key", "value", "effect", "timeAdded"),
}
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
        what = f"{GROUP} has no such kind since Kubernetes 1.32"
        instead = _REMOVED[item.kind]
        fix = f"kind: {instead}" if instead else "remove it"
    else:
        what, fix = f"unknown kind of {GROUP}", mistyped(item.kind, KINDS)
    allowed = choices(item.kind, KINDS)
    item.subject.error("kind", rule="object-refused", what=what, got=item.kind, allowed=allowed, fix=fix)


def _check_metadata(item: FileObject) -> None:
    if not item.name:
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
    for path, allowed in _TAINT_RULE.items():
        for field in sorted({*mapping(at(item.value, path))} - {*allowed}):
            item.subject.error(
                *path,
                field,
                rule="object-refused",
                what="unknown field; a server refuses it or drops it silently",
                got=field,
                allowed=", ".join(allowed),
                fix=mistyped(field, allowed),
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
