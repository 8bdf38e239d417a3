"""Pods and the pods of workloads: how they refer to claims, and what they ask of the device plugin.

Rules: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ and core/v1 validation.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.check.resources import at, mapping, sequence
from dra_fleet.core.findings.errors import DROPPED_FIELD, choices, mistyped
from dra_fleet.kubernetes.devices.names import dns_label
from dra_fleet.kubernetes.pod_templates import VIRTUAL_MACHINES, has_pod_templates, places, pod_templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.check.references import References
    from dra_fleet.check.resources import FileObject, Key
    from dra_fleet.core.yaml_text import Path

NAMED_CLAIM, _TEMPLATE = "resourceClaimName", "resourceClaimTemplateName"
_CLASSES = ("resourceClassName", "deviceClassName")
_OF_CLASS = f"write {_TEMPLATE}, the name of a ResourceClaimTemplate that requests the class"
_KINDS = {NAMED_CLAIM: "ResourceClaim", _TEMPLATE: "ResourceClaimTemplate"}
_MOST_CONSUMERS = 256
_OF_MACHINES = ("domain", "networks")
"""Parts of a KubeVirt machine whose devices name claims: https://kubevirt.io/api-reference/main/definitions.html."""
_OF_NETWORKS = re.compile(
    r"(?i)net|nic|rdma|roce|efa|vlan|sriov|vf|infiniband|\bi[bp]\b|cni|ipam|eth|interface"
)
"""Names of claims for network devices, which a driver gives to the whole pod."""
_MODEL = "model"
"""Field with the one container of a pod, beside the fields of the pod's spec.

Source: https://kserve.github.io/website/docs/reference/crd-api#predictorspec.
"""


_RELEASE = re.compile(r"helm\.toolkit\.fluxcd\.io/\w+")
_VALUES: Path = ("spec", "values")


class Pod(Struct, frozen=True, kw_only=True, eq=False):
    """A pod in a file: the object it is in, the path of its spec, and the claims it lists by name there."""

    resource: FileObject
    path: Path
    spec: dict[str, Any]
    claims: Mapping[str, tuple[str, str]]
    """Per name in the pod: the field (`resourceClaimName`, …) and the object's name."""
    of_chart: tuple[Path, ...] | None = None
    """The places of the containers in a chart's values; None if the containers are in the spec."""

    @property
    def keys(self) -> dict[str, Key]:
        """Per name in the pod the claim or template that is meant."""
        return {
            name: (_KINDS[field], self.namespace, target) for name, (field, target) in self.claims.items()
        }

    @property
    def is_running(self) -> bool:
        """True if the pod was read from a cluster, where the scheduler wrote its node into it."""
        return "status" in self.resource.value or "uid" in mapping(self.resource.value.get("metadata"))

    @property
    def namespace(self) -> str:
        """The namespace, empty if the file leaves it open."""
        return self.resource.namespace


def pods_of(resource: FileObject) -> list[Pod]:
    """Return the pods, and machines in pods, that an object is or creates; none for unknown kinds."""
    if is_release(resource):
        return list(_pods_of_release(resource))
    group = resource.api_version.rpartition("/")[0]
    machines = VIRTUAL_MACHINES.get(group, {}).get(resource.kind, ())
    found = [
        _pod_at(resource, (*base, "spec"))
        for template in (*pod_templates(resource.api_version, resource.kind), *machines)
        for base in places(resource.value, template)
    ]
    if not found and not has_pod_templates(resource.api_version, resource.kind):
        found = [_pod_at(resource, path) for path in _embedded(resource.value, ())]
    return [pod for pod in found if pod.spec]


def is_release(resource: FileObject) -> bool:
    """Return whether an object is a HelmRelease of Flux."""
    return resource.kind == "HelmRelease" and _RELEASE.fullmatch(resource.api_version) is not None


