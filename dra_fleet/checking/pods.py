"""Pods and the pods of workloads: how they refer to claims, and what they ask of the device plugin.

Rules: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ and core/v1 validation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dra_fleet.checking.resources import POD_PATHS, at, mapping, sequence
from dra_fleet.findings.errors import choices, mistyped
from dra_fleet.kubernetes.devices.names import dns_label

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.checking.references import References
    from dra_fleet.checking.resources import Resource
    from dra_fleet.yaml_text import Path

_NAME, _TEMPLATE = "resourceClaimName", "resourceClaimTemplateName"
_COPIES = {
    "Deployment": ("spec", "replicas"),
    "ReplicaSet": ("spec", "replicas"),
    "StatefulSet": ("spec", "replicas"),
    "Job": ("spec", "parallelism"),
    "CronJob": ("spec", "jobTemplate", "spec", "parallelism"),
}
_MOST_CONSUMERS = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class Pod:
    """A pod in a file: the object it is in, the path of its spec, and the claims it lists by name there."""

    resource: Resource
    path: Path
    spec: dict[str, Any]
    claims: Mapping[str, tuple[str, str]]
    """Per name in the pod: the field (`resourceClaimName`, …) and the object's name."""

    @property
    def namespace(self) -> str:
        """The namespace, empty where the file leaves it to whoever applies it."""
        return self.resource.namespace


def pod_of(resource: Resource) -> Pod | None:
    """The pod that an object is or makes, if it is one of the known kinds."""
    base = POD_PATHS.get(resource.kind)
    if base is None:
        return None
    spec = mapping(at(resource.value, (*base, "spec")))
    claims: dict[str, tuple[str, str]] = {}
    for item in map(mapping, sequence(spec.get("resourceClaims"))):
        for field in (_NAME, _TEMPLATE):
            if isinstance(item.get(field), str):
                claims[str(item.get("name"))] = (field, str(item[field]))
    return Pod(resource=resource, path=(*base, "spec"), spec=spec, claims=claims)


def check_claims(pod: Pod, references: References) -> None:
    """Tell what is wrong with a pod's claims and with what its containers take of them."""
    names: set[str] = set()
    for index, item in enumerate(sequence(pod.spec.get("resourceClaims"))):
        _check_entry(pod, (*pod.path, "resourceClaims", index), mapping(item), names)
        _check_reference(pod, (*pod.path, "resourceClaims", index), mapping(item), references)
    used = _check_containers(pod, names, references)
    for index, item in enumerate(sequence(pod.spec.get("resourceClaims"))):
        name = mapping(item).get("name")
        if isinstance(name, str) and name not in used:
            pod.resource.subject.warning(
                *pod.path,
                "resourceClaims",
                index,
                what=f"no container takes claim {name}: its devices are held and nobody sees them",
                fix=f"resources: {{claims: [{{name: {name}}}]}} in a container",
            )
    if pod.claims and pod.spec.get("nodeName"):
        pod.resource.subject.error(
            *pod.path,
            "nodeName",
            what="goes past the scheduler, which alone allocates claims; the pod would never start",
            got=str(pod.spec["nodeName"]),
            fix="use nodeSelector instead",
        )
    _check_copies(pod)


def containers(pod: Pod) -> Iterator[tuple[Path, dict[str, Any]]]:
    """The pod's containers, also those that run first, with their paths."""
    for kind in ("initContainers", "containers"):
        for index, item in enumerate(sequence(pod.spec.get(kind))):
            yield (*pod.path, kind, index), mapping(item)


def copies_of(pod: Pod) -> tuple[Path, int] | None:
    """How many of a workload's pods run at the same time and where it says so; None where nothing says it."""
    path = _COPIES.get(pod.resource.kind)
    copies = at(pod.resource.value, path) if path else None
    if path is None or not isinstance(copies, int) or isinstance(copies, bool):
        return None
    return path, copies


