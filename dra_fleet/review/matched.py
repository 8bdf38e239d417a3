"""What a DeviceClass asks for and how many devices it matches, before and after its selectors change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.cel.intent import asked
from dra_fleet.proof.allocator.requests import Selector
from dra_fleet.proof.demand.asks import Ask
from dra_fleet.proof.search.matching import match
from dra_fleet.review.paths import value_at
from dra_fleet.review.words import short_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.review.events import EngineStep
    from dra_fleet.review.offered import Offered

_SELECTORS = "spec.selectors"


def asked_before_and_after(steps: Sequence[EngineStep]) -> str:
    """What of a class's selectors changes, such as `memory.min 70Gi -> 60Gi`; empty where nothing does.

    Bounds and what attributes must be are told in the stack file's own words, other clauses as they are.

    Args:
        steps: The engine's steps on the class.
    """
    step = _changed(steps)
    if step is None:
        return ""
    before, after = (_terms(_expressions(state or {})) for state in (step.old, step.new))
    return ", ".join(
        f"{name} {before.get(name, 'anything')} -> {after.get(name, 'anything')}"
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )


def _terms(expressions: Iterable[str]) -> dict[str, str]:
    """What expressions ask for, by its name in a stack file."""
    terms: dict[str, list[str]] = {}
    for expression in expressions:
        found = asked(expression)
        for bound in found.bounds:
            terms.setdefault(f"{bound.identity}.{'min' if bound.is_least else 'max'}", []).append(bound.limit)
        for one in found.comparisons:
            if one.operator == "==" and one.literal == "string":
                terms.setdefault(one.access.identity, []).append(one.text)
        if found.only_driver:
            terms.setdefault("driver", []).append(found.only_driver)
    return {name: " or ".join(dict.fromkeys(texts)) for name, texts in terms.items()}


def matched_before_and_after(steps: Sequence[EngineStep], offered: Offered | None) -> str:
    """What a class matched on the nodes as they will be, and what it will, as one sentence; empty if unknown.

    Args:
        steps: The engine's steps on the class.
        offered: What its cluster offers, None where the cluster goes.
    """
    step = _changed(steps)
    if step is None or offered is None or not offered.groups:
        return ""
    before, after = (
        {
            group.pool: _matched(step.name, state, group, offered.cluster.kubernetes)
            for group in offered.groups
        }
        for state in (step.old or {}, step.new or {})
    )
    total = sum(len(group.shape.devices) * group.most for group in offered.groups)
    changed = [
        f"pool {group.pool} {_told(before[group.pool])}, then {_told(after[group.pool])} "
        f"of {len(group.shape.devices)} on a node"
        for group in offered.groups
        if before[group.pool] != after[group.pool]
    ]
    amounts = f"{_total(before, offered)} of {total} devices before, {_total(after, offered)} after"
    return f"matches {amounts}, at most nodes" + (f": {short_list(changed)}" if changed else "")


def _changed(steps: Sequence[EngineStep]) -> EngineStep | None:
    """The step that has the selectors of before and after."""
    return next((item for item in steps if item.old and item.new and _expressions(item.old)), None)


def _expressions(state: Mapping[str, object]) -> list[str]:
    selectors = value_at(state.get("inputs"), _SELECTORS)
    found: list[object] = list(selectors) if isinstance(selectors, list) else []  # pyright: ignore[reportUnknownArgumentType]
    texts = [value_at(item, "cel.expression") for item in found]
    return [text for text in texts if isinstance(text, str)]


def _matched(name: str, state: Mapping[str, object], group: NodeGroup, minor: str) -> int | None:
    """Devices of a node; None where it hangs on a value that nobody can know yet."""
    ask = Ask(
        name=name,
        class_name=name,
        selectors=tuple(Selector(place=f"class {name}", expression=text) for text in _expressions(state)),
        count=1,
        is_plain=True,
    )
    found = match(ask, group.shape, minor)
    return len(found.certain) if found.certain == found.maybe else None


def _told(count: int | None) -> str:
    return "an unknown number" if count is None else str(count)


def _total(counts: Mapping[str, int | None], offered: Offered) -> str:
    known = [(counts[group.pool], group.most) for group in offered.groups]
    if any(count is None for count, _ in known):
        return "an unknown number"
    return str(sum((count or 0) * most for count, most in known))
