"""Allocation of all claims of a pod, or of a gang of pods, by the allocator itself.

Each request alone may find devices where all of them together, with their constraints, do not.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace
from pydantic import ValidationError

from dra_fleet.check.device_objects import devices_path, requests
from dra_fleet.check.pods import NAMED_CLAIM, copies_of
from dra_fleet.check.resources import at, keyed, mapping, sequence
from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.kubernetes.minors import kubernetes_facts
from dra_fleet.kubernetes.scheduling.taints import Toleration
from dra_fleet.model.nodes import NODE
from dra_fleet.model.plan import ClaimTemplatePlan, FleetPlan, WorkloadPlan
from dra_fleet.proof.allocator import Allocation, CandidateNode, Failure, NoFit, allocate
from dra_fleet.proof.demand.asks import ask_of, class_objects
from dra_fleet.proof.demand.pod_sets import channel_spec
from dra_fleet.proof.prove import prove
from dra_fleet.proof.search.packing import NodeUse, after
from dra_fleet.proof.search.suitability import match, suitability_to
from dra_fleet.proof.supply.prediction import inventory_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory, NodeDevices
    from dra_fleet.check.pods import Pod
    from dra_fleet.check.resources import FileObject, Key
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.model.plan import ClusterPlan, DeviceClassPlan, PoolPlan

    Group = tuple[str, str, str]
    """Namespace, PodGroup or Workload, and the name of the group in a Workload."""


Object = dict[str, Any]

_ONE = 1
_FEWER = "ask for fewer devices, loosen the constraints, or choose machines with more devices of one kind"


class NodeCopies(Struct, frozen=True, kw_only=True):
    """The copies that one node takes, None if unknown, and what stops the pod everywhere."""

    copies: int | None
    failure: str = ""


class Fitting:
    """The nodes of one cluster, each empty but for the pods that are asked about.

    Args:
        cluster: the cluster.
        declared: expressions of the classes of the files, by name.
        claims: the claims and templates of the files that are sound.
    """

    def __init__(
        self, cluster: ClusterInventory, declared: Mapping[str, Sequence[str]], claims: Iterable[FileObject]
    ) -> None:
        self._cluster = cluster
        self._classes = class_objects(cluster.plan) | {
            name: {
                "metadata": {"name": name},
                "spec": {"selectors": [{"cel": {"expression": text}} for text in texts]},
            }
            for name, texts in declared.items()
        }
        plan = cluster.plan
        self._specs: dict[Key, Object] = {
            **{
                ("ResourceClaimTemplate", item.namespace, item.name): item.spec.to_object()
                for item in plan.templates
            },
            **{("ResourceClaim", item.namespace, item.name): item.spec.to_object() for item in plan.claims},
            **{
                ("ResourceClaimTemplate", item.namespace, item.template): channel_spec(item)
                for item in plan.compute_domains
            },
        }
        for resource in claims:
            spec = _spec(resource)
            if spec is not None:
                self._specs[resource.key] = spec

    def check_claim(self, resource: FileObject, pools: Collection[str]) -> None:
        """Report requests that no node can serve all together.

        Args:
            resource: a claim or template.
            pools: the pools that can.
        """
        spec = self._specs.get(resource.key)
        chosen = [pool for pool in self._cluster.pools if pool.plan.name in pools]
        if spec is None or not chosen:
            return
        found = [self._fill({resource.name: spec}, pool, _ONE) for pool in chosen]
        if all(item.copies == 0 for item in found):
            findings = resource.subject.found
            for finding in [one for one in findings if one.rule == "part-of-device"]:
                del findings[finding]
            reason, fix = self._missing(resource, chosen)
            resource.subject.error(
                *devices_path(resource.kind),
                rule="does-not-fit",
                what=_why(found, reason or "no node meets all its requests and constraints together"),
                got=", ".join(pool.plan.name for pool in chosen),
                fix=fix,
            )

    def _missing(self, resource: FileObject, pools: Sequence[NodeDevices]) -> tuple[str, str]:
        """Return which capacity or attribute a claim needs that no device of the pools publishes; the fix."""
        devices = mapping(at(resource.value, devices_path(resource.kind)))
        every = [device.placed for pool in pools for device in pool.shape.devices]
        capacities = {key for device in every for key in device.get("capacity", {})}
        for request in requests(resource):
            for name in mapping(at(request.value, ("capacity", "requests"))):
                if name not in capacities:
                    what = (
                        f"no device of these pools publishes the capacity {name}, and capacity keys are "
                        f"compared literally; they publish {', '.join(sorted(capacities)) or 'none'}"
                    )
                    meant = name.rpartition("/")[2]
                    return (
                        what,
                        f"write {meant}"
                        if meant in capacities
                        else "remove it, or let the driver publish it",
                    )
        drivers_of = {device.driver for pool in pools for device in pool.shape.devices}
        attributes = {
            full
            for pool in pools
            for device in pool.shape.devices
            for key in device.placed.get("attributes", {})
            for full in (key, f"{device.driver}/{key}")
        }
        for constraint in map(mapping, sequence(devices.get("constraints"))):
            name = constraint.get("matchAttribute")
            if isinstance(name, str) and drivers_of and name not in attributes:
                what = f"no device of these pools publishes the attribute {name} of matchAttribute"
                return what, "name an attribute that they publish"
        return "", _FEWER

    def own_claims(self, pod: Pod) -> Mapping[str, Object]:
        """Return the specs of a pod's claims if each copy has its own, otherwise nothing."""
        specs = {name: keyed(self._specs, key) for name, key in pod.keys.items()}
        known = {name: spec for name, spec in specs.items() if spec is not None}
        is_own = all(kind == "ResourceClaimTemplate" for kind, *_ in pod.keys.values())
        return known if is_own and len(known) == len(specs) else {}

    def check_pod(self, pod: Pod, pools: Collection[PoolPlan]) -> None:
        """Report a pod whose claims or copies do not fit together.

        Args:
            pod: the pod.
            pools: the pools whose nodes it may run on.
        """
        names = {pool.name for pool in pools}
        chosen = [pool for pool in self._cluster.pools if pool.plan.name in names]
        found_specs = {name: keyed(self._specs, key) for name, key in pod.keys.items()}
        specs = {name: spec for name, spec in found_specs.items() if spec is not None}
        if not specs or not chosen or len(specs) < len(found_specs):
            return
        copies = copies_of(pod)
        limit = copies[1] if copies is not None and self.own_claims(pod) else _ONE
        found = [self._fill(specs, pool, limit) for pool in chosen]
        if all(item.copies == 0 for item in found):
            if len(specs) > 1:
                pod.resource.subject.error(
                    *pod.path,
                    "resourceClaims",
                    rule="does-not-fit",
                    what=_why(found, "no node has the devices of all these claims together"),
                    got=", ".join(name for *_, name in pod.keys.values()),
                    fix=_FEWER,
                )
            return
        most = _fleet_copies(found, chosen)
        if copies is not None and most is not None and most < limit:
            where = ", ".join(f"{pool.plan.name} (up to {pool.plan.max_nodes})" for pool in chosen)
            pod.resource.subject.error(
                *copies[0],
                rule="fleet-too-small",
                what=f"{limit} pods ask for devices at the same time, and all nodes of {where} together have "
                f"them for {most}",
                got=str(limit),
                fix=f"run {most} at most, or raise nodes.max in the stack file",
            )

    def _fill(self, specs: Mapping[str, Object], pool: NodeDevices, limit: int) -> NodeCopies:
        asks = [ask_of(name, spec, self._classes) for name, spec in specs.items()]
        named = [ask.drivers for claim in asks for ask in claim.asks]
        minor = self._cluster.plan.kubernetes
        find = partial(match, minor=minor)
        if any(pool.doubt(drivers) for drivers in named) or any(
            suitability_to(claim, pool.shape, find).doubt for claim in asks
        ):
            return NodeCopies(copies=None)
        in_use = NodeUse()
        for count in range(limit):
            outcome = allocate(
                [ask.body for ask in asks],
                self._classes,
                inventory_of(pool.shape),
                CandidateNode(NODE, pool.shape.labels),
                in_use=in_use.for_allocator,
                minor=minor,
            )
            if isinstance(outcome, NoFit):
                return NodeCopies(copies=count)
            if isinstance(outcome, Failure):
                return NodeCopies(copies=0, failure=outcome.message)
            if not isinstance(outcome, Allocation):
                return NodeCopies(copies=None)
            following = after(in_use, outcome)
            if following == in_use:
                return NodeCopies(copies=limit)
            in_use = following
        return NodeCopies(copies=limit)


