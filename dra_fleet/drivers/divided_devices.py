"""Devices that can be divided, and who takes whole ones of them where partitions are meant.

Selectors are checked by evaluation on devices; how they are written does not matter.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from msgspec import Struct

from dra_fleet import drivers
from dra_fleet.kubernetes.cel import CelInvalid, environment, judgeable_clauses
from dra_fleet.kubernetes.cel.clauses import split
from dra_fleet.kubernetes.minors import kubernetes_facts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.drivers.resources import Dividable
    from dra_fleet.kubernetes.cel import CelDevice
    from dra_fleet.kubernetes.cel.program import Program

MINOR: Final = kubernetes_facts().newest
"""The minor whose CEL checks; what older ones lack makes an expression invalid there, not wider."""

Verdict = Literal["yes", "no", "maybe", "error"]
Taken = Literal["none", "too", "meant"]


_NAMED: Final = re.compile(
    r"(?:^|[-._])(?<!no[-._])(?<!non[-._])(?<!without[-._])(?:mig|[1-7]g)(?:$|[-._0-9])"
)


def names_partitions(name: str) -> bool:
    """Return whether the name of a class or claim says MIG partitions: `nvidia-mig`, `mig-gpu-1g`."""
    return _NAMED.search(name) is not None


@lru_cache(maxsize=4096)
def whole_taken(expressions: tuple[str, ...], dividing: tuple[Dividable, ...]) -> tuple[str, ...]:
    """Return the titles of the known whole devices that selectors may select.

    Raises:
        CelUnsupported: An expression may be valid, but cannot be evaluated here.
    """
    selection = DeviceSelection.of(expressions)
    whole = (device for each in dividing for device in each.whole())
    return tuple(
        device.title for device in whole if selection is not None and selection.may_select(device.cel)
    )


@lru_cache(maxsize=4096)
def known_whole_taken(
    expressions: tuple[str, ...], dividing: tuple[Dividable, ...], *, divided: bool
) -> tuple[str, ...]:
    """Return the titles of known whole devices that selectors for partitions would also select.

    Selectors are for partitions if they select a device only because it is a partition. If devices are
    divided, selectors that select partitions are for partitions.

    Args:
        expressions: CEL; all must be true of a device.
        dividing: the driver whose devices are checked.
        divided: True if devices are divided where the selectors apply.

    Returns:
        The titles; none if an expression is not valid CEL, which other checks reject.

    Raises:
        CelUnsupported: An expression may be valid, but cannot be evaluated here.
    """
    selection = DeviceSelection.of(expressions)
    if selection is None:
        return ()
    if divided:  # the first partition decides
        parts = (part for each in dividing for part in each.partitions())
        is_meant = any(selection.may_select(part.cel) for part in parts)
    else:
        is_meant = partitions_taken(expressions, dividing) == "meant"
    return whole_taken(expressions, dividing) if is_meant else ()


@lru_cache(maxsize=4096)
def partitions_taken(expressions: tuple[str, ...], dividing: tuple[Dividable, ...]) -> Taken:
    """Return which known partitions selectors select: none, some because they are partitions, or others too.

    Raises:
        CelUnsupported: One may be valid, but cannot be evaluated here.
    """
    selection = DeviceSelection.of(expressions)
    if selection is None:
        return "none"
    taken = [part for each in dividing for part in each.partitions() if selection.may_select(part.cel)]
    reported = selection.selects
    if any(reported(part.cel) == "yes" and reported(part.as_whole) in ("no", "error") for part in taken):
        return "meant"
    return "too" if taken else "none"


@cache
def dividable() -> tuple[Dividable, ...]:
    """Return the divisible devices of each driver."""
    found = (driver.resources.dividable for driver in drivers.known())
    return tuple(each for each in found if each is not None)


class DeviceSelection(Struct, frozen=True, kw_only=True):
    """Selectors that are all true for the devices they select."""

    programs: tuple[Program, ...]

    @classmethod
    def of(cls, expressions: Sequence[str]) -> DeviceSelection | None:
        """Compile expressions; None where one is not valid CEL.

        Raises:
            CelUnsupported: One may be valid, but cannot be evaluated here.
        """
        compile_one = environment(MINOR).compile
        try:
            return cls(programs=tuple(compile_one(expression) for expression in expressions))
        except CelInvalid:
            return None

    def selects(self, device: CelDevice) -> Verdict:
        """Return whether a device is selected; `error` if evaluation fails on it, as in the scheduler."""
        verdict: Verdict = "yes"
        for program in self.programs:  # in order: what follows a false or an error is never evaluated
            outcome = _outcome(program, device)
            if outcome in ("false", "error"):
                return "no" if outcome == "false" else "error"
            if outcome == "unknown":
                if not _possible(program.expression, device).true:
                    return "no"
                verdict = "maybe"
        return verdict

    def may_select(self, device: CelDevice) -> bool:
        """Return True if a device is selected, or may be."""
        return self.selects(device) in ("yes", "maybe")


def _outcome(program: Program, device: CelDevice) -> str:
    """Return the result of an expression. Clauses that expressions share are evaluated once per device."""
    operand = environment(MINOR).operand
    for clause in judgeable_clauses(program.expression, MINOR):
        if operand(clause).evaluate(device).outcome == "false":
            return "false"  # whatever the other clauses are, errors too
    return program.evaluate(device).outcome


class _Possible(NamedTuple):
    """The possible results of an expression with unknown values; neither is an error."""

    true: bool
    false: bool


def _possible(expression: str, device: CelDevice) -> _Possible:
    outcome = environment(MINOR).operand(expression).evaluate(device).outcome
    operator, operands = split(expression)
    if outcome != "unknown" or not operator:
        return _Possible(true=outcome in ("true", "unknown"), false=outcome in ("false", "unknown"))
    checked = [_possible(operand, device) for operand in operands]
    match operator:
        case "&&":
            return _Possible(all(one.true for one in checked), any(one.false for one in checked))
        case "||":
            return _Possible(any(one.true for one in checked), all(one.false for one in checked))
        case "!":
            return _Possible(checked[0].false, checked[0].true)
        case _:
            condition, then, otherwise = checked
            return _Possible(
                (condition.true and then.true) or (condition.false and otherwise.true),
                (condition.true and then.false) or (condition.false and otherwise.false),
            )
