"""Objects beside claims and pods that decide about devices: ComputeDomains, workload grouping, device taints.

Sources: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, api/nvidia.com/resource/v1beta1;
https://kubernetes.io/docs/concepts/workloads/workload-api/;
https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dra_fleet import clouds, drivers
from dra_fleet.check.references import KnownClaim
from dra_fleet.check.resources import at, mapping, sequence
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.model.plan import ClusterPlan

_TEMPLATE = ("spec", "channel", "resourceClaimTemplate", "name")
_CHANNEL = "channel"


@dataclass(frozen=True)
class _Served:
    """The first and last minor that knows a version of an API, and whether it is on by default."""

    version: str
    first: int
    last: int
    is_default: bool = False

    def knows(self, minor: int) -> bool:
        return self.first <= minor <= self.last


_WORKLOADS = (
    _Served("scheduling.k8s.io/v1alpha1", 35, 35),
    _Served("scheduling.k8s.io/v1alpha2", 36, 36),
    _Served("scheduling.k8s.io/v1alpha3", 37, 37),
    _Served("scheduling.k8s.io/v1beta1", 37, 42),
)
_SERVED = {
    "Workload": _WORKLOADS,
    "PodGroup": _WORKLOADS,
    "DeviceTaintRule": (
        _Served("resource.k8s.io/v1alpha3", 33, 38),
        _Served("resource.k8s.io/v1beta2", 36, 41),
        _Served("resource.k8s.io/v1", 37, 99, is_default=True),
    ),
}
_WITHOUT = {
    "Workload": "group pods with Kueue, or use a cluster whose minor serves it",
    "PodGroup": "group pods with Kueue, or use a cluster whose minor serves it",
    "DeviceTaintRule": "taint devices where the minor serves it, or cordon the node",
}


_GROUPING = ("Workload", "PodGroup")


def _has_gangs(cluster: ClusterPlan) -> bool:
    """Return True if the stack file names all feature gates that gangs need as on."""
    gangs = kubernetes_facts().gang(cluster.kubernetes)
    on = clouds.named(cluster.cloud).feature_gates(cluster.settings)
    return gangs is not None and {*gangs.gates} <= {*on}


def is_compute_domain(resource: FileObject) -> bool:
    """Return whether an object is a ComputeDomain."""
    group = resource.api_version.partition("/")[0]
    return resource.kind == "ComputeDomain" and any(driver.api_group == group for driver in drivers.known())


_QUOTA = ".deviceclass.resource.k8s.io/devices"


def class_mentions(resource: FileObject) -> Iterator[tuple[Path, str]]:
    """Return the classes that quotas and Kueue's configuration name, with their places.

    Sources: https://kubernetes.io/docs/concepts/policy/resource-quotas/ and
    https://kueue.sigs.k8s.io/docs/tasks/manage/administer_cluster_quotas/ (deviceClassMappings).
    """
    if (resource.api_version, resource.kind) == ("v1", "ResourceQuota"):
        for key in mapping(at(resource.value, ("spec", "hard"))):
            if key.endswith(_QUOTA):
                yield ("spec", "hard", key), key.removesuffix(_QUOTA)
    if resource.kind == "Configuration" and resource.api_version.startswith("config.kueue.x-k8s.io/"):
        path: Path = ("resources", "deviceClassMappings")
        for index, item in enumerate(sequence(at(resource.value, path))):
            for number, name in enumerate(sequence(mapping(item).get("deviceClassNames"))):
                yield (*path, index, "deviceClassNames", number), str(name)


def is_companion(resource: FileObject) -> bool:
    """Return whether this module checks an object."""
    if next(class_mentions(resource), None) is not None:
        return True
    group = resource.api_version.partition("/")[0]
    versions = _SERVED.get(resource.kind, ())
    return is_compute_domain(resource) or any(item.version.partition("/")[0] == group for item in versions)


def claims_of_domains(objects: Iterable[FileObject]) -> list[KnownClaim]:
    """Return the templates that the driver's controller creates for ComputeDomains."""
    return [
        KnownClaim(
            kind="ResourceClaimTemplate",
            name=str(at(item.value, _TEMPLATE)),
            namespace=item.namespace,
            requests=frozenset({_CHANNEL}),
        )
        for item in objects
        if is_compute_domain(item) and isinstance(at(item.value, _TEMPLATE), str)
    ]


def check_companions(
    objects: Iterable[FileObject], claims: Iterable[FileObject], cluster: ClusterInventory
) -> None:
    """Check ComputeDomains, the Workload API and device taints.

    Args:
        objects: all objects of the files.
        claims: the claims and templates among them.
        cluster: the cluster that they are for.
    """
    declared = {(item.namespace, item.name) for item in claims if item.kind == "ResourceClaimTemplate"}
    for item in objects:
        if is_compute_domain(item):
            _check_domain(item, declared, cluster)
        elif item.kind in _SERVED and is_companion(item):
            _check_served(item, cluster.plan)


def _check_domain(item: FileObject, declared: set[tuple[str, str]], cluster: ClusterInventory) -> None:
    group = item.api_version.partition("/")[0]
    owner = next(driver for driver in drivers.known() if driver.api_group == group)
    for refusal in owner.object_refusals(mapping(item.value.get("spec")), cluster.drivers):
        item.subject.refuse(refusal, rule="compute-domain")
    name = at(item.value, _TEMPLATE)
    if (item.namespace, name) in declared:
        item.subject.error(
            *_TEMPLATE,
            rule="compute-domain",
            what="is created by the driver's controller, and the files also declare a template of that name",
            got=str(name),
            fix="remove the ResourceClaimTemplate",
        )


def _check_served(item: FileObject, cluster: ClusterPlan) -> None:
    minor = cluster.kubernetes
    number = int(minor.partition(".")[2])
    served = [version for version in _SERVED[item.kind] if version.knows(number)]
    found = next((version for version in served if version.version == item.api_version), None)
    if found is None:
        item.subject.error(
            "apiVersion",
            rule="api-version",
            what=f"is not served by Kubernetes {minor}",
            got=item.api_version,
            allowed=", ".join(version.version for version in served),
            fix=_WITHOUT[item.kind],
        )
    elif not found.is_default and not (item.kind in _GROUPING and _has_gangs(cluster)):
        item.subject.warning(
            "apiVersion",
            rule="api-version",
            what=f"is served by Kubernetes {minor} only where the API and its feature gate were turned on, "
            "which managed clusters do not",
            got=item.api_version,
            fix=_WITHOUT[item.kind],
        )
