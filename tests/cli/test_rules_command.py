import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from tests.cli.test_gate_command import FLOOR, preview, save, violation
from tests.policy.own_rules import OWNER, exemption, write_exemptions, write_rules

RUNNER = CliRunner()


def test_rules_that_hold_to_their_cases_pass(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["rules", "test", str(write_rules(tmp_path / "verified"))])
    assert (result.exit_code, result.output) == (0, f"{OWNER}: passed\n1 rules, 0 failed\n")


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "is absent",
            "is missing",
            "team metadata.labels.example.com/owner taken out is reported as ['team ",
        ),
        ("runs there.", "runs there", "allowed: one line that ends with a full stop"),
        ("owner.absent", 'owner.known != "x"', "a program that should pass does not: team "),
        ("owner.absent", "owner.peek is None", "taken out, unknown, is reported as ['team "),
        ("core/v1:Namespace", "core/v1:Pod", "a program has no resource that it checks; allowed: kubernetes"),
    ],
)
def test_a_failing_rule_reports_its_reason(old: str, new: str, text: str, tmp_path: Path) -> None:
    folder = write_rules(tmp_path / "wrong")
    file = folder / "namespace_require_owner.py"
    file.write_text(file.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    result = RUNNER.invoke(app, ["rules", "test", str(folder), "--json"])
    assert result.exit_code == 1
    assert any(text in problem for problem in json.loads(result.stdout)["rules"][OWNER])


def test_an_exemption_that_is_not_needed_and_what_is_gone_is_reported(tmp_path: Path) -> None:
    events = save(tmp_path / "events.jsonl", preview(violation("c: old")))
    exemptions = write_exemptions(tmp_path / "exemptions.yaml", exemption("gone", rule=FLOOR))
    baseline = tmp_path / "baseline.json"
    options = ["gate", "--events", events, "--exemptions", str(exemptions), "--baseline", str(baseline)]
    assert RUNNER.invoke(app, [*options, "--write-baseline"]).exit_code == 0
    known = RUNNER.invoke(app, options)
    assert known.exit_code == 0
    assert f"not needed: the exemption of gone from {FLOOR} is about nothing that was found" in known.stdout
    assert "0 mandatory and 0 advisory findings, 1 in the baseline" in known.stdout
    save(tmp_path / "events.jsonl", preview())
    assert f"gone from the baseline: {FLOOR}: c: old" in RUNNER.invoke(app, options).stdout


def test_a_baseline_is_written_to_a_file_that_is_named(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["gate", "--events", str(tmp_path / "e"), "--write-baseline"])
    assert result.exit_code == 2
    assert "needs the file to write: --baseline FILE" in result.output
