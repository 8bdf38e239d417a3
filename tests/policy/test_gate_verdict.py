import json
import sys
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.core.places import PACKAGE, top_folder
from dra_fleet.policy import pack
from dra_fleet.policy.gate.errors import GateError
from dra_fleet.policy.gate.preset import with_own
from dra_fleet.policy.gate.record import read_record
from dra_fleet.policy.gate.running import changed, identity
from dra_fleet.policy.gate.verdict import Expected, GateVerdict, check
from dra_fleet.policy.rule import Preset, StackRule

URN = "urn:pulumi:dev::other::aws:eks/cluster:Cluster::c"
ROOT = "urn:pulumi:dev::other::pulumi:pulumi:Stack::other-dev"
FLOOR = "cluster-require-minimum-kubernetes"
STABLE = "claim-require-stable-api"
ON_RESOURCES = [rule.name for rule in pack.RULES if not isinstance(rule, StackRule)]
ON_STACK = [rule.name for rule in pack.RULES if isinstance(rule, StackRule)]


def pack_of(**more: Any) -> dict[str, Any]:
    return {"policyPackName": pack.NAME, "policyPackVersion": pack.VERSION, **more}


def events() -> dict[str, dict[str, Any]]:
    """By name the events of a preview in which everything passed."""
    return {
        "root": {"resourcePreEvent": {"metadata": {"op": "create", "urn": ROOT, "new": {}}}},
        "root checked": {"policyAnalyzeSummaryEvent": pack_of(resourceUrn=ROOT, passed=ON_RESOURCES)},
        "step": {"resourcePreEvent": {"metadata": {"op": "create", "urn": URN, "new": {}}}},
        "checked": {"policyAnalyzeSummaryEvent": pack_of(resourceUrn=URN, passed=ON_RESOURCES)},
        "stack": {"policyAnalyzeStackSummaryEvent": pack_of(passed=ON_STACK)},
        "end": {"summaryEvent": {"result": "succeeded"}},
    }


def verdict(given: dict[str, dict[str, Any]], preset: Preset = "standard", *without: str) -> GateVerdict:
    record = read_record([json.dumps(event) for event in given.values()], "events")
    return check(record, Expected(preset=preset, without=frozenset(without)))


def violation(level: str, rule: str = FLOOR) -> dict[str, Any]:
    return {"policyEvent": pack_of(policyName=rule, enforcementLevel=level, message="m", resourceUrn=URN)}


def test_a_preview_in_which_everything_was_checked_passes() -> None:
    found = verdict(events())
    assert (found.problems, found.exit_code, found.resources) == ((), 0, 2)


def test_a_mandatory_finding_fails() -> None:
    found = verdict({"found": violation("mandatory"), **events()})
    assert (found.problems, found.exit_code, found.mandatory) == ((), 1, 1)


def test_an_advisory_finding_passes() -> None:
    assert verdict({"found": violation("advisory", pack.UNJUDGED.name), **events()}).exit_code == 0


@pytest.mark.parametrize(
    ("event", "problem"),
    [
        ("checked", "1 of 2 resources were not checked"),
        ("stack", "the rules on the whole stack did not run"),
        ("end", "the events end before the engine's summary"),
    ],
)
def test_a_missing_event_fails_and_is_named(event: str, problem: str) -> None:
    given = events()
    del given[event]
    found = verdict(given)
    assert found.exit_code == 3
    assert len(found.problems) == 1
    assert problem in found.problems[0]


def test_a_pack_that_did_not_run_fails() -> None:
    given = events()
    del given["root checked"], given["checked"], given["stack"]
    (problem,) = verdict(given).problems
    assert problem.startswith("the policy pack dra-fleet did not run")


def test_an_empty_pack_fails_naming_every_mandatory_rule() -> None:
    given = events()
    given["checked"]["policyAnalyzeSummaryEvent"]["passed"] = []
    given["stack"]["policyAnalyzeStackSummaryEvent"]["passed"] = []
    found = verdict(given)
    requested = Expected(preset="standard")
    names = [*requested.mandatory(stack=False), *requested.mandatory(stack=True)]
    assert [problem.split()[2] for problem in found.problems] == names


def test_a_disabled_mandatory_rule_fails_unless_it_is_exempt_by_name() -> None:
    given = events()
    given["checked"]["policyAnalyzeSummaryEvent"]["passed"] = [
        name for name in ON_RESOURCES if name != STABLE
    ]
    (problem,) = verdict(given).problems
    assert f"the rule {STABLE} is mandatory, and did not check 1 of 2 resources" in problem
    assert verdict(given, "standard", STABLE).exit_code == 0
    assert verdict(given, "advisory").exit_code == 0


def test_a_mandatory_rule_that_was_lowered_fails() -> None:
    found = verdict({"found": violation("advisory"), **events()})
    assert found.exit_code == 3
    assert found.mandatory == 1
    assert "a policy config lowered it" in found.problems[0]


