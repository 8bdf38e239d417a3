"""Fit of each pool's nodes for a pod set, the devices that match, and the first false clause of others."""

from __future__ import annotations

from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet import drivers
from dra_fleet.kubernetes.cel import (
    ONE_OF,
    UNKNOWN,
    CelInvalid,
    CelUnsupported,
    environment,
    judgeable_clauses,
)
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.kubernetes.scheduling.node_affinity import MissingLabel, all_labels, carries, some_labels
from dra_fleet.kubernetes.scheduling.taints import untolerated_taints
from dra_fleet.model.nodes import GIVE_SLICES
from dra_fleet.proof.report import Undecidable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.kubernetes.cel.program import DeviceCel, Program
    from dra_fleet.kubernetes.scheduling.node_affinity import Labels
    from dra_fleet.model.nodes import NodeDevice, NodeGroup, NodeShape
    from dra_fleet.proof.allocator.requests import Selector
    from dra_fleet.proof.demand.asks import Ask, ClaimAsk
    from dra_fleet.proof.demand.pod_sets import PodSet


Outcome = Literal["false", "error", "unknown"]


class Miss(Struct, frozen=True, kw_only=True):
    """The first clause that is not true on a device.

    Attributes:
        device: Which device.
        place: Where the selector stands.
        clause: The clause as written.
        outcome: What it is instead of true.
        message: Of the evaluator, for `error` and `unknown`.
        true_before: How many clauses before it are true.
    """

    device: NodeDevice
    place: str
    clause: str
    outcome: Outcome
    message: str
    in_use: int


class Match(Struct, frozen=True, kw_only=True, dict=True):
    """Result of matching one request on a node.

    Attributes:
        certain: Names of devices that match whatever the unknown values are, as (driver, name).
        maybe: Those and the ones that depend on an unknown value.
        misses: One per device that does not match for certain.
    """

    certain: frozenset[tuple[str, str]]
    maybe: frozenset[tuple[str, str]]
    misses: tuple[Miss, ...]

    def first(self, outcome: Outcome) -> Miss | None:
        """Return the first miss of a kind."""
        return self._firsts.get(outcome)

    @cached_property
    def _firsts(self) -> dict[Outcome, Miss]:
        return {miss.outcome: miss for miss in reversed(self.misses)}


def match(ask: Ask, shape: NodeShape, minor: str) -> Match:
    """Match a request on a node whose devices are all free.

    Args:
        ask: the request.
        shape: the node.
        minor: the cluster's Kubernetes minor.
    """
    certain: set[tuple[str, str]] = set()
    maybe: set[tuple[str, str]] = set()
    misses: list[Miss] = []
    cel = environment(minor)
    compiled = [_compiled(selector, cel) for selector in ask.selectors]
    for device in shape.devices:
        miss = _first_miss(compiled, device, cel)
        if miss is None:
            certain.add(device.key)
        else:
            misses.append(miss)
        if miss is None or miss.outcome == "unknown":
            maybe.add(device.key)
    return Match(certain=frozenset(certain), maybe=frozenset(maybe), misses=tuple(misses))


class _Compiled(NamedTuple):
    """A selector that can be evaluated, else why it cannot; and the clauses that can by themselves."""

    selector: Selector
    program: Program | str
    parts: tuple[str, ...]


def _compiled(selector: Selector, cel: DeviceCel) -> _Compiled:
    try:
        program = cel.compile(selector.expression)
    except (CelInvalid, CelUnsupported) as problem:
        return _Compiled(selector, str(problem), ())
    return _Compiled(selector, program, judgeable_clauses(selector.expression, cel.minor))


