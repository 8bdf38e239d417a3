"""Claims that ask for devices which others use: their namespace must allow it, and their driver prepare them.

Source: https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#admin-access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dra_fleet.check.device_objects import class_name, devices_path, requests
from dra_fleet.check.resources import at, mapping, sequence
from dra_fleet.proof.answer.admin_access import AdminRequest, refused_admin_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.resources import FileObject

_LABEL = "resource.kubernetes.io/admin-access"


def check_admin_access(
    cluster: ClusterInventory,
    claims: Iterable[FileObject],
    objects: Sequence[FileObject],
    declared: Mapping[str, Sequence[str]],
) -> None:
    """Tell of claims with admin access that a cluster or its driver is not known to allow.

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
            if request.value.get("adminAccess") is not True:
                continue
            path = (*request.path, "adminAccess")
            _check(claim, path, labels)
            wanted = class_name(request)
            asking = AdminRequest(
                name=request.result_name,
                class_name=wanted,
                expressions=declared.get(wanted, cluster.classes.get(wanted, ())),
                publishers=publishers.get(wanted, ()),
                configs=configs,
            )
            for what, fix in refused_admin_access(asking, cluster.drivers):
                claim.subject.error(*path, rule="admin-access", what=what, got="true", fix=fix)


def _publishers(configs: Sequence[Any]) -> list[str]:
    return [str(at(item, ("opaque", "driver"))) for item in configs]


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
