"""State of a node's devices after one more claim; equal questions are evaluated once."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, environment
from dra_fleet.model.nodes import NODE
from dra_fleet.proof.allocator import (
    Allocation,
    Amount,
    CandidateNode,
    DeviceId,
    NoFit,
    Outcome,
    Steps,
    TimedOut,
    allocate_alike,
)
from dra_fleet.proof.allocator.prepare import MOST_DEVICES
from dra_fleet.proof.report import Undecidable
from dra_fleet.proof.search.packing import NodeUse, after
from dra_fleet.proof.search.suitability import Match, Suitability, match, suitability_to, values_of
from dra_fleet.proof.supply.prediction import inventory_of

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeShape
    from dra_fleet.model.plan import ClusterPlan
    from dra_fleet.proof.allocator import Allocated
    from dra_fleet.proof.demand.asks import Ask, ClaimAsk


# Interchangeable devices of a node, so that one order of them represents many.
#
# Devices form a tree: those of one PCIe root, of one GPU, as far as constraints look at it. Branches of one
# form can change places, and no claim knows. States of a node that differ only so are one.

Mark = tuple[tuple[str, Amount], ...]
"""Use of a device: nothing, all of it, or parts."""

Form = tuple[Any, ...]
"""Devices in use below a branch, equal for interchangeable branches."""

_WHOLE: Mark = (("", 1),)


class _Branch(Struct, frozen=True, eq=False):
    """Devices that have something in common, or one device.

    Attributes:
        shape: Equal for branches that can change places.
        device: The device, where it is one.
        alike: The branches below, those of one shape together.
    """

    shape: tuple[Any, ...]
    device: DeviceId | None = None
    alike: tuple[tuple[_Branch, ...], ...] = ()


class Likeness:
    """Interchangeable devices of one sort of node for some claims.

    Args:
        shape: the node.
        claims: all that may come to it.
        match: what a request finds on a node.
        first_only: whether a search with it requests the first solution only.
    """

    def __init__(
        self,
        shape: NodeShape,
        claims: Sequence[ClaimAsk],
        match: Callable[[Ask, NodeShape], Match],
        *,
        first_only: bool = False,
    ) -> None:
        self.drivers = shape.any_order
        self._first_only = first_only
        self._tree = _tree(shape, claims, match)
        self._canonical: dict[NodeUse, NodeUse] = {}

    def canonical(self, in_use: NodeUse) -> NodeUse:
        """Return the devices in use, with interchangeable devices replaced by their representatives."""
        if in_use not in self._canonical:
            marks = _marks(in_use)
            found: dict[DeviceId, Mark] = {}
            _assign(self._tree, _form(self._tree, marks), found)
            self._canonical[in_use] = _use_of(found)
        return self._canonical[in_use]

    def after(self, in_use: NodeUse) -> _After:
        """Return the interchangeable devices for the allocator, if some devices are in use."""
        return _After(self.drivers, self._tree, _marks(in_use), self._first_only)


class _After(Struct, frozen=True, eq=False):
    """Interchangeable devices once some are in use, for the allocator."""

    drivers: frozenset[str]
    tree: _Branch
    in_use: Mapping[DeviceId, Mark]
    first_only: bool

    def kinds(self, taken: Sequence[Sequence[Allocated]]) -> Callable[[DeviceId], Hashable]:
        """Return a function that maps interchangeable devices to equal keys after `taken` are allocated."""
        marks = dict(self.in_use)
        for claim, items in enumerate(taken):
            for item in items:
                mark = (f"{claim}/{item.request}", 1), *sorted(item.consumed.items())
                marks[item.device] = (*marks.get(item.device, ()), *mark)
        found: dict[DeviceId, Hashable] = {}
        _name(self.tree, marks, (), found)
        return found.__getitem__


def _tree(shape: NodeShape, claims: Sequence[ClaimAsk], match: Callable[[Ask, NodeShape], Match]) -> _Branch:
    named = sorted({name for claim in claims for item in claim.constraints for name in _attributes(item)})
    values = {name: {device.key: _value(device, name) for device in shape.devices} for name in named}
    kept = sorted(named, key=lambda name: len(set(values[name].values())))
    levels: list[str] = []
    for name in kept:
        if not levels or _divides(values[levels[-1]], values[name]):
            levels.append(name)
    fixed = [name for name in named if name not in levels]
    kinds = _kinds(shape, claims, match)
    leaves = {
        device.key: _Branch(
            (kinds[device.key], *(values[name][device.key] for name in fixed)),
            DeviceId(device.driver, NODE, device.name),
        )
        for device in shape.devices
    }
    return _branch([device.key for device in shape.devices], levels, values, leaves)


def _form(branch: _Branch, marks: Mapping[DeviceId, Mark]) -> Form:
    if branch.device is not None:
        return marks.get(branch.device, ())
    return tuple(tuple(sorted(_form(one, marks) for one in same)) for same in branch.alike)


def _assign(branch: _Branch, form: Form, found: dict[DeviceId, Mark]) -> None:
    if branch.device is not None:
        if form:
            found[branch.device] = form
        return
    for same, forms in zip(branch.alike, form, strict=True):
        for one, below in zip(same, forms, strict=True):
            _assign(one, below, found)


def _name(
    branch: _Branch, marks: Mapping[DeviceId, Mark], path: Form, found: dict[DeviceId, Hashable]
) -> None:
    """Give each device a name that those have in common that can change places."""
    if branch.device is not None:
        found[branch.device] = path
        return
    for number, same in enumerate(branch.alike):
        forms: dict[Form, int] = {}
        for one in same:
            form = forms.setdefault(_form(one, marks), len(forms))
            _name(one, marks, (*path, number, form), found)


def _marks(in_use: NodeUse) -> dict[DeviceId, Mark]:
    return {**dict(in_use.shares), **dict.fromkeys(in_use.devices, _WHOLE)}


def _use_of(marks: Mapping[DeviceId, Mark]) -> NodeUse:
    devices = frozenset(device for device, mark in marks.items() if mark == _WHOLE)
    shares = tuple(sorted((device, mark) for device, mark in marks.items() if device not in devices))
    return NodeUse(devices, shares)


MOST_STEPS = 60_000
"""Devices that are tried for one claim on one node."""

MOST_STEPS_OF_ALL = 300_000
"""Steps of one proof, besides those for each part of its stack: to try a device, and what takes as long."""

STEPS_OF_A_PART = 200
"""Steps for each claim, workload and pool of a stack."""

STEPS_OF_A_TREE = 4
"""Steps for each device among which those that are alike are looked for."""

DEAREST_EVALUATION = 1_000
"""Steps of an evaluation, which takes as many as it costs: the evaluator ends loops after 10,000 rounds."""

SIMPLE_STEPS = 2_000
"""Devices that are tried before it is worth while to find out which of them are alike."""

GIVEN_UP = (
    "there are too many ways to choose its devices to try them all; name fewer devices, or fewer constraints"
)

TOO_LARGE = (
    "the proof of this stack takes more steps than it may; write fewer claims, selectors and machines that "
    "differ, or divide the stack"
)


class Placed(NamedTuple):
    """Devices of a claim as (request or request/alternative, driver, device), and the use after it."""

    given: tuple[tuple[str, str, str], ...]
    in_use: NodeUse


class Choices(NamedTuple):
    """Possible devices of a claim, depending on the order in which drivers publish them.

    Attributes:
        placed: One of each sort; none where it does not fit.
        are_all: Whether there are no others.
    """

    placed: tuple[Placed, ...]
    are_all: bool


def steps_for(clusters: Sequence[ClusterPlan]) -> Steps:
    """Return the limit of steps for the proof of some clusters together."""
    parts = sum(
        len(part)
        for cluster in clusters
        for part in (cluster.templates, cluster.claims, cluster.workloads, cluster.demand, cluster.pools)
    )
    return Steps(MOST_STEPS_OF_ALL + STEPS_OF_A_PART * parts)


class Placements:
    """Answers for one cluster, and remembers, what the allocator gives a claim on a node.

    Claims are alike by their likeness, nodes by their devices: no slice of theirs selects nodes by labels.

    Args:
        classes: The cluster's DeviceClasses.
        minor: The scheduler's Kubernetes minor.
        steps: What the proof may take, for all of its clusters together.
    """

    def __init__(self, classes: Mapping[str, Any], minor: str, steps: Steps | None = None) -> None:
        self._steps = steps or Steps(MOST_STEPS_OF_ALL)
        self.minor = minor
        self.classes = classes
        self._known: dict[tuple[str, tuple[NodeDevice, ...], NodeUse], Placed | Undecidable | None] = {}
        self._choices: dict[tuple[str, Likeness, NodeUse], Choices] = {}
        self._plain: dict[tuple[str, tuple[NodeDevice, ...]], Sequence[DeviceId] | None] = {}
        self._matches: dict[tuple[object, ...], Match] = {}
        self._evaluated: defaultdict[str, set[str]] = defaultdict(set)
        self._suitability: dict[tuple[ClaimAsk, NodeShape], Suitability] = {}

    def spend(self, steps: int) -> None:
        """Count what is done for the proof besides trying devices.

        Raises:
            Undecidable: The steps of the proof are used up.
        """
        if self._steps.left < steps:
            self._steps.left = 0
            raise Undecidable(TOO_LARGE)
        self._steps.left -= steps

    def match(self, ask: Ask, shape: NodeShape) -> Match:
        """Match a request on a node whose devices are all free.

        Raises:
            Undecidable: The steps of the proof are used up.
        """
        key = (ask.selectors, shape.devices)
        if key not in self._matches:
            # Once the steps are used up, devices are not even read any more.
            self.spend(len(shape.devices) * (1 + len(ask.selectors)))
            self.spend(self._evaluations(ask, shape))
            self._matches[key] = match(ask, shape, self.minor)
        return self._matches[key]

    def suitability(self, claim: ClaimAsk, shape: NodeShape) -> Suitability:
        """Evaluate a node for a claim, wherever its pod may be placed."""
        key = (claim, shape)
        if key not in self._suitability:
            self._suitability[key] = suitability_to(claim, shape, self.match)
        return self._suitability[key]

    def likeness(self, shape: NodeShape, claims: Sequence[ClaimAsk], *, first_only: bool = False) -> Likeness:
        """Return the interchangeable devices of a node for claims.

        Raises:
            Undecidable: The steps of the proof are used up.
        """
        self.spend(STEPS_OF_A_TREE * len(shape.devices))
        return Likeness(shape, claims, self.match, first_only=first_only)

    def _evaluations(self, ask: Ask, shape: NodeShape) -> int:
        """Return the steps for the expressions evaluated on such devices for the first time."""
        steps = 0
        devices = shape.subjects
        for selector in ask.selectors:
            known = self._evaluated[selector.expression]
            fresh = devices - known
            if fresh:
                known |= fresh
                steps += len(fresh) * min(_cost(selector.expression, self.minor), DEAREST_EVALUATION)
        return steps

    def place(self, claim: ClaimAsk, shape: NodeShape, in_use: NodeUse) -> Placed | None:
        """Place a claim on a node with devices in use, in their order; return None if it does not fit.

        Raises:
            Undecidable: It is unknown.
        """
        key = (claim.likeness, shape.devices, in_use)
        if key not in self._known:
            try:
                self._known[key] = self._ask(claim, shape, in_use)
            except Undecidable as problem:
                self._known[key] = problem
        known = self._known[key]
        if isinstance(known, Undecidable):
            raise known
        return known

    def choices(self, claim: ClaimAsk, shape: NodeShape, in_use: NodeUse, likeness: Likeness) -> Choices:
        """Return the possible placements of a claim on a node with devices in use, in any open order.

        Raises:
            Undecidable: It is unknown.
        """
        key = (claim.likeness, likeness, in_use)
        if key not in self._choices:
            self._choices[key] = self._ask_for_all(claim, shape, in_use, likeness)
        return self._choices[key]

    def _requested(self, claim: ClaimAsk, shape: NodeShape) -> Sequence[DeviceId] | None:
        """Return the devices of which a claim gets the first free ones; None if that takes a search."""
        key = (claim.likeness, shape.devices)
        if key not in self._plain:
            self._plain[key] = self._in_turn(claim, shape) if _is_plain(claim, shape) else None
        return self._plain[key]

    def _in_turn(self, claim: ClaimAsk, shape: NodeShape) -> Sequence[DeviceId] | None:
        (ask,) = claim.asks
        found = self.match(ask, shape)
        if ask.class_name not in self.classes or found.first("error") or found.first("unknown"):
            return None
        for constraint in claim.constraints:
            # Of one device nothing is demanded but that it has the attribute.
            attribute = constraint.get("matchAttribute")
            if attribute is None or not found.certain <= values_of(shape, attribute).keys():
                return None
        published = (device.id for part in inventory_of(shape).slices for device in part.devices)
        return [device for device in published if (device.driver, device.device) in found.certain]

    def _ask_for_all(self, claim: ClaimAsk, shape: NodeShape, in_use: NodeUse, likeness: Likeness) -> Choices:
        requested = self._requested(claim, shape) if claim.fewest == 1 else None
        if requested is not None:
            free = [device for device in requested if device not in in_use.devices]
            of_pool = [device for device in free if device.driver == free[0].driver]
            if of_pool and of_pool[0].driver in likeness.drivers:
                kind = likeness.after(in_use).kinds([])
                of_pool = {kind(device): device for device in reversed(of_pool)}.values()
                of_pool = sorted(of_pool, key=requested.index)
            else:
                of_pool = of_pool[:1]
            return Choices(tuple(_given(claim, [device], in_use) for device in of_pool), are_all=True)
        outcomes = self._ask_alike(claim, shape, in_use, likeness)
        if isinstance(outcomes[0], TimedOut):
            one = self.place(claim, shape, in_use)
            return Choices(() if one is None else (one,), are_all=one is None)
        found = [placed for outcome in outcomes if (placed := _placed(outcome, in_use)) is not None]
        return Choices(tuple(found), are_all=True)

    def _ask(self, claim: ClaimAsk, shape: NodeShape, in_use: NodeUse) -> Placed | None:
        requested = self._requested(claim, shape)
        if requested is not None:
            free = [device for device in requested if device not in in_use.devices]
            return None if len(free) < claim.fewest else _given(claim, free[: claim.fewest], in_use)
        (outcome,) = self._ask_alike(claim, shape, in_use, None, SIMPLE_STEPS)
        if isinstance(outcome, TimedOut):
            freely = replace(shape, in_order=frozenset())
            likeness = self.likeness(freely, [claim], first_only=True)
            (outcome,) = self._ask_alike(claim, shape, in_use, likeness)
        return _placed(outcome, in_use)

    def _ask_alike(
        self,
        claim: ClaimAsk,
        shape: NodeShape,
        in_use: NodeUse,
        likeness: Likeness | None,
        most: int = MOST_STEPS,
    ) -> list[Outcome]:
        self.spend(len(shape.devices) // 2)
        before = min(most, self._steps.left)
        steps = Steps(before)
        outcomes = allocate_alike(
            [claim.body],
            self.classes,
            inventory_of(shape),
            CandidateNode(NODE, shape.labels),
            in_use=in_use.for_allocator,
            minor=self.minor,
            alike=None if likeness is None else likeness.after(in_use),
            steps=steps,
        )
        self._steps.left -= before - max(steps.left, 0)
        return outcomes


def _cost(expression: str, minor: str) -> int:
    try:
        return environment(minor).compile(expression).cost
    except (CelInvalid, CelUnsupported):
        return 0  # it is not evaluated


def _is_plain(claim: ClaimAsk, shape: NodeShape) -> bool:
    """Return whether a claim only requests whole devices, each with its own name.

    What devices must have in common leaves a claim of one device plain.
    """
    return (
        len(claim.asks) == 1
        and "/" not in claim.asks[0].name
        and claim.asks[0].is_plain
        and (not claim.constraints or claim.fewest == 1)
        and claim.fewest <= MOST_DEVICES
        and shape.is_simple
        and not shape.counters
        and len({device.key for device in shape.devices}) == len(shape.devices)
    )


def _given(claim: ClaimAsk, devices: Sequence[DeviceId], in_use: NodeUse) -> Placed:
    given = tuple((claim.asks[0].name, device.driver, device.device) for device in devices)
    return Placed(given, NodeUse(in_use.devices.union(devices), in_use.shares))


def _placed(outcome: Outcome, in_use: NodeUse) -> Placed | None:
    if isinstance(outcome, NoFit):
        return None
    if isinstance(outcome, TimedOut):
        raise Undecidable(GIVEN_UP)
    if not isinstance(outcome, Allocation):
        raise Undecidable(outcome.message)
    given = tuple(
        (item.request, item.device.driver, item.device.device) for one in outcome.claims for item in one
    )
    return Placed(given, after(in_use, outcome))


def _attributes(constraint: Mapping[str, Any]) -> list[str]:
    return [constraint[key] for key in ("matchAttribute", "distinctAttribute") if constraint.get(key)]


def _value(device: NodeDevice, attribute: str) -> str:
    domain, _, identity = attribute.partition("/")
    attributes = device.placed["attributes"]
    found = attributes.get(attribute, attributes.get(identity) if domain == device.driver else None)
    return "" if found is None else repr(found)


def _divides(coarse: Mapping[tuple[str, str], str], fine: Mapping[tuple[str, str], str]) -> bool:
    above: dict[str, str] = {}
    return all(above.setdefault(value, coarse[key]) == coarse[key] for key, value in fine.items() if value)


def _kinds(
    shape: NodeShape, claims: Sequence[ClaimAsk], match: Callable[[Ask, NodeShape], Match]
) -> dict[tuple[str, str], str]:
    """All that a claim may see of a device besides what constraints look at."""
    kinds: dict[tuple[str, str], list[object]] = {}
    parts = {name for claim in claims for name, _ in claim.parts}
    for device in shape.devices:
        name = device.name if device.driver in shape.in_order else ""
        hidden = ("name", "attributes", "capacity")
        body = sorted((key, value) for key, value in device.placed.items() if key not in hidden)
        capacity: Mapping[str, Any] = device.placed.get("capacity", {})
        if not device.placed.get("allowMultipleAllocations"):
            capacity = {key: value for key, value in capacity.items() if key in parts}
        kinds[device.key] = [device.driver, name, body, sorted(capacity.items())]
    selectors = {
        tuple(item.expression for item in ask.selectors): ask for claim in claims for ask in claim.asks
    }
    for ask in selectors.values():
        found = match(ask, shape)
        for key in found.certain:
            kinds[key].append(True)
        for miss in found.misses:
            kinds[miss.device.key].append(miss.outcome)
    return {key: repr(kind) for key, kind in kinds.items()}


def _branch(
    keys: Sequence[tuple[str, str]],
    levels: Sequence[str],
    values: Mapping[str, Mapping[tuple[str, str], str]],
    leaves: Mapping[tuple[str, str], _Branch],
) -> _Branch:
    if not levels:
        return _joined([leaves[key] for key in keys])
    together: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in keys:
        together[values[levels[0]][key]].append(key)
    return _joined([_branch(part, levels[1:], values, leaves) for part in together.values()])


def _joined(branches: Sequence[_Branch]) -> _Branch:
    ordered = sorted(branches, key=lambda branch: repr(branch.shape))
    alike = tuple(tuple(same) for _, same in groupby(ordered, key=lambda branch: branch.shape))
    return _Branch(tuple(branch.shape for branch in ordered), None, alike)
