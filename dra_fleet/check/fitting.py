"""Allocation of all claims of a pod together on one node, by the allocator itself.

Each request alone may find devices where all of them together, with their constraints, do not.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dra_fleet.check.device_objects import devices_path, requests
from dra_fleet.check.pods import copies_of
from dra_fleet.check.resources import at, keyed, mapping, sequence
from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.model.nodes import NODE
from dra_fleet.proof.allocator import Allocation, CandidateNode, Failure, NoFit, allocate
from dra_fleet.proof.demand.asks import ask_of, class_objects
from dra_fleet.proof.demand.pod_sets import channel_spec
from dra_fleet.proof.search.kinds import NodeUse, after
from dra_fleet.proof.search.matching import match
from dra_fleet.proof.search.suitability import suitability_to
from dra_fleet.proof.supply.prediction import inventory_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory, NodeDevices
    from dra_fleet.check.pods import Pod
    from dra_fleet.check.resources import FileObject, Key
    from dra_fleet.model.plan import PoolPlan

Object = dict[str, Any]

_ONE = 1
_FEWER = "ask for fewer devices, loosen the constraints, or choose machines with more devices of one kind"


@dataclass(frozen=True, kw_only=True)
class NodeCopies:
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
            reason = self._missing(resource, chosen)
            resource.subject.error(
                *devices_path(resource.kind),
                rule="does-not-fit",
                what=_why(found, reason or "no node meets all its requests and constraints together"),
                got=", ".join(pool.plan.name for pool in chosen),
                fix=_FEWER,
            )

    def _missing(self, resource: FileObject, pools: Sequence[NodeDevices]) -> str:
        """Return which capacity or attribute a claim needs that no device of the pools publishes."""
        devices = mapping(at(resource.value, devices_path(resource.kind)))
        every = [device.placed for pool in pools for device in pool.shape.devices]
        capacities = {key for device in every for key in device.get("capacity", {})}
        for request in requests(resource):
            for name in mapping(at(request.value, ("capacity", "requests"))):
                if name not in capacities:
                    return (
                        f"no device of these pools publishes the capacity {name}, and capacity keys are "
                        f"compared literally; they publish {', '.join(sorted(capacities)) or 'none'}"
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
                return f"no device of these pools publishes the attribute {name} of matchAttribute"
        return ""

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
