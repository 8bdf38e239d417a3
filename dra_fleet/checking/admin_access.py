"""Claims that ask for devices which others use: the namespace must allow it by a label.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.checking.device_objects import requests
from dra_fleet.checking.resources import at, mapping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.checking.inventory import ClusterInventory
    from dra_fleet.checking.resources import FileObject

_LABEL = "resource.kubernetes.io/admin-access"


def check_admin_access(
    clusters: Iterable[ClusterInventory], claims: Iterable[FileObject], objects: Iterable[FileObject]
) -> None:
    """Tell of claims with admin access in namespaces that are not known to allow it."""
    labels = {
        namespace.name: dict(namespace.labels)
        for cluster in clusters
        for namespace in cluster.plan.namespaces
    } | {
        item.name: mapping(at(item.value, ("metadata", "labels")))
        for item in objects
        if item.kind == "Namespace" and item.api_version == "v1"
    }
    for claim in claims:
        for request in requests(claim):
            if request.value.get("adminAccess") is True:
                _check(claim, (*request.path, "adminAccess"), labels)


def _check(claim: FileObject, path: tuple[str | int, ...], labels: dict[str, dict[str, str]]) -> None:
    namespace = claim.namespace
    if not namespace or namespace not in labels:
        claim.subject.warning(
            *path,
            rule="admin-access",
            what=f"is refused unless namespace {namespace or '(whichever it is applied to)'} "
            f"carries the label "
            f"{_LABEL}=true, which neither the stack nor the files tell",
            fix="check the Namespace together with this file",
        )
    elif labels[namespace].get(_LABEL) != "true":
        claim.subject.error(
            *path,
            rule="admin-access",
            what=f"is refused: namespace {namespace} has no label {_LABEL}=true",
            got=str(labels[namespace].get(_LABEL, "")),
            allowed='"true"',
            fix=f'label the namespace {_LABEL}: "true"',
        )