def _first_miss(selectors: Sequence[_Compiled], device: NodeDevice, cel: DeviceCel) -> Miss | None:
    subject = device.subject
    in_use = 0
    for selector, program, parts in selectors:
        if isinstance(program, str):
            return Miss(
                device=device,
                place=selector.place,
                clause=selector.expression,
                outcome="unknown",
                message=program,
                in_use=in_use,
            )
        whole = program.evaluate(subject)
        if whole:
            in_use += max(1, len(parts))
            continue
        outcome = cast("Outcome", whole.outcome)
        clause, message = selector.expression, whole.message
        for part in parts:
            verdict = cel.compile(part).evaluate(subject)
            if verdict.outcome == whole.outcome:
                clause, message = part, verdict.message
                break
            in_use += 1
        return Miss(
            device=device,
            place=selector.place,
            clause=clause,
            outcome=outcome,
            message=message,
            in_use=in_use,
        )
    return None


_STANDARD = {"kubernetes.io/os": "linux"}


class Suitability(Struct, frozen=True, kw_only=True, eq=False, dict=True):
    """Fit of one group's nodes for a pod set.

    Attributes:
        barrier: Why its pods may not go there at all; empty if they may.
        doubt: Why it is unknown whether they may, or which devices match; empty if it can.
        matches: Per request and alternative what matches on a node.
        has_more: Whether drivers may publish devices here that no one knows, beyond those that match.
    """

    barrier: str
    doubt: str
    matches: tuple[tuple[tuple[Ask, Match], ...], ...]
    has_more: bool = False

    @cached_property
    def error(self) -> tuple[Ask, Miss] | None:
        """The first device on which a selector fails."""
        found = ((ask, one.first("error")) for choices in self.matches for ask, one in choices)
        return next(((ask, miss) for ask, miss in found if miss is not None), None)

    @cached_property
    def certain(self) -> frozenset[tuple[str, str]]:
        """Devices that match some request for certain."""
        return _union([one.certain for choices in self.matches for _, one in choices])

    @cached_property
    def maybe(self) -> frozenset[tuple[str, str]]:
        """Devices that may match some request."""
        return _union([one.maybe for choices in self.matches for _, one in choices])


def _union(parts: Sequence[frozenset[tuple[str, str]]]) -> frozenset[tuple[str, str]]:
    return parts[0] if len(parts) == 1 else frozenset[tuple[str, str]]().union(*parts)


def suitability_of(
    pod_set: PodSet, group: NodeGroup, to_claim: Callable[[ClaimAsk, NodeShape], Suitability]
) -> Suitability:
    """Evaluate a group of nodes for a pod set.

    Args:
        pod_set: the pod set.
        group: the nodes.
        to_claim: what a node means to a claim, wherever its pod may go.
    """
    reason = barrier(pod_set, group.shape)
    if reason:
        return _barred(reason)
    found = to_claim(pod_set.claim, group.shape)
    doubt = _doubtful_label(pod_set, group.shape) or found.doubt or _doubtful_resources(pod_set, group.shape)
    return found if doubt == found.doubt else replace(found, doubt=doubt)


def suitability_to(
    claim: ClaimAsk, shape: NodeShape, match: Callable[[Ask, NodeShape], Match]
) -> Suitability:
    """Evaluate a node for a claim, wherever its pod may be placed.

    Args:
        claim: the claim.
        shape: the node.
        match: what a request finds on a node.
    """
    try:
        matches = tuple(tuple((ask, match(ask, shape)) for ask in choices) for choices in claim.requests)
    except Undecidable as problem:
        return Suitability(barrier="", doubt=str(problem), matches=(), has_more=True)
    unknown = [_unknown_devices(ask, shape) for ask in claim.asks]
    values = (_unknown_value(claim, ask, one, shape) for choices in matches for ask, one in choices)
    doubt = next(
        (device or value for device, value in zip(unknown, values, strict=True) if device or value), ""
    )
    return Suitability(barrier="", doubt=doubt, matches=matches, has_more=any(unknown))


@lru_cache(maxsize=4096)
def _barred(reason: str) -> Suitability:
    """Return one shared value for all groups that are excluded for the same reason."""
    return Suitability(barrier=reason, doubt="", matches=())