def _check_entry(pod: Pod, path: Path, item: Mapping[str, Any], names: set[str]) -> None:
    subject = pod.resource.subject
    name = item.get("name")
    problem = dns_label(name) if isinstance(name, str) else "is required"
    if problem:
        subject.error(*path, "name", what=problem, got=str(name or ""))
    elif name in names:
        subject.error(*path, "name", what="is the name of another claim of the pod", got=str(name))
    names.add(str(name))
    if "source" in item:
        subject.error(
            *path,
            "source",
            what="unknown field: `source` was removed in Kubernetes 1.31",
            fix=f"write {' or '.join(mapping(item['source']) or [_NAME])} directly under the claim",
        )
        return
    unknown = sorted({*item} - {"name", _NAME, _TEMPLATE})
    for key in unknown:
        subject.error(
            *path,
            key,
            what="unknown field; a server refuses it or drops it without a word",
            allowed=f"name, {_NAME}, {_TEMPLATE}",
            fix=mistyped(key, ["name", _NAME, _TEMPLATE]),
        )
    given = [field for field in (_NAME, _TEMPLATE) if item.get(field)]
    if len(given) != 1 and not unknown:
        what = (
            f"at most one of `{_NAME}` or `{_TEMPLATE}` may be specified"
            if given
            else (f"must specify one of: `{_NAME}`, `{_TEMPLATE}`")
        )
        subject.error(*path, what=what, allowed="exactly one of the two")


def _check_reference(pod: Pod, path: Path, item: Mapping[str, Any], references: References) -> None:
    for field, kind in ((_NAME, "ResourceClaim"), (_TEMPLATE, "ResourceClaimTemplate")):
        name = item.get(field)
        if not isinstance(name, str):
            continue
        problem = references.problem(kind, name, pod.namespace)
        if problem is not None:
            known = references.names(kind)
            pod.resource.subject.error(
                *path,
                field,
                what=problem.what,
                got=name,
                allowed=choices(name, known),
                fix=problem.fix or mistyped(name, known),
            )


def _check_containers(pod: Pod, names: set[str], references: References) -> set[str]:
    used: set[str] = set()
    subject = pod.resource.subject
    for path, container in containers(pod):
        seen: set[tuple[str, str]] = set()
        for index, item in enumerate(sequence(at(container, ("resources", "claims")))):
            where = (*path, "resources", "claims", index)
            name, request = str(mapping(item).get("name", "")), str(mapping(item).get("request") or "")
            used.add(name)
            if name not in names:
                subject.error(
                    *where,
                    "name",
                    what="must be one of the names in pod.spec.resourceClaims",
                    got=name,
                    allowed=choices(name, names),
                    fix=mistyped(name, names) or "list the claim under resourceClaims of the pod",
                )
            if (name, request) in seen or (name, "") in seen:
                subject.error(*where, what="takes the same claim twice", got=name)
            seen.add((name, request))
            if request:
                _check_request(pod, (*where, "request"), request, pod.claims.get(name), references)
    return used


def _check_request(
    pod: Pod, path: Path, request: str, claim: tuple[str, str] | None, references: References
) -> None:
    subject = pod.resource.subject
    if (problem := dns_label(request)) is not None:
        fix = f"name the request alone: {request.partition('/')[0]}" if "/" in request else ""
        subject.error(*path, what=problem, got=request, fix=fix)
        return
    known = references.requests(claim[1]) if claim is not None else None
    if known is not None and request not in known:
        subject.error(
            *path,
            what=f"is no request of claim {claim[1] if claim else ''}",
            got=request,
            allowed=", ".join(sorted(known)),
            fix=mistyped(request, known),
        )


def _check_copies(pod: Pod) -> None:
    path = _COPIES.get(pod.resource.kind)
    copies = at(pod.resource.value, path) if path else None
    shared = [(name, target) for name, (field, target) in pod.claims.items() if field == _NAME]
    one_pod_each = pod.resource.kind == "DaemonSet" or (isinstance(copies, int) and copies > 1)
    if not shared or not one_pod_each:
        return
    many = f"all {copies} pods" if isinstance(copies, int) else "the pods of all nodes"
    where = path or pod.path
    if isinstance(copies, int) and copies > _MOST_CONSUMERS:
        what = (
            f"a claim serves at most {_MOST_CONSUMERS} pods, this asks for {copies} of claim {shared[0][1]}"
        )
        pod.resource.subject.error(*where, what=what, fix=f"use {_TEMPLATE}")
        return
    pod.resource.subject.warning(
        *where,
        what=f"{many} share the devices of the one claim {shared[0][1]}, and run on the node that has them",
        got=str(copies) if isinstance(copies, int) else "",
        fix=f"use {_TEMPLATE} to give each pod its own",
    )
