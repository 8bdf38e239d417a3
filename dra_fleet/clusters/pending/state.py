"""Snapshot of everything a pod depends on, its selectors' results, and the causes that it can wait for."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.fleet.queueing.kueue import API as QUEUE_API
from dra_fleet.kubernetes.cel import CelDevice, asked, clauses, environment, judgeable_clauses
from dra_fleet.kubernetes.scheduling.node_affinity import RequiredNodeAffinity, all_labels
from dra_fleet.kubernetes.scheduling.taints import Taint, Toleration, tolerations, untolerated_taints
from dra_fleet.model.specs import WORKLOAD

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.kubernetes.scheduling.node_affinity import Requirement


RESOURCE_API = "resource.k8s.io/v1"
NO_SCALE_UP = ("FailedScaleUp", "NotTriggerScaleUp")
"""Reasons of events of Cluster Autoscaler about pods for which it adds no node, the more telling first."""

NOT_BY_KARPENTER = "Failed to schedule pod, "
"""Start of Karpenter's events about pods for which it makes no node; the scheduler's have the same reason."""


class ClusterState(Struct, frozen=True, kw_only=True, dict=True):
    """Raw objects as the API gave them.

    Attributes:
        minor: of the server, such as "1.36".
        claims: of all namespaces, as they hold the devices.
        events: the warnings of all namespaces, and the autoscaler's events.
        queued: Kueue's Workloads, where they were asked for.
    """

    minor: str
    nodes: list[Object]
    pods: list[Object]
    slices: list[Object]
    claims: list[Object]
    daemonsets: Sequence[Object] = ()
    classes: Sequence[Object] = ()
    templates: Sequence[Object] = ()
    events: Sequence[Object] = ()
    queued: tuple[Object, ...] = ()

    @cached_property
    def _pods_by_node(self) -> Mapping[str, list[Object]]:
        found: defaultdict[str, list[Object]] = defaultdict(list)
        for pod in self.pods:
            found[pod["spec"].get("nodeName", "")].append(pod)
        return found

    def pods_on(self, node: str) -> list[Object]:
        """Return the pods bound to a node."""
        return self._pods_by_node.get(node, [])

    def pods_in(self, namespaces: Container[str]) -> list[Object]:
        return [pod for pod in self.pods if pod["metadata"]["namespace"] in namespaces]

    def named(self, items: Sequence[Object], name: str, namespace: str | None = None) -> Object | None:
        for item in items:
            meta = item["metadata"]
            if meta["name"] == name and meta.get("namespace") == namespace:
                return item
        return None

    @cached_property
    def _claims_by_name(self) -> Mapping[tuple[str, str], Object]:
        return {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in self.claims}

    def claim(self, name: str, namespace: str) -> Object | None:
        return self._claims_by_name.get((namespace, name))

    def events_about(self, item: Object, reason: str) -> list[str]:
        """Return the messages of an object's events with that reason, the newest last."""
        uid = item["metadata"].get("uid")
        found = [
            event
            for event in self.events
            if event["reason"] == reason and event["involvedObject"].get("uid") == uid
        ]
        found.sort(key=lambda event: event.get("lastTimestamp") or event.get("eventTime") or "")
        return [str(event.get("message", "")) for event in found]

    def autoscaler_says(self, pod: Object) -> str:
        """Return why the cluster's autoscaler adds no node for a pod; empty if it does not say so."""
        messages = [*self._karpenter_says(pod)]
        messages += [text for reason in NO_SCALE_UP for text in self.events_about(pod, reason)]
        return messages[0] if messages else ""

    def _karpenter_says(self, pod: Object) -> list[str]:
        """Return the cloud's refusals of nodes that Karpenter nominated for a pod, or why it made none."""
        nominated = {
            text.rpartition("nodeclaim/")[2].partition(",")[0] for text in self.events_about(pod, "Nominated")
        }
        refused = [
            str(event["message"]).partition(" event: ")[2]
            for event in self.events
            if event["reason"] == "InsufficientCapacityError"
            and event["involvedObject"].get("name") in nominated
        ]
        failed = self.events_about(pod, "FailedScheduling")
        return [*refused, *(text for text in failed if text.startswith(NOT_BY_KARPENTER))]

    def drivers_used_by(self, pod: Object) -> list[str]:
        """Return the drivers of the devices allocated to a pod's claims."""
        claims = [self.claim(name, pod["metadata"]["namespace"]) for name in claim_names(pod)]
        return sorted({result["driver"] for claim in claims if claim for result in results_of(claim)})

    def holders(self) -> dict[tuple[str, str, str], str]:
        """Return the user of each allocated device: (driver, pool, device) -> "namespace/consumer"."""
        holder_of: dict[tuple[str, str, str], str] = {}
        for claim in self.claims:
            for result in results_of(claim):
                if not result.get("adminAccess"):
                    users = [user["name"] for user in claim["status"].get("reservedFor", [])]
                    name = users[0] if users else f"claim {claim['metadata']['name']}"
                    key = (result["driver"], result["pool"], result["device"])
                    holder_of[key] = f"{claim['metadata']['namespace']}/{name}"
        return holder_of


