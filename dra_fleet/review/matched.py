"""Selectors of a DeviceClass and its number of matching devices, before and after a change."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import TYPE_CHECKING

from msgspec import Struct

from dra_fleet.kubernetes.cel.clauses import clauses, split
from dra_fleet.kubernetes.cel.intent import asked
from dra_fleet.proof.allocator.requests import Selector
from dra_fleet.proof.demand.asks import Ask
from dra_fleet.proof.report import Undecidable
from dra_fleet.review.events import short_list, value_at
from dra_fleet.review.masking import change_shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.proof.search.placements import Placements
    from dra_fleet.review.events import EngineStep
    from dra_fleet.review.pools import Offered

_SELECTORS = "spec.selectors"
_EQUALS = re.compile(r"""[^!?()'"]*(?:\[\s*['"][^'"]+['"]\s*\][^!?()'"]*)+==\s*(?:'[^']*'|"[^"]*")""")


def asked_before_and_after(steps: Sequence[EngineStep]) -> str:
    """Describe the change of a class's selectors, such as `memory.min 70Gi -> 60Gi`; empty without one.

    Bounds and what attributes must be are reported in the stack file's own words, other clauses as they are.

    Args:
        steps: The engine's steps on the class.
    """
    step = _changed(steps)
    if step is None:
        return ""
    before, after = (_clauses(_expressions(state or {})) for state in (step.old, step.new))
    gone, came = _Terms.of(before, without=after), _Terms.of(after, without=before)
    names = sorted({*gone.named, *came.named})
    named = [
        f"{name} {gone.named.get(name, 'anything')} -> {came.named.get(name, 'anything')}" for name in names
    ]
    pairs = (change_shown(*pair, _SELECTORS) for pair in zip_longest(gone.others, came.others))
    return ", ".join([*named, *(f"{old or 'nothing'} -> {new or 'nothing'}" for old, new in pairs)])


def _clauses(expressions: Iterable[str]) -> list[str]:
    return [" ".join(clause.split()) for text in expressions for clause in clauses(text)]


class _Terms(Struct, frozen=True, kw_only=True):
    """Clauses: those that a stack file has a name for, by it, and the others as they are."""

    named: Mapping[str, str]
    others: Sequence[str]

    @classmethod
    def of(cls, reported: Sequence[str], *, without: Sequence[str]) -> _Terms:
        """Return the clauses that are not among others, nor have the same words as one of them."""
        same = {_term(clause) for clause in without}
        left = [clause for clause in reported if clause not in without]
        terms = {clause: term for clause in left if (term := _term(clause)) and term not in same}
        return cls(named=dict(terms.values()), others=[clause for clause in left if clause not in terms])


def _term(clause: str) -> tuple[str, str] | None:
    """Return the name and value of a clause in a stack file; None if it has none there."""
    found = asked(clause)
    if found.only_driver:
        return "driver", found.only_driver
    if len(found.bounds) == 1:
        (bound,) = found.bounds
        return f"{bound.identity}.{'min' if bound.is_least else 'max'}", bound.limit
    parts = split(clause)
    texts = [one for one in found.comparisons if one.operator == "==" and one.literal == "string"]
    names = {one.access.identity for one in texts}
    plain = parts.operator in ("", "||") and all(_EQUALS.fullmatch(text) for text in parts.operands)
    return (
        (names.pop(), " or ".join(dict.fromkeys(one.text for one in texts)))
        if plain and len(names) == 1
        else None
    )


def matched_before_and_after(steps: Sequence[EngineStep], offered: Offered | None) -> str:
    """Describe the devices on the future nodes that a class matches before and after; empty if unknown.

    Args:
        steps: The engine's steps on the class.
        offered: What its cluster offers, None if the cluster is deleted.
    """
    step = _changed(steps)
    if step is None or offered is None or not offered.groups:
        return ""
    before, after = (
        {group.pool: _matched(step.name, state, group, offered.placements) for group in offered.groups}
        for state in (step.old or {}, step.new or {})
    )
    total = sum(len(group.shape.devices) * group.most for group in offered.groups)
    changed = [
        f"pool {group.pool} {_reported(before[group.pool])}, then {_reported(after[group.pool])} "
        f"of {len(group.shape.devices)} on a node"
        for group in offered.groups
        if before[group.pool] != after[group.pool]
    ]
    amounts = f"{_total(before, offered)} of {total} devices before, {_total(after, offered)} after"
    return f"matches {amounts}, at most nodes" + (f": {short_list(changed)}" if changed else "")


def _changed(steps: Sequence[EngineStep]) -> EngineStep | None:
    """Return the step that has the selectors of before and after."""
    return next((item for item in steps if item.old and item.new and _expressions(item.old)), None)


def _expressions(state: Mapping[str, object]) -> list[str]:
    selectors = value_at(state.get("inputs"), _SELECTORS)
    found: list[object] = list(selectors) if isinstance(selectors, list) else []  # pyright: ignore[reportUnknownArgumentType]
    texts = [value_at(item, "cel.expression") for item in found]
    return [text for text in texts if isinstance(text, str)]


def _matched(name: str, state: Mapping[str, object], group: NodeGroup, placements: Placements) -> int | None:
    """Devices of a node; None where it depends on a value that no one can know yet, or is unknown."""
    ask = Ask(
        name=name,
        class_name=name,
        selectors=tuple(Selector(place=f"class {name}", expression=text) for text in _expressions(state)),
        count=1,
        is_plain=True,
    )
    try:
        found = placements.match(ask, group.shape)
    except Undecidable:
        return None
    return len(found.certain) if found.certain == found.maybe else None


def _reported(count: int | None) -> str:
    return "an unknown number" if count is None else str(count)


def _total(counts: Mapping[str, int | None], offered: Offered) -> str:
    known = [(counts[group.pool], group.most) for group in offered.groups]
    if any(count is None for count, _ in known):
        return "an unknown number"
    return str(sum((count or 0) * most for count, most in known))