def _pods_of_release(resource: FileObject) -> Iterator[Pod]:
    """Yield the pods with claims of a chart on bjw-s' common library, such as app-template.

    Controllers without `pod.resourceClaims` count as one pod with the claims of `defaultPodOptions`.

    Source: https://bjw-s-labs.github.io/helm-charts/docs/common-library/resources/controllers/
    """
    holders: dict[Path, list[Path]] = {}
    for name, controller in mapping(at(resource.value, (*_VALUES, "controllers"))).items():
        base = (*_VALUES, "controllers", name)
        has_own = "resourceClaims" in mapping(mapping(controller).get("pod"))
        found = holders.setdefault((*base, "pod") if has_own else (*_VALUES, "defaultPodOptions"), [])
        for kind in ("initContainers", "containers"):
            found += [(*base, kind, key) for key in mapping(mapping(controller).get(kind))]
    for path, found in holders.items():
        pod = _pod_at(resource, path)
        if "resourceClaims" in pod.spec:
            yield replace(pod, of_chart=tuple(found))


def _embedded(value: object, path: Path, *, is_in_container: bool = False) -> Iterator[Path]:
    """Yield the paths of pod specs in a value: mappings with `resourceClaims` and containers.

    Containers that request extended resources are enough if they have an image, which policies on pods lack,
    or are the model of a predictor.

    `is_in_container`: the mapping around the value has `resources.claims`, as a service of Dynamo does.
    """
    fields = mapping(value)
    if fields:
        has_containers = isinstance(fields.get("containers"), list) or any(_main_container(fields))
        has_claims = isinstance(fields.get("resourceClaims"), list)
        if (has_claims and (has_containers or is_in_container)) or _has_extended_resources(fields):
            yield path
            return
        for key, item in fields.items():
            yield from _embedded(item, (*path, key), is_in_container=_lists_claims(fields))
    else:
        for index, item in enumerate(sequence(value)):
            yield from _embedded(item, (*path, index))


def _lists_claims(container: object) -> bool:
    return isinstance(at(container, ("resources", "claims")), list)


def _has_extended_resources(spec: Mapping[str, Any]) -> bool:
    listed = (item for item in sequence(spec.get("containers")) if "image" in mapping(item))
    return any(map(names_extended, (*listed, spec.get(_MODEL))))


def names_extended(container: object) -> bool:
    """Return whether a container requests extended resources, whose names have a domain."""
    resources = (at(container, ("resources", field)) for field in ("limits", "requests"))
    return any("/" in name for named in resources for name in mapping(named))


def _main_container(spec: Mapping[str, Any]) -> Iterator[str]:
    """Yield the field of a pod's main container in systems that name it: `model`, `mainContainer`."""
    for key, item in spec.items():
        if _lists_claims(item) or (key == _MODEL and names_extended(item)):
            yield key


def _pod_at(resource: FileObject, path: Path) -> Pod:
    spec = mapping(at(resource.value, path))
    claims: dict[str, tuple[str, str]] = {}
    for item in map(mapping, sequence(spec.get("resourceClaims"))):
        for field in (NAMED_CLAIM, _TEMPLATE):
            if isinstance(item.get(field), str):
                claims[str(item.get("name"))] = (field, str(item[field]))
    return Pod(resource=resource, path=path, spec=spec, claims=claims)


def check_claims(pod: Pod, references: References) -> None:
    """Check a pod's claims and their use by its containers."""
    names: set[str] = set()
    for key in filter(is_claim_field, pod.spec if pod.of_chart is None else ()):
        if key != "resourceClaims":
            pod.resource.subject.error(
                *(*pod.path, key),
                rule="claim-entry",
                what=DROPPED_FIELD,
                fix=f"list the claims under resourceClaims, each with name and {NAMED_CLAIM} or {_TEMPLATE}",
            )
    for index, item in enumerate(sequence(pod.spec.get("resourceClaims"))):
        _check_entry(pod, (*pod.path, "resourceClaims", index), mapping(item), names)
        if pod.of_chart is None:
            _check_reference(pod, (*pod.path, "resourceClaims", index), mapping(item), references)
    if at(pod.spec, ("resources", "claims")):
        pod.resource.subject.error(
            *pod.path,
            *("resources", "claims"),
            rule="container-claim",
            what="the API server rejects claims in the resources of a pod; write them in containers",
            fix="move them to resources.claims of the containers",
        )
    used = _check_taken(pod, names, references)
    for index, item in enumerate(sequence(pod.spec.get("resourceClaims"))):
        name = mapping(item).get("name")
        if isinstance(name, str) and name not in used and _is_for_containers(pod, name, references):
            what, fix = _not_taken(pod, name, references)
            pod.resource.subject.warning(
                *pod.path, "resourceClaims", index, rule="claim-not-taken", what=what, fix=fix
            )
    if pod.claims and pod.spec.get("nodeName") and not pod.is_running:
        pod.resource.subject.error(
            *pod.path,
            "nodeName",
            rule="node-name",
            what="bypasses the scheduler, which allocates claims; the pod would never start",
            got=str(pod.spec["nodeName"]),
            fix="use nodeSelector instead",
        )
    _check_copies(pod, references)


