import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.policy import pack
from dra_fleet.policy.rule import StackRule

RUNNER = CliRunner()
URN = "urn:pulumi:dev::other::aws:eks/cluster:Cluster::c"
ROOT = "urn:pulumi:dev::other::pulumi:pulumi:Stack::other-dev"
FLOOR = "cluster-require-minimum-kubernetes"


def of_pack(**more: Any) -> dict[str, Any]:
    return {"policyPackName": pack.NAME, "policyPackVersion": pack.VERSION, **more}


def preview(*violations: dict[str, Any], without: str = "") -> list[dict[str, Any]]:
    """The events of a preview with the pack, of which one rule may not have run."""
    ran = [rule.name for rule in pack.RULES if not isinstance(rule, StackRule) and rule.name != without]
    on_stack = [rule.name for rule in pack.RULES if isinstance(rule, StackRule) and rule.name != without]
    return [
        *({"resourcePreEvent": {"metadata": {"op": "create", "urn": urn, "new": {}}}} for urn in (ROOT, URN)),
        *violations,
        *({"policyAnalyzeSummaryEvent": of_pack(resourceUrn=urn, passed=ran)} for urn in (ROOT, URN)),
        {"policyAnalyzeStackSummaryEvent": of_pack(passed=on_stack)},
        {"summaryEvent": {"result": "succeeded"}},
    ]


def violation(message: str) -> dict[str, Any]:
    return {
        "policyEvent": of_pack(
            policyName=FLOOR,
            enforcementLevel="mandatory",
            severity="critical",
            message=message,
            resourceUrn=URN,
        )
    }


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    return tmp_path / "events.jsonl"


def save(path: Path, events: list[dict[str, Any]]) -> str:
    path.write_text("".join(f"{json.dumps(event)}\n" for event in events), encoding="utf-8")
    return str(path)


def test_a_preview_without_findings_passes(saved: Path) -> None:
    result = RUNNER.invoke(app, ["gate", "--events", save(saved, preview())])
    assert result.exit_code == 0
    assert "passed: " in result.stdout
    assert (
        "checked 2 resources with the preset standard; 0 mandatory and 0 advisory findings" in result.stdout
    )


def test_a_finding_is_shown_whole_with_brackets(saved: Path) -> None:
    message = "c: spec.requests[0] is [secret]; allowed: [1]"
    result = RUNNER.invoke(app, ["gate", "--events", save(saved, preview(violation(message)))])
    assert result.exit_code == 1
    shown = "".join(part.strip(" │|") for part in result.stdout.splitlines())
    assert "[secret]" in shown
    assert "spec.requests[0]" in shown


def test_a_sentence_is_printed_once_with_its_resources(saved: Path) -> None:
    found: list[dict[str, Any]] = []
    for name in ("east", "west"):
        event = violation(f"{name} (aws:eks/cluster:Cluster): version is '1.33'; allowed: 1.34; fix: upgrade")
        event["policyEvent"]["resourceUrn"] = URN.removesuffix("c") + name
        found.append(event)
    other = violation("c (aws:eks/cluster:Cluster): version is '1.32'; allowed: 1.34; fix: upgrade")
    result = RUNNER.invoke(app, ["gate", "--events", save(saved, preview(*found, other))])
    assert result.stdout.splitlines()[:-1] == [
        "Findings in the stack dev",
        "",
        f"mandatory critical {FLOOR}",
        "  version is '1.33'",
        "    - east (aws:eks/cluster:Cluster)",
        "    - west (aws:eks/cluster:Cluster)",
        "  c (aws:eks/cluster:Cluster): version is '1.32'",
        "  allowed: 1.34",
        "  fix: upgrade",
        "",
    ]


def test_a_disabled_mandatory_rule_is_named_and_can_be_exempt_by_name(saved: Path) -> None:
    events = save(saved, preview(without=FLOOR))
    result = RUNNER.invoke(app, ["gate", "--events", events, "--json"])
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    assert report["passed"] is False
    assert report["problems"][0].startswith(f"the rule {FLOOR} is mandatory, and did not check the stack")
    assert RUNNER.invoke(app, ["gate", "--events", events, "--without", FLOOR]).exit_code == 0


def test_rejects_the_output_of_plain_json_by_name(saved: Path) -> None:
    saved.write_text(json.dumps({"steps": [], "duration": 1}, indent=4), encoding="utf-8")
    result = RUNNER.invoke(app, ["gate", "--events", str(saved)])
    assert result.exit_code == 3
    report = " ".join(result.output.split())
    assert "is what plain `pulumi preview --json` prints" in report
    assert "PULUMI_ENABLE_STREAMING_JSON_PREVIEW=true" in report


