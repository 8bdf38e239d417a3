import json
from collections.abc import Callable
from typing import Any

import pytest

from dra_fleet.policy.gate import preset
from dra_fleet.policy.gate.record import read_record
from dra_fleet.policy.gate.verdict import Expected, GateVerdict, check
from dra_fleet.policy.gate.without_engine import check_record
from tests.policy.test_gate_verdict import FLOOR, ON_RESOURCES, ON_STACK, ROOT, pack_of

OLD = "urn:pulumi:dev::other::dra-fleet:clouds:ExistingCluster::old"
Events = list[dict[str, Any]]


def step(urn: str, op: str = "create", **inputs: str) -> dict[str, Any]:
    new = {"type": urn.split("::")[2], "urn": urn, "inputs": inputs}
    return {"resourcePreEvent": {"metadata": {"op": op, "urn": urn, "logical": True, "new": new}}}


def end(**changes: int) -> dict[str, Any]:
    return {"summaryEvent": {"result": "succeeded", "resourceChanges": changes}}


def preview() -> Events:
    """A whole preview, without the pack, of a program with a cluster that is too old."""
    return [step(ROOT), step(OLD, kubernetes="1.33"), end(create=2)]


def checked(events: Events, *, again: bool = True) -> GateVerdict:
    record = read_record([json.dumps(event) for event in events], "events")
    if again:
        check_record(record, preset.config("standard"))
    return check(record, Expected(preset="standard"))


def doubled_with_other_inputs(events: Events) -> Events:
    return [*events[:2], step(OLD, kubernetes="1.35"), end(create=2)]


def doubled_and_counted(events: Events) -> Events:
    return [*events[:2], step(OLD, kubernetes="1.35"), end(create=3)]


def step_after_the_summary(events: Events) -> Events:
    return [*events, step(OLD, "update", kubernetes="1.35")]


def two_summaries(events: Events) -> Events:
    return [events[0], end(create=2), end(create=1)]


def two_previews(events: Events) -> Events:
    return [*events, step(ROOT, "same"), end(same=1)]


def another_operation(events: Events) -> Events:
    return [events[0], step(OLD, "Create", kubernetes="1.33"), {"summaryEvent": {"result": "succeeded"}}]


def taken_out(events: Events) -> Events:
    return [events[0], events[2]]


def cut(events: Events) -> Events:
    return events[:2]


def without_any_step(_: Events) -> Events:
    return [end()]


def of_a_destroy(_: Events) -> Events:
    return [step(OLD, "delete"), step(ROOT, "delete"), end(delete=2)]


def of_a_refresh(_: Events) -> Events:
    return [step(ROOT, "refresh"), step(OLD, "refresh"), end(refresh=2)]


def more_than_the_summary_counts(events: Events) -> Events:
    return [*events[:2], end(create=1)]


def outside_of_a_target(events: Events) -> Events:
    return [events[0], step(OLD, "same", kubernetes="1.35"), end(create=1, same=1)]


ATTACKS: dict[str, tuple[Callable[[Events], Events], str]] = {
    attack.__name__: (attack, problem)
    for attack, problem in (
        (doubled_with_other_inputs, f"a step is reported twice, create of {OLD}: no preview says that"),
        (doubled_and_counted, f"a step is reported twice, create of {OLD}: no preview says that"),
        (step_after_the_summary, "something follows the engine's summary: no preview says that"),
        (two_summaries, "something follows the engine's summary: no preview says that"),
        (two_previews, "something follows the engine's summary: no preview says that"),
        (another_operation, "the engine has no step 'Create': no preview says that"),
        (taken_out, "the engine's summary counts 1 steps that no event reports"),
        (cut, "the events end before the engine's summary"),
        (without_any_step, "no event reports the stack itself, which every program requests"),
        (of_a_destroy, "no event reports the stack itself, which every program requests"),
        (of_a_refresh, "no event reports the stack itself, which every program requests"),
        (more_than_the_summary_counts, "the engine's summary counts fewer steps: no preview says that"),
        (outside_of_a_target, "the preview left 1 resources out"),
    )
}


def test_the_whole_preview_is_checked() -> None:
    found = checked(preview())
    assert (found.problems, [one.rule for one in found.findings]) == ((), [FLOOR])


@pytest.mark.parametrize("name", ATTACKS)
def test_changed_events_prove_nothing(name: str) -> None:
    attack, problem = ATTACKS[name]
    found = checked(attack(preview()))
    assert found.exit_code == 3
    assert any(said.startswith(problem) for said in found.problems), found.problems


def with_pack() -> Events:
    """The same preview with the pack, which found the old cluster."""
    said = {"policyName": FLOOR, "enforcementLevel": "mandatory", "message": "old", "resourceUrn": OLD}
    on_stack = [name for name in ON_STACK if name != FLOOR]
    return [
        *preview()[:2],
        {"policyAnalyzeSummaryEvent": pack_of(resourceUrn=ROOT, passed=ON_RESOURCES)},
        {"policyAnalyzeSummaryEvent": pack_of(resourceUrn=OLD, passed=ON_RESOURCES)},
        {"policyAnalyzeStackSummaryEvent": pack_of(passed=on_stack, failed=[FLOOR])},
        {"policyEvent": pack_of(**said)},
        end(create=2),
    ]


def finding_taken_out(events: Events) -> Events:
    return [event for event in events if "policyEvent" not in event]


def finding_behind_another_event(events: Events) -> Events:
    *others, finding, last = events
    return [*others, {**step(OLD, "read"), **finding}, last]


def finding_lowered(events: Events) -> Events:
    lowered = {"policyEvent": {**events[5]["policyEvent"], "enforcementLevel": "advisory"}}
    return [*events[:5], lowered, events[6]]


def stack_checked_after_the_summary(events: Events) -> Events:
    clean = {"policyAnalyzeStackSummaryEvent": pack_of(passed=ON_STACK)}
    return [*events[:4], events[6], clean]


ATTACKS_ON_RESULTS: dict[str, tuple[Callable[[Events], Events], str]] = {
    attack.__name__: (attack, problem)
    for attack, problem in (
        (finding_taken_out, f"the rule {FLOOR} found something on the stack, and no event reports what"),
        (
            finding_behind_another_event,
            f"the rule {FLOOR} found something on the stack, and no event reports what",
        ),
        (
            finding_lowered,
            f"the rule {FLOOR} is mandatory in the preset standard, and a policy config lowered it",
        ),
        (stack_checked_after_the_summary, "something follows the engine's summary: no preview says that"),
    )
}


def test_the_pack_s_results_are_taken() -> None:
    found = checked(with_pack(), again=False)
    assert (found.problems, [one.rule for one in found.findings]) == ((), [FLOOR])


@pytest.mark.parametrize("name", ATTACKS_ON_RESULTS)
def test_changed_results_prove_nothing(name: str) -> None:
    attack, problem = ATTACKS_ON_RESULTS[name]
    found = checked(attack(with_pack()), again=False)
    assert found.exit_code == 3
    assert any(said.startswith(problem) for said in found.problems), found.problems