def _spec(resource: FileObject) -> Object | None:
    value = mapping(at(resource.value, devices_path(resource.kind)[:-1]))
    try:
        return ClaimSpec.from_object(value, as_server=True).to_object()
    except ValidationError:
        return None


def _why(found: Sequence[NodeCopies], otherwise: str) -> str:
    failure = next((item.failure for item in found if item.failure), "")
    return f"stops the pod on every node: {failure}" if failure else otherwise


def _fleet_copies(found: Sequence[NodeCopies], pools: Sequence[NodeDevices]) -> int | None:
    """Return the number of copies that fit on all nodes together; None if unknown."""
    most = 0
    for item, pool in zip(found, pools, strict=True):
        if item.copies is None:
            return None
        most += item.copies * pool.plan.max_nodes
    return most


# Fields: https://github.com/kubernetes/api/blob/v0.37.2/scheduling/v1beta1/types.go; v1alpha1 of v0.35.10.

_API = "scheduling.k8s.io"
CLAIMS_GATE: Final = "DRAWorkloadResourceClaims"
"""Claims of a PodGroup (KEP 5729): off by default in 1.36 and 1.37.

https://github.com/kubernetes/kubernetes/blob/v1.37.2/pkg/features/kube_features.go
"""
_MEMBERS = ((("schedulingGroup",), ("podGroupName",)), (("workloadRef",), ("name", "podGroup")))
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
        for path, named in _memberships(pod):
            key = _declared(named, declared)
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


def _declared(named: Group, declared: Collection[Group]) -> Group:
    """Return the declared group that a pod names; an open namespace may be any."""
    if named in declared:
        return named
    alike = (key for key in sorted(declared) if key[1:] == named[1:] and "" in (key[0], named[0]))
    return next(alike, named)


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