def test_events_from_stdin_are_checked(saved: Path) -> None:
    save(saved, preview())
    result = RUNNER.invoke(app, ["gate", "--events", "-"], input=saved.read_text(encoding="utf-8"))
    assert result.exit_code == 0


def test_the_findings_are_written_as_sarif(saved: Path, tmp_path: Path) -> None:
    sarif = tmp_path / "gate.sarif"
    events = save(saved, preview(violation("c: old")))
    result = RUNNER.invoke(app, ["gate", "--events", events, "--sarif", str(sarif)])
    assert result.exit_code == 1
    (run,) = json.loads(sarif.read_text(encoding="utf-8"))["runs"]
    assert run["results"][0]["ruleId"] == FLOOR


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("nonsense", "is not valid JSON"),
        ("[]", "must be a JSON object of rules"),
        ('{"no-such-rule": "disabled"}', "'no-such-rule' is not a rule; allowed: "),
        (f'{{"{FLOOR}": 3}}', f"{FLOOR} must be a level or an object of parameters"),
        (f'{{"{FLOOR}": "mandatry"}}', f"{FLOOR} has the level 'mandatry'; allowed: disabled, advisory"),
        (f'{{"{FLOOR}": {{"flor": 1}}}}', f"the policy config of {FLOOR} has flor; allowed: acceptUnknown"),
    ],
)
def test_a_wrong_policy_config_is_reported(content: str, text: str, saved: Path, tmp_path: Path) -> None:
    config = tmp_path / "policy.json"
    config.write_text(content, encoding="utf-8")
    events = save(saved, [preview()[0], {"summaryEvent": {"result": "succeeded"}}])
    result = RUNNER.invoke(app, ["gate", "--events", events, "--policy-config", str(config)])
    assert result.exit_code == 3
    assert text in " ".join(result.output.split())


def test_a_policy_config_for_a_preview_that_is_already_checked_is_refused(
    saved: Path, tmp_path: Path
) -> None:
    config = tmp_path / "policy.json"
    config.write_text("{}", encoding="utf-8")
    result = RUNNER.invoke(app, ["gate", "--events", save(saved, preview()), "--policy-config", str(config)])
    assert result.exit_code == 2
    assert "has checked this preview already" in result.output


def test_a_missing_file_of_events_is_reported() -> None:
    result = RUNNER.invoke(app, ["gate", "--events", "missing.jsonl"])
    assert result.exit_code == 3
    assert "missing.jsonl: cannot be read: No such file or directory" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name a STACK, or give the events"),
        (["dev", "--events", "events.jsonl"], "STACK: is not used with --events; remove dev"),
    ],
)
def test_a_stack_or_events_are_needed_and_not_both(arguments: list[str], message: str) -> None:
    result = RUNNER.invoke(app, ["gate", *arguments])
    assert result.exit_code == 2
    assert message in " ".join(result.output.replace("│", " ").split())


def test_a_rule_that_does_not_exist_cannot_be_exempt() -> None:
    result = RUNNER.invoke(app, ["gate", "dev", "--without", "no-such-rule"])
    assert result.exit_code == 2
    assert "'no-such-rule' is not a rule" in result.output


def test_a_rule_that_is_exempt_is_reported(saved: Path) -> None:
    events = save(saved, preview(violation("c: old")))
    result = RUNNER.invoke(app, ["gate", "--events", events, "--without", FLOOR])
    assert result.exit_code == 0
    assert f"exempt by name: {FLOOR}, 1 findings" in result.output
    report = json.loads(RUNNER.invoke(app, ["gate", "--events", events, "--without", FLOOR, "--json"]).stdout)
    assert (report["passed"], report["letOff"]) == (True, [FLOOR])


def test_a_project_s_folder_that_is_not_there_is_wrong_usage() -> None:
    result = RUNNER.invoke(app, ["gate", "dev", "--cwd", "/no/where"])
    assert result.exit_code == 2
    assert "Invalid value for --cwd: /no/where is not a directory" in result.output


def test_a_missing_engine_is_reported_with_where_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = RUNNER.invoke(app, ["gate", "dev", "--json"])
    assert result.exit_code == 3
    report = json.loads(result.stdout)
    assert report["passed"] is False
    assert report["error"].startswith("`pulumi` is not on PATH; fix: install the Pulumi CLI")


def test_help_reports_the_exit_codes_with_examples() -> None:
    report = " ".join(RUNNER.invoke(app, ["gate", "--help"]).stdout.split())
    assert "Exit code: 0 passed, 1 mandatory findings, 2 wrong usage, 3 no verdict" in report
    assert "dra-fleet gate prod --preset production" in report