async def read_state(
    api: KubeApi, *, queues: bool = False, requested: Mapping[str, tuple[str, int]] | None = None
) -> ClusterState:
    """Read a snapshot.

    Args:
        api: who reads.
        queues: whether Kueue's Workloads are read too; the cluster must have Kueue.
        requested: by workload, its namespace and copies: where all of them run, what only explains why a pod
            waits, such as thousands of warnings, is not read.

    Raises:
        ApiError: something may not be read.
    """
    version = await api.version()
    nodes, pods, slices, claims = await _lists(
        api, ("v1", "Node"), ("v1", "Pod"), (RESOURCE_API, "ResourceSlice"), (RESOURCE_API, "ResourceClaim")
    )
    state = ClusterState(
        minor=f"{version['major']}.{version['minor'].rstrip('+')}",
        nodes=nodes,
        pods=pods,
        slices=slices,
        claims=claims,
    )
    if requested is not None and not _some_wait(pods, requested):
        return state
    (daemonsets, classes, templates, *queued), events = await asyncio.gather(
        _lists(
            api,
            ("apps/v1", "DaemonSet"),
            (RESOURCE_API, "DeviceClass"),
            (RESOURCE_API, "ResourceClaimTemplate"),
            *([(QUEUE_API, "Workload")] if queues else []),
        ),
        asyncio.gather(
            api.list("v1", "Event", params={"fieldSelector": "type=Warning"}),
            api.list("v1", "Event", params={"fieldSelector": "type=Normal,source=cluster-autoscaler"}),
            api.list("v1", "Event", params={"fieldSelector": "type=Normal,reason=Nominated"}),
        ),
    )
    return replace(
        state,
        daemonsets=daemonsets,
        classes=classes,
        templates=templates,
        events=[item for found in events for item in found["items"]],
        queued=tuple(item for items in queued for item in items),
    )


async def _lists(api: KubeApi, *kinds: tuple[str, str]) -> list[list[Object]]:
    found = await asyncio.gather(*(api.list(api_version, kind) for api_version, kind in kinds))
    return [item["items"] for item in found]


def _some_wait(pods: Iterable[Object], requested: Mapping[str, tuple[str, int]]) -> bool:
    running, places = Counter[tuple[str, str]](), {(where, name) for name, (where, _) in requested.items()}
    for pod in pods:
        meta = pod["metadata"]
        place = (meta["namespace"], meta.get("labels", {}).get(WORKLOAD, ""))
        if "deletionTimestamp" in meta:
            continue
        if place not in places:
            if pod.get("status", {}).get("phase", "Pending") == "Pending":
                return True
            continue
        if pod.get("status", {}).get("phase") != "Running":
            return True
        running[place] += 1
    return any(running[where, name] < copies for name, (where, copies) in requested.items())


def results_of(claim: Object) -> list[Object]:
    """Return a claim's allocation results; none before it is allocated."""
    allocation = claim.get("status", {}).get("allocation", {})
    return allocation.get("devices", {}).get("results", [])


def claim_names(pod: Object) -> list[str]:
    """Return the names of a pod's ResourceClaims that exist."""
    status = pod.get("status", {})
    made = {item["name"]: item.get("resourceClaimName") for item in status.get("resourceClaimStatuses", [])}
    names = [
        reference.get("resourceClaimName") or made.get(reference["name"])
        for reference in pod["spec"].get("resourceClaims", [])
    ]
    extended = status.get("extendedResourceClaimStatus", {}).get("resourceClaimName")
    return [name for name in [*names, extended] if name]


