"""Which devices of a node are as good as each other, so that one order of them stands for many.

Devices form a tree: those of one PCIe root, of one GPU, as far as constraints look at it. Branches of one
form can change places, and no claim can tell. States of a node that differ only so are one.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from dra_fleet.model.nodes import NODE
from dra_fleet.proof.allocator import Amount, DeviceId
from dra_fleet.proof.search.held import Held

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeDevice, NodeShape
    from dra_fleet.proof.allocator import Allocated
    from dra_fleet.proof.demand.asks import Ask, ClaimAsk
    from dra_fleet.proof.search.matching import Match

Mark = tuple[tuple[str, Amount], ...]
"""What is in use of a device: nothing, all of it, or parts."""
Form = tuple[Any, ...]
"""What is in use below a branch, whichever of alike branches it is."""

_WHOLE: Mark = (("", 1),)


@dataclass(frozen=True, eq=False)
class _Branch:
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
    """Tells of one sort of node which devices are alike to some claims.

    Args:
        shape: the node.
        claims: all that may come to it.
        match: what a request finds on a node.
        first_only: whether a search with it asks for the first solution only.
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
        self._canonical: dict[Held, Held] = {}

    def canonical(self, held: Held) -> Held:
        """What is in use, on those of alike devices that stand for all that are."""
        if held not in self._canonical:
            marks = _marks(held)
            found: dict[DeviceId, Mark] = {}
            _assign(self._tree, _form(self._tree, marks), found)
            self._canonical[held] = _held(found)
        return self._canonical[held]

    def after(self, held: Held) -> _After:
        """The same for the allocator, where some devices are in use."""
        return _After(self.drivers, self._tree, _marks(held), self._first_only)


@dataclass(frozen=True, eq=False)
class _After:
    """Which devices are alike once some are in use; for the allocator."""

    drivers: frozenset[str]
    tree: _Branch
    held: Mapping[DeviceId, Mark]
    first_only: bool

    def kinds(self, taken: Sequence[Sequence[Allocated]]) -> Callable[[DeviceId], Hashable]:
        """What is equal for devices that can change places once some are taken besides."""
        marks = dict(self.held)
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


def _attributes(constraint: Mapping[str, Any]) -> list[str]:
    return [constraint[key] for key in ("matchAttribute", "distinctAttribute") if constraint.get(key)]


def _value(device: NodeDevice, attribute: str) -> str:
    domain, _, identity = attribute.partition("/")
    attributes = device.placed["attributes"]
    found = attributes.get(attribute, attributes.get(identity) if domain == device.driver else None)
    return "" if found is None else repr(found)


def _divides(coarse: Mapping[tuple[str, str], str], fine: Mapping[tuple[str, str], str]) -> bool:
    """Whether all devices of a finer value have one coarser value."""
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


def _form(branch: _Branch, marks: Mapping[DeviceId, Mark]) -> Form:
    if branch.device is not None:
        return marks.get(branch.device, ())
    return tuple(tuple(sorted(_form(one, marks) for one in same)) for same in branch.alike)


def _assign(branch: _Branch, form: Form, found: dict[DeviceId, Mark]) -> None:
    """Put a form onto a branch."""
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


def _marks(held: Held) -> dict[DeviceId, Mark]:
    return {**dict(held.shares), **dict.fromkeys(held.devices, _WHOLE)}


def _held(marks: Mapping[DeviceId, Mark]) -> Held:
    devices = frozenset(device for device, mark in marks.items() if mark == _WHOLE)
    shares = tuple(sorted((device, mark) for device, mark in marks.items() if device not in devices))
    return Held(devices, shares)
