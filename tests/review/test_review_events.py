import json

import pytest

from dra_fleet.review.events import ReviewError, read_events
from dra_fleet.review.running import parse_running
from tests.review.samples import DATA, preview


def test_a_preview_reports_its_stack_steps_rules_and_settings() -> None:
    seen = preview("destructive")
    assert (seen.stack, seen.result) == ("lab", "succeeded")
    assert seen.operations["replace"] == 2
    assert {step.operation for step in seen.steps} >= {"create-replacement", "replace", "delete"}
    assert seen.packs == {"dra-fleet": "0.1.0"}
    assert "cluster-require-minimum-kubernetes" in seen.passed
    assert "dra-fleet:fleet" in seen.config


def test_events_that_end_early_have_no_result() -> None:
    lines = (DATA / "same.jsonl").read_text(encoding="utf-8").splitlines()[:20]
    assert read_events(lines, "cut").result == ""


def test_a_policy_violation_is_kept_with_its_severity() -> None:
    event = {
        "policyEvent": {
            "policyName": "no-such-thing",
            "policyPackName": "theirs",
            "enforcementLevel": "mandatory",
            "severity": "critical",
            "message": "wrong; fix: do it right\n",
            "resourceUrn": "urn:pulumi:dev::p::t::name",
        }
    }
    found = read_events([json.dumps(event), json.dumps({"summaryEvent": {"result": "failed"}})], "x")
    assert [(item.rule, item.severity, item.message) for item in found.violations] == [
        ("no-such-thing", "critical", "wrong; fix: do it right")
    ]


STEP = (
    '{"resourcePreEvent": {"metadata": '
    '{"op": "same", "urn": "urn:pulumi:a::b::c::d", "new": {"provider": "PROVIDER"}}}}'
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "x holds no events of a preview; save them with "),
        ("no json", "x, line 1: is not valid JSON: Expecting value; "),
        ("[]", "x, line 1: is not an event of the engine; "),
        ('{"policyEvent": {"severity": "high"}}', "x, line 1: is not an event of the engine; "),
        (
            STEP.replace("PROVIDER", "urn:pulumi:a::b::c::d"),
            "x, line 1: is not an event of the engine; resourcePreEvent.metadata.new.provider is wrong; ",
        ),
        ('{"config": {}, "steps": []}', "x is what plain `pulumi preview --json` prints: "),
        ('{\n  "steps": []\n}', "x is what plain `pulumi preview --json` prints: "),
    ],
)
def test_rejects_files_without_a_stream_of_events_with_the_fix(text: str, message: str) -> None:
    with pytest.raises(ReviewError) as refused:
        read_events(text.splitlines(), "x")
    assert str(refused.value).startswith(message)


def test_a_file_that_does_not_say_what_runs_is_refused_with_the_place() -> None:
    with pytest.raises(ReviewError, match=r"^x does not say what runs: clusters\.lab\.pools: "):
        parse_running({"clusters": {"lab": {"workloads": {}}}}, "x")


def test_the_urn_reports_the_type_where_the_event_does_not() -> None:
    urn = "urn:pulumi:dev::fleet::dra-fleet:aks:Cluster$kubernetes:batch/v1:Job::train"
    event = {"resourcePreEvent": {"metadata": {"op": "create", "urn": urn}}}
    found = read_events([json.dumps(event), json.dumps({"summaryEvent": {"result": "succeeded"}})], "x")
    assert [step.type for step in found.steps] == ["kubernetes:batch/v1:Job"]