def barrier(pod_set: PodSet, shape: NodeShape) -> str:
    """Return why pods cannot be placed on such a node, apart from its devices; empty if they can."""
    if pod_set.node_selector:
        labels = labels_of(shape)
        for key, value in pod_set.node_selector.items():
            if carries(key, value).holds(labels(key)) == "no":
                return f"its nodes lack label {key}={value}"
    kept_off = () if pod_set.tolerations is None else untolerated_taints(shape.taints, pod_set.tolerations)
    if kept_off:
        return f"taint {kept_off[0]} of its nodes is not tolerated"
    if not shape.resources.holds(pod_set.resources):
        who = (
            "its pods, which share one claim and so one node, request"
            if pod_set.is_shared
            else "a pod requests"
        )
        return f"{who} more CPU, memory or pods than a node has"
    return ""


@lru_cache(maxsize=4096)
def labels_of(shape: NodeShape) -> Labels:
    """Return the labels of a node, as far as they are known."""
    known = {**_STANDARD, **shape.labels}
    return all_labels(known) if shape.knows_labels else some_labels(known, shape.lacks_labels)


def _doubtful_label(pod_set: PodSet, shape: NodeShape) -> str:
    labels = labels_of(shape)
    for key in pod_set.node_selector:
        if labels(key) is MissingLabel.UNKNOWN:
            return f"it is not known whether its nodes have label {key}; put it into the pool's nodeSelector"
    return ""


def _doubtful_resources(pod_set: PodSet, shape: NodeShape) -> str:
    if shape.sure_resources.holds(pod_set.resources):
        return ""
    return "a pod requests nearly all CPU or memory of a node, of which the system keeps a part"


def _unknown_devices(ask: Ask, shape: NodeShape) -> str:
    """Return why the devices are unknown that drivers publish for a request."""
    named = ask.drivers
    for driver, reason in shape.unpredictable.items():
        if not named or driver in named:
            return reason
    strange = sorted(named - _familiar() - shape.known_drivers - shape.sizes.keys())
    if strange and not shape.knows_labels:
        return f"what driver {strange[0]} publishes cannot be predicted; {GIVE_SLICES}"
    return ""


@cache
def _familiar() -> frozenset[str]:
    return frozenset(name for driver in drivers.known() if driver.owns_names for name in driver.publishers)


def _unknown_value(claim: ClaimAsk, ask: Ask, one: Match, shape: NodeShape) -> str:
    """Return the clause or the part of a capacity that depends on an unknown value."""
    miss = one.first("unknown")
    if miss is not None:
        return f"clause `{miss.clause}` of {miss.place} depends on an unknown value: {miss.message}"
    for device in shape.devices if claim.parts else ():
        for name, requested in sorted(claim.parts) if device.key in one.maybe else ():
            shared = bool(device.seen.get("allowMultipleAllocations"))
            doubt = _unknown_part(device.seen.get("capacity", {}).get(name, {}), requested, shared=shared)
            if doubt:
                return f"{ask.what} requests a part of {name}, {doubt}"
    return ""


def _unknown_part(capacity: Mapping[str, Any], requested: str, *, shared: bool) -> str:
    """Return the unknown part of a capacity, if it decides whether or how often a request fits."""
    if capacity.get("value") is UNKNOWN:
        return "of which is unknown how much there is"
    amounts = sorted(Quantity.parse(value).amount for value in capacity.get(ONE_OF, ()))
    part = Quantity.parse(requested).amount
    often = {amount // part if shared else amount >= part for amount in amounts} if part > 0 else set[int]()
    if len(often) < 2:  # noqa: PLR2004 - one answer, whatever there is
        return ""
    least, most = (Quantity(amount, "BinarySI") for amount in (amounts[0], amounts[-1]))
    return f"of which there is {least} to {most}, by the driver's branch"


def values_of(shape: NodeShape, attribute: str) -> dict[tuple[str, str], Any]:
    """Per device its value of an attribute that a constraint names, or its replacement."""
    domain, _, identity = attribute.partition("/")
    found: dict[tuple[str, str], Any] = {}
    for device in shape.devices:
        attributes = device.placed["attributes"]
        value = attributes.get(attribute, attributes.get(identity) if domain == device.driver else None)
        if value is not None and UNKNOWN not in value.values():
            found[device.key] = next(iter(value.values()))
    return found
