"""Devices of a node that a request matches, and the first false clause of each other device."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from dra_fleet.kubernetes.cel import CelInvalid, CelUnsupported, environment, judgeable_clauses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.kubernetes.cel.program import DeviceCel, Program
    from dra_fleet.model.nodes import NodeDevice, NodeShape
    from dra_fleet.proof.allocator.requests import Selector
    from dra_fleet.proof.demand.asks import Ask

Outcome = Literal["false", "error", "unknown"]


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class Miss:
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


@dataclass(frozen=True, kw_only=True)
class Match:
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
