"""Whether the whole pack judged the whole program: if not, that it found nothing proves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.policy import pack

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from dra_fleet.policy.gate.record import Judgement, Record
    from dra_fleet.policy.gate.verdict import Expected

_RUN_PACK: Final = (
    "run the preview with --policy-pack and this pack's run-pack, or use `dra-fleet gate STACK`"
)


def incomplete(
    record: Record, expected: Expected, ours: Collection[Judgement], stack: Collection[Judgement]
) -> Iterable[str]:
    """Why the pack's silence proves nothing.

    Args:
        record: what the engine told.
        expected: what must have run.
        ours: that this pack judged a resource.
        stack: that it judged the stack.
    """
    if not record.finished:
        yield (
            "the events end before the engine's summary: the preview was stopped, or it crashed; "
            "fix: run it again to its end"
        )
    yield from _failed(record)
    yield from _partial(record)
    yield from _untold(record)
    if record.finished and not record.is_of_a_program:
        yield (
            "no event tells of the stack itself, which every program asks for: these are not the events of a "
            "preview of the program, but of a destroy or a refresh, or lines are missing; "
            "fix: give all events of `pulumi preview`, as they were printed"
        )
    if not ours and not stack:
        others = sorted({item.pack for item in record.judgements})
        told = f"; packs that ran: {', '.join(others)}" if others else ""
        yield f"the policy pack {pack.NAME} did not run{told}; fix: {_RUN_PACK}"
        return
    versions = sorted({item.version for item in (*ours, *stack)} - {pack.VERSION})
    if versions:
        yield (
            f"the policy pack {pack.NAME} ran as {', '.join(versions)}, and this is {pack.VERSION}; "
            "fix: judge with the pack that ran"
        )
    yield from _missing(expected.mandatory(stack=False), ours)
    if not stack:
        yield (
            "the rules on the whole stack did not run; the engine runs them when the program has ended "
            "without an error; fix: mend what stopped the preview, see its errors"
        )
    else:
        yield from _missing(expected.mandatory(stack=True), stack)
    judged = {item.urn for item in ours}
    left = [urn for urn in record.resources if urn not in judged]
    if left:
        yield (
            f"{len(left)} of {len(record.resources)} resources were not judged, the first is {left[0]}; "
            "fix: run the preview again, without --target"
        )


def _partial(record: Record) -> Iterable[str]:
    """What is not the whole program, or not the whole pack."""
    if record.left_out:
        yield (
            f"the preview left {len(record.left_out)} resources out, the first is {record.left_out[0]}: "
            "it is said to stay the same, and no state holds it; "
            "fix: preview the whole stack, without --target and --exclude"
        )
    if record.changed_files:
        yield (
            f"{len(record.changed_files)} files of the pack changed during the preview, the first is "
            f"{record.changed_files[0]}; fix: find out who changed it, and judge with an unchanged pack"
        )


def _untold(record: Record) -> Iterable[str]:
    """Events that must have been there, as the others say."""
    fix = "lines are missing; fix: give all events of the preview, as they were printed"
    if record.untold:
        yield f"the engine's summary counts {record.untold} steps that no event tells of: {fix}"
    for odd in record.odd:
        yield f"{odd}: no preview says that; fix: give the events of one preview, once, as they were printed"
    told = {(said.rule, said.urn) for said in record.violations if said.pack == pack.NAME}
    told |= {(rule, "") for rule, _ in told}
    for judged in (*record.judgements, *record.stack_judgements):
        for rule in sorted(judged.failed) if judged.pack == pack.NAME else ():
            if (rule, judged.urn) not in told:
                where = judged.urn or "the stack"
                yield f"the rule {rule} found something on {where}, and no event tells what: {fix}"


def _missing(rules: Iterable[str], judgements: Collection[Judgement]) -> Iterable[str]:
    for rule in rules:
        without = [item.urn for item in judgements if rule not in item.rules]
        if without:
            where = (
                "the stack"
                if not without[0]
                else f"{len(without)} of {len(judgements)} resources, the first is {without[0]}"
            )
            yield (
                f"the rule {rule} is mandatory, and did not judge {where}: "
                "it is disabled by a policy config, or missing from the pack; "
                "fix: take it out of the policy config, or let it off by name: "
                f"--without {rule}"
            )


def _failed(record: Record) -> Iterable[str]:
    """Errors of the preview that are not the policies' own."""
    for error in dict.fromkeys(record.errors):
        if error not in ("preview failed", "update failed"):
            yield f"the preview failed: {error}"
