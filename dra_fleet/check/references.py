"""Claims and templates that pods refer to, and the objects beside them that decide about devices."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct, field

from dra_fleet import clouds, drivers
from dra_fleet.check.device_objects import all_expressions, class_name, config_path, requests
from dra_fleet.check.resources import at, keyed, mapping, may_render_to, sequence
from dra_fleet.kubernetes.cel import asked
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory
    from dra_fleet.check.resources import FileObject, Key
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.kubernetes.devices.claim import ClaimSpec
    from dra_fleet.model.plan import ClusterPlan


class KnownClaim(Struct, frozen=True, kw_only=True):
    """A claim or template: who made it, where, and what its requests are called."""

    kind: str
    name: str
    namespace: str
    requests: frozenset[str]
    drivers: frozenset[str] | None = None
    """The drivers that its classes ask for; None where that is not known."""
    has_strategy: bool = False
    """True if its configuration names a sharing strategy, such as MPS."""
    generated: bool = False
    """True if the stack changes the name."""
    keep: str = ""
    """The setting by which it would have this very name; empty for that of a claim."""


class Wrong(Struct, frozen=True, kw_only=True):
    """Reason why a reference is wrong."""

    what: str
    fix: str = ""
    is_certain: bool = True


class References(Struct, frozen=True, kw_only=True, dict=True):
    """All claims and templates that are known, and the objects of unknown kinds that may create others."""

    claims: list[KnownClaim] = field(default_factory=list[KnownClaim])
    makers: Sequence[FileObject] = ()

    def names(self, kind: str, namespace: str) -> list[str]:
        """Return the names of one kind that a pod in a namespace may write; an empty namespace may be any."""
        return sorted(
            {
                claim.name
                for claim in self.claims
                if claim.kind == kind
                and not claim.generated
                and (not namespace or claim.namespace in ("", namespace))
            }
        )

    def of(self, key: Key) -> KnownClaim | None:
        """Return the claim or template that a pod refers to; None if unknown."""
        return keyed(self._by_key, key)

    @cached_property
    def _by_key(self) -> dict[Key, KnownClaim]:
        return {(claim.kind, claim.namespace, claim.name): claim for claim in self.claims}

    def problem(self, kind: str, name: str, namespace: str) -> Wrong | None:
        """Return the problem of a reference from a pod in a namespace; an empty namespace may be any."""
        known = [claim for claim in self.claims if claim.kind == kind and claim.name == name]
        if not known:
            other = next((claim for claim in self.claims if claim.name == name), None)
            if other is not None:
                return Wrong(what=f"is not a {kind}; {name} is a {other.kind}")
            return self._doubt(kind, name, namespace) or Wrong(
                what=f"is not a {kind} of the stack or of the files checked"
            )
        if all(claim.generated for claim in known):
            return Wrong(
                what="is a template of the stack whose name gets a suffix with every change",
                fix=f"set {known[0].keep or f'claims.{name}.external: true'} in the stack file",
            )
        if namespace and not any(claim.namespace in ("", namespace) for claim in known):
            places = ", ".join(sorted({claim.namespace for claim in known}))
            return Wrong(
                what=f"is in namespace {places}; a pod in {namespace} cannot use it",
                fix=f"namespace: {places}",
            )
        return None

    def _doubt(self, kind: str, name: str, namespace: str) -> Wrong | None:
        """Return why an unknown claim may exist: under a name that was not rendered, or made by an object."""
        for claim in self.claims:
            if claim.kind == kind and may_render_to(claim.name, name):
                return Wrong(
                    what=f"cannot be checked: it may be {kind} {claim.name}, which was not rendered",
                    fix="render that file first",
                    is_certain=False,
                )
        for maker in self.makers:
            if maker.name == name and (not namespace or maker.namespace in ("", namespace)):
                return Wrong(
                    what=f"cannot be checked: {maker.kind} {name} of the files may create this {kind}",
                    fix=f"check the {kind} that it creates together with this file",
                    is_certain=False,
                )
        return None


def _has_strategy(parameters: Iterable[object]) -> bool:
    return any(at(item, ("sharing", "strategy")) for item in parameters)


def references(
    clusters: Iterable[ClusterInventory],
    resources: Iterable[FileObject],
    classes: Mapping[str, Sequence[str]],
) -> References:
    """Collect the claims of the stack and of the files; `classes` are the expressions of all classes."""
    found: list[KnownClaim] = []
    for cluster in clusters:
        found += [
            KnownClaim(
                kind="ResourceClaimTemplate",
                name=template.name,
                namespace=template.namespace,
                requests=_names(template.spec),
                drivers=_drivers_of_spec(template.spec, classes),
                generated=not template.external,
            )
            for template in cluster.plan.templates
        ]
        found += [
            KnownClaim(
                kind="ResourceClaimTemplate",
                name=domain.template,
                namespace=domain.namespace,
                requests=frozenset({domain.channel_request}),
                drivers=_drivers([domain.channel_class], (), classes),
                generated=not domain.external,
                keep=f"computeDomains.{domain.name}.template: {domain.template}",
            )
            for domain in cluster.plan.compute_domains
        ]
        found += [
            KnownClaim(
                kind="ResourceClaim",
                name=claim.name,
                namespace=claim.namespace,
                requests=_names(claim.spec),
                drivers=_drivers_of_spec(claim.spec, classes),
                has_strategy=_has_strategy(item.opaque.parameters for item in claim.spec.devices.config),
            )
            for claim in cluster.plan.claims
        ]
    found += [
        KnownClaim(
            kind=resource.kind,
            name=resource.name,
            namespace=resource.namespace,
            requests=frozenset(request.name for request in requests(resource)),
            drivers=_drivers(map(class_name, requests(resource)), all_expressions(resource), classes),
            has_strategy=_has_strategy(
                at(item, ("opaque", "parameters"))
                for item in sequence(at(resource.value, (*config_path(resource), "config")))
            ),
        )
        for resource in resources
        if resource.kind in ("ResourceClaim", "ResourceClaimTemplate")
    ]
    return References(claims=found)


def _drivers_of_spec(spec: ClaimSpec, classes: Mapping[str, Sequence[str]]) -> frozenset[str] | None:
    asks = [
        part
        for request in spec.devices.requests
        for part in (request.exactly, *(request.first_available or ()))
    ]
    return _drivers([part.device_class_name for part in asks if part is not None], (), classes)


def _drivers(
    names: Iterable[str], texts: Iterable[str], classes: Mapping[str, Sequence[str]]
) -> frozenset[str] | None:
    """Return the drivers that classes and expressions name; None if a class is unknown or names none."""
    found = {name for text in texts for name in asked(text).drivers}
    for name in names:
        of_class = {driver for text in classes.get(name, ()) for driver in asked(text).drivers}
        if not of_class:
            return None
        found |= of_class
    return frozenset(found)


def _names(spec: ClaimSpec) -> frozenset[str]:
    return frozenset(request.name for request in spec.devices.requests)


# Sources: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, api/nvidia.com/resource/v1beta1;
# https://kubernetes.io/docs/concepts/workloads/workload-api/;
# https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/#device-taints-and-tolerations.

_TEMPLATE = ("spec", "channel", "resourceClaimTemplate", "name")
_CHANNEL = "channel"


class _Served(Struct, frozen=True):
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
    "Workload": "group pods with Kueue",
    "PodGroup": "group pods with Kueue",
    "DeviceTaintRule": "cordon the node, or write apiVersion: resource.k8s.io/v1 on Kubernetes 1.37 or later",
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
            fix=_version_fix(item, served, cluster),
        )
    elif not _is_on(item, found, cluster):
        default = next((version for version in served if version.is_default), None)
        item.subject.warning(
            "apiVersion",
            rule="api-version",
            what=f"is served by Kubernetes {minor} only where the API and its feature gate were turned on, "
            "which managed clusters do not",
            got=item.api_version,
            fix=f"apiVersion: {default.version}" if default is not None else _WITHOUT[item.kind],
        )


def _is_on(item: FileObject, version: _Served, cluster: ClusterPlan) -> bool:
    return version.is_default or (item.kind in _GROUPING and _has_gangs(cluster))


def _version_fix(item: FileObject, served: Sequence[_Served], cluster: ClusterPlan) -> str:
    """Return the fix for a version that is not served; the version to write may be off by default."""
    if not served:
        return _WITHOUT[item.kind]
    is_on = _is_on(item, served[-1], cluster)
    return f"apiVersion: {served[-1].version}" + (
        "" if is_on else ", if its API and feature gate were turned on; managed clusters do not"
    )