def is_claim_field(key: object) -> bool:
    """Return True for the field of a pod's claims, and for what is written instead of it."""
    return str(key).startswith("resourceClaim")


def containers(pod: Pod) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the pod's containers, init containers included, with their paths."""
    if pod.of_chart is not None:
        yield from ((path, mapping(at(pod.resource.value, path))) for path in pod.of_chart)
        return
    for kind in ("initContainers", "containers"):
        for index, item in enumerate(sequence(pod.spec.get(kind))):
            yield (*pod.path, kind, index), mapping(item)
    for key in _main_container(pod.spec):
        yield (*pod.path, key), mapping(pod.spec[key])
    holder = pod.path[:-1]
    if _lists_claims(at(pod.resource.value, holder)):
        yield holder, mapping(at(pod.resource.value, holder))


class Taken(Struct, frozen=True, kw_only=True):
    """Use of a claim by a container or a device of a machine; `fields` name claim and request."""

    path: Path
    claim: str
    request: str
    fields: tuple[str, str] = ("name", "request")


def taken(pod: Pod) -> Iterator[Taken]:
    """Yield each use of a pod's claims."""
    for path, container in containers(pod):
        for index, item in enumerate(sequence(at(container, ("resources", "claims")))):
            fields = {"name": item} if isinstance(item, str) else mapping(item)
            yield Taken(
                path=(*path, "resources", "claims", index),
                claim=str(fields.get("name", "")),
                request=str(fields.get("request") or ""),
            )
    for part in _OF_MACHINES if _is_machine(pod) else ():
        for path, item in _naming_claims(pod.spec.get(part), (*pod.path, part)):
            yield Taken(
                path=path,
                claim=item["claimName"],
                request=str(item.get("requestName") or ""),
                fields=("claimName", "requestName"),
            )


def _is_machine(pod: Pod) -> bool:
    return "domain" in pod.spec


