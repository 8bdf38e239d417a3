"""Objects beside claims and pods that decide about devices: ComputeDomains, and workload grouping.

Sources: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, api/nvidia.com/resource/v1beta1;
https://kubernetes.io/docs/concepts/workloads/workload-api/.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.checking.references import Claim
from dra_fleet.checking.resources import at, mapping

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dra_fleet.checking.inventory import Cluster
    from dra_fleet.checking.resources import Resource

_DOMAIN_GROUP = "resource.nvidia.com/"
_TEMPLATE = ("spec", "channel", "resourceClaimTemplate", "name")
_CHANNEL = "channel"
_SERVED = {
    "scheduling.k8s.io/v1alpha1": ("1.35", "1.35"),
    "scheduling.k8s.io/v1alpha2": ("1.36", "1.36"),
    "scheduling.k8s.io/v1alpha3": ("1.37", "1.37"),
    "scheduling.k8s.io/v1beta1": ("1.37", "1.42"),
}
"""The first and the last minor that knows each version of the Workload API; none has it on by default."""


def is_compute_domain(resource: Resource) -> bool:
    """Whether an object is a ComputeDomain."""
    return resource.kind == "ComputeDomain" and resource.api_version.startswith(_DOMAIN_GROUP)


def claims_of_domains(objects: Iterable[Resource]) -> list[Claim]:
    """The templates that the driver's controller makes for ComputeDomains."""
    return [
        Claim(
            kind="ResourceClaimTemplate",
            name=str(at(item.value, _TEMPLATE)),
            namespace=item.namespace,
            requests=frozenset({_CHANNEL}),
        )
        for item in objects
        if is_compute_domain(item) and isinstance(at(item.value, _TEMPLATE), str)
    ]


def check_companions(objects: Iterable[Resource], claims: Iterable[Resource], cluster: Cluster) -> None:
    """Tell what is wrong with ComputeDomains and with objects of the Workload API.

    Args:
        objects: all objects of the files.
        claims: the claims and templates among them.
        cluster: the cluster that they are for.
    """
    declared = {(item.namespace, item.name) for item in claims if item.kind == "ResourceClaimTemplate"}
    for item in objects:
        if is_compute_domain(item):
            _check_domain(item, declared)
        elif item.api_version.startswith("scheduling.k8s.io/v1") and item.kind in ("Workload", "PodGroup"):
            _check_grouping(item, cluster.plan.kubernetes)


def _check_domain(item: Resource, declared: set[tuple[str, str]]) -> None:
    name = at(item.value, _TEMPLATE)
    if not isinstance(name, str) or not name:
        item.subject.error(*_TEMPLATE, what="is required: the template that the pods of the domain use")
    elif (item.namespace, name) in declared:
        item.subject.error(
            *_TEMPLATE,
            what="is made by the driver's controller, and the files declare a template of that name too",
            got=name,
            fix="remove the ResourceClaimTemplate",
        )
    nodes = mapping(item.value.get("spec")).get("numNodes")
    if nodes is None:
        item.subject.warning(
            "spec",
            what="has no numNodes, which charts before 0.4.0 and the GPU Operator's own definition require",
            fix="numNodes: 0",
        )
    elif nodes != 0:
        item.subject.warning(
            "spec",
            "numNodes",
            what="makes every pod wait until so many nodes have joined, and cannot be changed later",
            got=str(nodes),
            fix="numNodes: 0, with which nodes join as pods come",
        )


def _check_grouping(item: Resource, minor: str) -> None:
    known = _SERVED.get(item.api_version)
    number = int(minor.partition(".")[2])
    if known is None or not int(known[0].partition(".")[2]) <= number <= int(known[1].partition(".")[2]):
        item.subject.error(
            "apiVersion",
            what=f"is not served by Kubernetes {minor}",
            got=item.api_version,
            allowed=", ".join(
                version
                for version, (first, last) in _SERVED.items()
                if int(first.partition(".")[2]) <= number <= int(last.partition(".")[2])
            ),
            fix="group pods with Kueue, or use a cluster whose minor serves it",
        )
        return
    item.subject.warning(
        "apiVersion",
        what=f"is served by Kubernetes {minor} only where GenericWorkload and the API were turned on, which "
        "managed clusters do not",
        got=item.api_version,
        fix="group pods with Kueue",
    )
