"""Gangs in manifests: pods that Kubernetes' own scheduler places together, or not at all.

Fields: https://github.com/kubernetes/api/blob/v0.37.2/scheduling/v1beta1/types.go; v1alpha1 of v0.35.10.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from dra_fleet.check.pods import NAMED_CLAIM, copies_of
from dra_fleet.check.resources import at, mapping, sequence
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from dra_fleet.check.pods import Pod
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.yaml_text import Path

    Group = tuple[str, str, str]
    """Namespace, PodGroup or Workload, and the name of the group in a Workload."""

_API = "scheduling.k8s.io"
_MEMBERS = (
    (("schedulingGroup",), ("podGroupName",)),
    (("workloadRef",), ("name", "podGroup")),
)
"""Fields by which a pod names its group."""


def check_gangs(objects: Iterable[FileObject], pods: Sequence[Pod], minor: str) -> None:
    """Report gangs that never start: a missing group, too few pods, or a claim that the pods share.

    Args:
        objects: All objects of the files.
        pods: The pods of the files.
        minor: The Kubernetes version of the cluster.
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
