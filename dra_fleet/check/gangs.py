"""Gangs in manifests: pods that Kubernetes' own scheduler places together, or not at all.

Fields: https://github.com/kubernetes/api/blob/v0.37.2/scheduling/v1beta1/types.go; v1alpha1 of v0.35.10.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from dra_fleet.check.pods import NAMED_CLAIM, copies_of
from dra_fleet.check.resources import at, mapping, sequence
from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.model.plan import ClaimTemplatePlan, FleetPlan, WorkloadPlan
from dra_fleet.proof.prove import prove

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from dra_fleet.check.pods import Pod
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.model.plan import ClusterPlan, DeviceClassPlan

    Object = dict[str, Any]
    Group = tuple[str, str, str]
    """Namespace, PodGroup or Workload, and the name of the group in a Workload."""

_API = "scheduling.k8s.io"
CLAIMS_GATE: Final = "DRAWorkloadResourceClaims"
"""Claims of a PodGroup (KEP 5729): off by default in 1.36 and 1.37.

https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/features/kube_features.go
"""
_MEMBERS = (
    (("schedulingGroup",), ("podGroupName",)),
    (("workloadRef",), ("name", "podGroup")),
)
"""Fields by which a pod names its group."""


def check_gangs(
    objects: Iterable[FileObject], pods: Sequence[Pod], minor: str, gates: Collection[str]
) -> dict[Pod, int]:
    """Report gangs that never start: a missing group, too few pods, or a claim that the pods share.

    Args:
        objects: All objects of the files.
        pods: The pods of the files.
        minor: The Kubernetes version of the cluster.
        gates: The feature gates that are on there besides the defaults.

    Returns:
        How many pods start together, by the only pod template of a gang, if each pod has its own claims.
    """
    groups = {
        key: (item, path, count)
        for item in objects
        for key, path, count in _groups(item)
        if count is not None
    }
    declared = {key for item in objects for key, _, _ in _groups(item)}
    members: Mapping[Group, list[Pod]] = defaultdict(list)
    for pod in pods:
        for path, key in _memberships(pod):
            members[key].append(pod)
            if key not in declared:
                pod.resource.subject.warning(
                    *path,
                    rule="gang",
                    what="the files declare no such group; the pod waits until the group exists",
                    got="/".join(filter(None, key[1:])),
                    fix="declare the group, or correct the name",
                )
    for key, (item, path, count) in groups.items():
        copies = [copies_of(pod) for pod in members[key]]
        known = sum(found[1] if found else 1 for found in copies)
        if members[key] and known < count:
            item.subject.error(
                *path,
                rule="gang",
                what=f"the gang never starts: it needs {count} pods, and the files have {known}",
                got=str(count),
                fix=f"write minCount: {known}, or run more pods",
            )
        for pod in members[key]:
            _check_shared(pod, minor)
        _check_claims(item, path[:-3], members[key], shares=CLAIMS_GATE in gates)
    return {
        members[key][0]: count
        for key, (item, path, count) in groups.items()
        if len(members[key]) == 1 and not item.subject.has_errors
        if not (CLAIMS_GATE in gates and _claims(item, path[:-3]))
    }


def prove_gang(
    pod: Pod,
    count: int,
    cluster: ClusterPlan,
    specs: Mapping[str, Object],
    classes: Sequence[DeviceClassPlan],
) -> bool:
    """Report a gang that starts in no order of arrival of its pods, or in some only; return whether it is so.

    Args:
        pod: The template of its pods.
        count: How many start together.
        cluster: The cluster with only the pools whose nodes take the pods.
        specs: The spec of each of the pod's claims, all made from templates.
        classes: The classes of the files.
    """
    copies = copies_of(pod)
    if copies is None or len(specs) != 1 or pod.resource.subject.has_errors:
        return False
    ((key, spec),) = specs.items()
    *_, name = pod.keys[key]
    gang = WorkloadPlan(
        name=pod.resource.name or "gang",
        namespace=pod.namespace,
        template=name,
        claim=None,
        copies=copies[1],
        runs=None,
        node_selector={},
        tolerations=(Toleration(operator="Exists"),),
        cpu="0",
        memory="0",
        gang=count,
    )
    template = ClaimTemplatePlan(
        name=name, namespace=pod.namespace, spec=ClaimSpec.from_object(spec), external=False
    )
    own = {item.name for item in classes}
    alone = replace(
        cluster,
        classes=(*(item for item in cluster.classes if item.name not in own), *classes),
        templates=(template,),
        claims=(),
        workloads=(),
        demand=(gang,),
        compute_domains=(),
        queues=(),
    )
    fleet = FleetPlan(owner="", environment="development", clusters=(alone,), warnings=())
    (proved,) = prove(fleet).workloads
    if proved.word not in ("possible", "never"):
        return False
    report = pod.resource.subject.error if proved.word == "never" else pod.resource.subject.warning
    report(
        *copies[0],
        rule="gang",
        what=f"the gang starts in {'no order' if proved.word == 'never' else 'some orders only'}: "
        f"{proved.reason}",
        got=" -> ".join(proved.order) or str(count),
        fix=proved.fix or "ask for fewer devices, or raise nodes.max in the stack file",
    )
    return True


def _claims(item: FileObject, group: Path) -> Sequence[object]:
    return sequence(at(item.value, (*group, "resourceClaims")))


def _check_claims(item: FileObject, group: Path, pods: Sequence[Pod], *, shares: bool) -> None:
    """Report claims of a group that its pods do not share: all fields of both entries must be equal."""
    used = [entry for pod in pods for entry in sequence(pod.spec.get("resourceClaims"))]
    for index, entry in enumerate(_claims(item, group)):
        if not shares:
            what = f"is dropped, because the feature gate {CLAIMS_GATE} is off: each pod gets its own claim"
            fix = f"turn the gate on, and write featureGates: [{CLAIMS_GATE}] for the cluster"
        elif pods and entry not in used:
            what = "is used by no pod of the group: none lists a claim with the same name and reference"
            fix = "repeat the entry in spec.resourceClaims of the pods"
        else:
            continue
        name = str(mapping(entry).get("name"))
        item.subject.warning(*group, "resourceClaims", index, rule="gang", what=what, got=name, fix=fix)


def _check_shared(pod: Pod, minor: str) -> None:
    facts = kubernetes_facts().gang(minor)
    shared = [name for name, (field, _) in pod.claims.items() if field == NAMED_CLAIM]
    if facts is None or not facts.shared_word or not shared or (copies_of(pod) or ((), 1))[1] == 1:
        return
    report = pod.resource.subject.error if facts.shared_word == "never" else pod.resource.subject.warning
    report(
        *pod.path,
        "resourceClaims",
        rule="gang",
        what=facts.shared_reason,
        got=", ".join(shared),
        fix="use resourceClaimTemplateName, or upgrade Kubernetes",
    )


def _groups(item: FileObject) -> Iterator[tuple[Group, Path, int | None]]:
    """Yield the groups that an object declares, each with the place of its minCount."""
    if item.api_version.partition("/")[0] != _API:
        return
    if item.kind == "PodGroup":
        path: Path = ("spec", "schedulingPolicy", "gang", "minCount")
        yield (item.namespace, item.name, ""), path, _count(item, path)
    elif item.kind == "Workload":
        for index, group in enumerate(sequence(at(item.value, ("spec", "podGroups")))):
            path = ("spec", "podGroups", index, "policy", "gang", "minCount")
            yield (item.namespace, item.name, str(mapping(group).get("name"))), path, _count(item, path)


def _count(item: FileObject, path: Path) -> int | None:
    count = at(item.value, path)
    return count if isinstance(count, int) else None


def _memberships(pod: Pod) -> Iterator[tuple[Path, Group]]:
    for base, fields in _MEMBERS:
        named = mapping(at(pod.spec, base))
        if isinstance(named.get(fields[0]), str):
            name, group = (*(str(named.get(field, "")) for field in fields), "")[:2]
            yield (*pod.path, *base, fields[0]), (pod.namespace, name, group)