def test_advice_is_no_lowered_rule_but_in_production() -> None:
    advice = violation("advisory")
    advice["policyEvent"]["severity"] = "low"
    given = {"found": advice, **events()}
    assert (verdict(given).exit_code, verdict(given).findings[0].level) == (0, "advisory")
    strict = verdict(given, "production")
    assert (strict.exit_code, strict.findings[0].level) == (3, "mandatory")
    assert "a policy config lowered it" in strict.problems[0]


def test_a_rule_without_advice_is_lowered_whatever_its_severity() -> None:
    lowered = violation("advisory", STABLE)
    lowered["policyEvent"]["severity"] = "low"
    assert verdict({"found": lowered, **events()}).exit_code == 3


def test_another_version_of_the_pack_fails() -> None:
    given = events()
    given["checked"]["policyAnalyzeSummaryEvent"]["policyPackVersion"] = "0.0.1"
    (problem,) = verdict(given).problems
    assert "ran as 0.0.1" in problem


def test_rejects_the_output_of_plain_json_by_name() -> None:
    for lines in (["{\n", '  "steps": []\n', "}\n"], [json.dumps({"steps": []})]):
        with pytest.raises(GateError, match="PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true"):
            read_record(lines, "events.json")


@pytest.mark.parametrize("lines", [[], ["nonsense"], ["[]"], ['{"policyEvent": 3}']])
def test_rejects_files_without_a_stream_of_events(lines: list[str]) -> None:
    with pytest.raises(GateError):
        read_record(lines, "events.json")


def test_a_rule_that_is_exempt_by_name_is_reported_and_stops_nothing() -> None:
    found = verdict({"found": violation("mandatory"), **events()}, "standard", FLOOR)
    assert (found.problems, found.exit_code, found.exempt) == ((), 0, (FLOOR,))
    assert [(one.rule, one.level) for one in found.findings] == [(FLOOR, "advisory")]


def test_a_rule_that_is_exempt_is_advisory_in_what_the_engine_is_given() -> None:
    assert with_own("standard", None, {FLOOR})[FLOOR] == {"enforcementLevel": "advisory"}
    assert with_own("standard", None)[FLOOR] == {"enforcementLevel": "mandatory"}


def test_a_program_s_traceback_keeps_its_lines() -> None:
    text = "Program failed with an unhandled exception:\nTraceback:\n  File x, line 1\nKeyError: 'a'\n"
    given = {"error": {"diagnosticEvent": {"severity": "error", "message": text}}, **events()}
    assert verdict(given).problems == (f"the preview failed: {text.strip()}",)


def test_a_step_that_the_summary_counts_and_no_event_reports_fails() -> None:
    given = events()
    given["step"]["resourcePreEvent"]["metadata"]["logical"] = True
    given["end"]["summaryEvent"]["resourceChanges"] = {"create": 1}
    assert verdict(given).problems == ()
    given["end"]["summaryEvent"]["resourceChanges"] = {"create": 2, "update": 1}
    assert verdict(given).problems == (
        (
            "the engine's summary counts 2 steps that no event reports: lines are missing; "
            "fix: give all events of the preview, as they were printed"
        ),
    )


@pytest.mark.parametrize(
    ("event", "rule", "where"), [("checked", FLOOR, URN), ("stack", ON_STACK[0], "the stack")]
)
def test_a_rule_that_failed_silently_fails(event: str, rule: str, where: str) -> None:
    given = events()
    (said,) = given[event].values()
    said["passed"] = [name for name in said["passed"] if name != rule]
    said["failed"] = [rule]
    assert verdict({"failed": violation("mandatory", rule), **given}).exit_code == 1
    assert verdict(given).problems == (
        (
            f"the rule {rule} found something on {where}, and no event reports what: lines are missing; "
            "fix: give all events of the preview, as they were printed"
        ),
    )


@pytest.mark.slow
def test_the_pack_is_its_folders_what_it_imports_and_its_environment() -> None:
    found = identity()
    import grpc  # noqa: PLC0415 - as the pack does
    import yaml  # noqa: PLC0415

    for file in (
        top_folder("policies") / "run-pack",
        top_folder("policies") / "rules" / "chart.py",
        PACKAGE / "clouds" / "gke" / "machines.yaml",
        Path(grpc.__file__),
        Path(yaml.__file__),
        Path(sys.executable),
        Path(sys.prefix) / "pyvenv.cfg",
    ):
        assert str(file) in found
    assert changed(found, identity()) == []


def test_new_removed_and_different_files_are_changes_except_new_compiled_files() -> None:
    before = {"a.py": "1", "gone.py": "1", "__pycache__/a.pyc": "1", "same.py": "1"}
    after = {"a.py": "2", "new.py": "1", "__pycache__/a.pyc": "2", "__pycache__/b.pyc": "1", "same.py": "1"}
    assert changed(before, after) == ["__pycache__/a.pyc", "a.py", "gone.py", "new.py"]