class LocatedDevice(Struct, frozen=True, kw_only=True):
    """A published device and where it is."""

    driver: str
    pool: str
    node: str | None
    name: str
    body: Object

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of the device in allocation results."""
        return (self.driver, self.pool, self.name)

    def __str__(self) -> str:
        return f"{self.pool}/{self.name}"


class FalseClause(Struct, frozen=True, kw_only=True):
    """The first clause that does not hold on a device, and how many hold."""

    device: LocatedDevice
    clause: str
    outcome: str
    message: str
    true_before: int


def devices_in(slices: Iterable[Object]) -> list[LocatedDevice]:
    """All devices of the newest generation of each pool."""
    slices = list(slices)
    newest: dict[tuple[str, str], int] = {}
    for item in slices:
        pool = (item["spec"]["driver"], item["spec"]["pool"]["name"])
        newest[pool] = max(newest.get(pool, 0), item["spec"]["pool"].get("generation", 0))
    return [
        LocatedDevice(
            driver=item["spec"]["driver"],
            pool=item["spec"]["pool"]["name"],
            node=item["spec"].get("nodeName"),
            name=device["name"],
            body=device,
        )
        for item in slices
        for device in item["spec"].get("devices", [])
        if item["spec"]["pool"].get("generation", 0)
        == newest[item["spec"]["driver"], item["spec"]["pool"]["name"]]
    ]


def expressions(selectors: Iterable[Object]) -> list[str]:
    """Return the CEL expressions of selectors."""
    return [item["cel"]["expression"] for item in selectors if "cel" in item]


def drivers_named(selectors: Iterable[str]) -> set[str]:
    """Return the drivers that expressions name by `device.driver == '…'`."""
    return {name for text in selectors for name in asked(text).drivers}


def first_miss(selectors: Sequence[str], device: LocatedDevice, minor: str) -> FalseClause | None:
    """Return the first clause that is not true on a device; None if it matches.

    Raises:
        CelUnsupported: an expression cannot be checked here.
    """
    cel = environment(minor)
    subject = CelDevice.of(device.body, device.driver)
    true_before = 0
    for expression in selectors:
        whole = cel.compile(expression).evaluate(subject)
        if whole:
            true_before += len(clauses(expression))
            continue
        for clause in judgeable_clauses(expression, minor):
            verdict = cel.compile(clause).evaluate(subject)
            if verdict.outcome == whole.outcome:
                return FalseClause(
                    device=device,
                    clause=clause,
                    outcome=whole.outcome,
                    message=verdict.message,
                    true_before=true_before,
                )
            true_before += 1
        return FalseClause(
            device=device,
            clause=expression,
            outcome=whole.outcome,
            message=whole.message,
            true_before=true_before,
        )
    return None


def value_named_in(clause: str, device: LocatedDevice) -> str:
    """Describe the device's value of the attribute or capacity that a clause reads; may be empty."""
    values = {**device.body.get("attributes", {}), **device.body.get("capacity", {})}
    for key, value in values.items():
        name = key.rpartition("/")[2]
        if asked(clause).reads(name):
            return f"{name} is {next(iter(value.values()))}"
    return ""


DAEMON_TOLERATIONS = [
    Toleration(key=f"node.kubernetes.io/{name}", operator="Exists")
    for name in (
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    )
]
"""Tolerations that the DaemonSet controller adds to its pods."""


class Cause(StrEnum):
    """Cause of waiting; the values are part of the JSON output."""

    TEMPLATE_MISSING = "template-missing"
    CLAIM_MISSING = "claim-missing"
    CLASS_MISSING = "class-missing"
    QUOTA_EXCEEDED = "quota-exceeded"
    QUEUED = "queued"
    GANG = "gang"
    CLAIM_REFUSED = "claim-refused"
    NO_NODE = "no-node"
    TAINT_NOT_TOLERATED = "taint-not-tolerated"
    NO_DRIVER = "no-driver"
    NOT_PARTITIONED = "not-partitioned"
    DRIVER_LABEL_MISSING = "driver-label-missing"
    DRIVER_TAINT_NOT_TOLERATED = "driver-taint-not-tolerated"
    DRIVER_NOT_READY = "driver-not-ready"
    NO_DEVICES = "no-devices"
    SELECTOR_FALSE = "selector-false"
    SELECTOR_ERROR = "selector-error"
    CONSTRAINT = "constraint"
    NO_FREE_DEVICE = "no-free-device"
    TOO_MANY = "too-many"
    NODE_RESOURCES = "node-resources"
    PREPARE_FAILED = "prepare-failed"
    UNPREPARE_FAILED = "unprepare-failed"
    STARTING = "starting"
    ENDING = "ending"
    OTHER = "other"


class WaitingReason(Struct, frozen=True):
    """Reason why a pod waits: the cause, and a sentence that names the change to make."""

    cause: Cause
    sentence: str

    def __str__(self) -> str:
        return self.sentence


def label_problem(spec: Object, node: Object) -> str | None:
    """Return the labels that a node lacks for a pod specification; None if they match."""
    requested = RequiredNodeAffinity.of(spec.get("nodeSelector"), spec.get("affinity"))
    labels = all_labels(node["metadata"].get("labels", {}))
    for one in requested.selector:
        if one.holds(labels(one.key)) == "no":
            return f"label {_wish(one)} is missing"
    if requested.matches(labels, node["metadata"]["name"]) == "yes":
        return None
    reported = (" and ".join(map(_wish, (*term.labels, *term.fields))) for term in requested.terms or ())
    wishes = [wish for wish in reported if wish]
    if not wishes:
        return "a node affinity without requirements matches no node"
    return (
        f"label {wishes[0]} is missing"
        if len(wishes) == 1
        else f"it has none of the labels {'; '.join(wishes)}"
    )


def untolerated(spec: Object, node: Object, *, daemon: bool = False) -> str | None:
    """Return the first taint that a pod specification does not tolerate, as `key=value:effect`, or None."""
    given = [*tolerations(spec.get("tolerations")), *(DAEMON_TOLERATIONS if daemon else [])]
    taints = map(Taint.of, node["spec"].get("taints", []))
    return next(map(str, untolerated_taints(taints, given)), None)


def _wish(requirement: Requirement) -> str:
    key, values = requirement.key, requirement.values
    if requirement.operator == "In" and len(values) == 1:
        return f"{key}={values[0]}"
    return " ".join([key, requirement.operator, ",".join(values)]).strip()