def _naming_claims(value: object, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield the devices of a KubeVirt machine that name a claim, in any field."""
    fields = mapping(value)
    if isinstance(fields.get("claimName"), str):
        yield path, fields
    inner = fields.items() if fields else enumerate(sequence(value))
    for key, item in inner:
        yield from _naming_claims(item, (*path, key))


def copies_of(pod: Pod) -> tuple[Path, int] | None:
    """Return the number of pods that run at the same time, and the place nearest to the template; or None.

    Known kinds multiply the numbers of all levels, such as the jobs of a JobSet and the pods of a job.
    """
    holder = pod.path[:-2]
    resource = pod.resource
    outermost = 0 if has_pod_templates(resource.api_version, resource.kind) else len(holder)
    found: tuple[Path, int] | None = None
    for length in range(outermost, len(holder) + 1) if len(pod.path) > 1 else ():
        for field in ("replicas", "numOfHosts", "parallelism"):
            path = (*holder[:length], field)
            copies = at(resource.value, path)
            if isinstance(copies, int) and not isinstance(copies, bool):
                found = path, copies * (found[1] if found is not None else 1)
    return found


def _check_entry(pod: Pod, path: Path, item: Mapping[str, Any], names: set[str]) -> None:
    subject = pod.resource.subject
    name = item.get("name")
    problem = dns_label(name) if isinstance(name, str) else "is required"
    if problem:
        subject.error(*path, "name", rule="claim-entry", what=problem, got=str(name or ""))
    elif name in names:
        subject.error(
            *path, "name", rule="claim-entry", what="is the name of another claim of the pod", got=str(name)
        )
    names.add(str(name))
    if "source" in item:
        subject.error(
            *path,
            "source",
            rule="claim-entry",
            what="unknown field: `source` was removed in Kubernetes 1.31",
            fix=_moved(item["source"]),
        )
        return
    unknown = sorted({*item} - {"name", NAMED_CLAIM, _TEMPLATE})
    for key in unknown:
        subject.error(
            *path,
            key,
            rule="claim-entry",
            what=DROPPED_FIELD,
            allowed=f"name, {NAMED_CLAIM}, {_TEMPLATE}",
            fix=_OF_CLASS if key in _CLASSES else mistyped(key, ["name", NAMED_CLAIM, _TEMPLATE]),
        )
    given = [field for field in (NAMED_CLAIM, _TEMPLATE) if item.get(field)]
    if len(given) != 1 and not unknown:
        what = (
            f"at most one of `{NAMED_CLAIM}` or `{_TEMPLATE}` may be specified"
            if given
            else (f"must specify one of: `{NAMED_CLAIM}`, `{_TEMPLATE}`")
        )
        subject.error(*path, rule="claim-entry", what=what, allowed="exactly one of the two")


def _moved(source: object) -> str:
    given = [field for field in (NAMED_CLAIM, _TEMPLATE) if any(name in field for name in mapping(source))]
    if not given and "template" in mapping(source):
        return f"write {_TEMPLATE}, the name of a ResourceClaimTemplate with the spec of this template"
    return f"write {given[-1] if given else NAMED_CLAIM} directly under the claim"


def _check_reference(pod: Pod, path: Path, item: Mapping[str, Any], references: References) -> None:
    for field, kind in ((NAMED_CLAIM, "ResourceClaim"), (_TEMPLATE, "ResourceClaimTemplate")):
        name = item.get(field)
        if not isinstance(name, str):
            continue
        problem = references.problem(kind, name, pod.namespace)
        if problem is not None:
            known = references.names(kind, pod.namespace) if problem.is_certain else []
            subject = pod.resource.subject
            (subject.error if problem.is_certain else subject.warning)(
                *path,
                field,
                rule="claim-unknown",
                what=problem.what,
                got=name,
                allowed=choices(name, known) if problem.is_certain else "",
                fix=problem.fix or mistyped(name, known),
            )


def _check_taken(pod: Pod, names: set[str], references: References) -> set[str]:
    used: set[str] = set()
    seen: set[tuple[Path, str, str]] = set()
    subject = pod.resource.subject
    is_in_container = any("resourceClaims" in container for _, container in containers(pod))
    unlisted = (
        "move resourceClaims from the container to the pod's spec"
        if is_in_container
        else "list the claim under resourceClaims of the pod"
    )
    for item in taken(pod):
        where, name, request = item.path, item.claim, item.request
        used.add(name)
        if name not in names:
            subject.error(
                *where,
                item.fields[0],
                rule="container-claim",
                what="must be one of the names in pod.spec.resourceClaims",
                got=name,
                allowed=choices(name, names),
                fix=mistyped(name, names) or unlisted,
            )
        holder = where[:-1]
        if where[-1] == "claimRequest":
            subject.error(
                *where,
                rule="container-claim",
                what=DROPPED_FIELD,
                fix="write claimName and requestName directly under the device",
            )
        if (holder, name, request) in seen or (holder, name, "") in seen:
            subject.error(*where, rule="container-claim", what="takes the same claim twice", got=name)
        seen.add((holder, name, request))
        if _has_types(pod, item) and request:
            _check_request(pod, (*where, item.fields[1]), request, pod.keys.get(name), references)
    return used


def _has_types(pod: Pod, item: Taken) -> bool:
    """Check that a use of a claim is a mapping, and its request a string; return whether it is."""
    subject, written = pod.resource.subject, at(pod.resource.value, item.path)
    if isinstance(written, str):
        subject.error(
            *item.path,
            rule="container-claim",
            what="must be a mapping with the name of the claim",
            got=written,
            fix=f"{{name: {written}}}",
        )
    request = mapping(written).get(item.fields[1])
    if request is not None and not isinstance(request, str):
        what = "must be a string, the name of a request of the claim"
        subject.error(*item.path, item.fields[1], rule="container-claim", what=what, got=str(request))
    return isinstance(written, dict) and (request is None or isinstance(request, str))


def _not_taken(pod: Pod, name: str, references: References) -> tuple[str, str]:
    if _is_machine(pod):
        what = f"no device of the machine takes claim {name}: its devices are allocated and not attached"
        return what, f"claimName: {name} of a device under domain.devices"
    doubt = "" if _has_known_drivers(pod, name, references) else "unless its driver serves whole pods, "
    is_privileged = any(at(item, ("securityContext", "privileged")) is True for _, item in containers(pod))
    unseen = "only privileged containers see them" if is_privileged else "no container sees them"
    return (
        f"no container takes claim {name}: {doubt}its devices are allocated and {unseen}",
        f"resources: {{claims: [{{name: {name}}}]}} in a container",
    )


def _has_known_drivers(pod: Pod, name: str, references: References) -> bool:
    claim = references.of(pod.keys[name])
    return claim is not None and claim.drivers is not None and all(map(drivers.publishing, claim.drivers))


def _is_for_containers(pod: Pod, name: str, references: References) -> bool:
    """Return whether only the containers that name a claim get its devices.

    Network cards serve the whole pod.
    """
    key = pod.keys.get(name)
    claim = references.of(key) if key is not None else None
    if claim is None:
        target = pod.claims.get(name, ("", ""))[1]
        return pod.of_chart is not None and _OF_NETWORKS.search(f"{name} {target}") is None
    owners = {driver: drivers.publishing(driver) for driver in claim.drivers or ()}
    if any(owner is not None and owner.serves_pods for owner in owners.values()):
        return False
    unknown = [driver.rpartition(".")[0] for driver, owner in sorted(owners.items()) if owner is None]
    if claim.drivers is None or unknown:
        return _OF_NETWORKS.search(" ".join([name, claim.name, *unknown])) is None
    return bool(owners)


def _check_request(pod: Pod, path: Path, request: str, key: Key | None, references: References) -> None:
    subject = pod.resource.subject
    if (problem := dns_label(request)) is not None:
        fix = f"name the request alone: {request.partition('/')[0]}" if "/" in request else ""
        subject.error(*path, rule="container-claim", what=problem, got=request, fix=fix)
        return
    claim = references.of(key) if key is not None else None
    if claim is not None and request not in claim.requests:
        subject.error(
            *path,
            rule="container-claim",
            what=f"is not a request of claim {claim.name}",
            got=request,
            allowed=", ".join(sorted(claim.requests)),
            fix=mistyped(request, claim.requests),
        )


def _check_copies(pod: Pod, references: References) -> None:
    path, copies = copies_of(pod) or ((), None)
    shared = [(name, target) for name, (field, target) in pod.claims.items() if field == NAMED_CLAIM]
    one_pod_each = pod.resource.kind == "DaemonSet" or (copies is not None and copies > 1)
    if not shared or not one_pod_each:
        return
    many = f"all {copies} pods" if copies is not None else "the pods of all nodes"
    where = path or pod.path
    if copies is not None and copies > _MOST_CONSUMERS:
        what = (
            f"a claim serves at most {_MOST_CONSUMERS} pods, this requests {copies} of claim {shared[0][1]}"
        )
        pod.resource.subject.error(*where, rule="claim-shared", what=what, fix=f"use {_TEMPLATE}")
        return
    meant = [references.of(pod.keys[name]) for name, _ in shared]
    if all(claim is not None and claim.has_strategy for claim in meant):
        return
    is_known = _has_known_drivers(pod, shared[0][0], references)
    doubt = "" if is_known else ", unless they serve several nodes"
    pod.resource.subject.warning(
        *where,
        rule="claim-shared",
        what=f"{many} share the devices of the one claim {shared[0][1]}, and run on the node that has "
        f"them{doubt}",
        got=str(copies) if copies is not None else "",
        fix=f"use {_TEMPLATE} {'to give each pod' if is_known else 'if each pod needs'} its own",
    )
