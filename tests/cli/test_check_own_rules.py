import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.policy.gate import apart
from dra_fleet.policy.gate.errors import GateError
from tests.policy.own_rules import FUTURE, LABEL, OWNER, PAST, exemption, write_exemptions, write_rules

STACK = Path(__file__).parents[1] / "data" / "recipes" / "s6" / "stack.yaml"
RUNNER = CliRunner()
NAMESPACE = """
apiVersion: v1
kind: Namespace
metadata:
  name: team
  labels: {}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "deploy.yaml"
    path.write_text(NAMESPACE, encoding="utf-8")
    return path


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "rules")


def check(file: Path, *options: str, stack: Path = STACK) -> tuple[int, list[str]]:
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(stack), *options])
    return result.exit_code, result.stdout.splitlines()


def test_a_finding_is_reported_at_its_line(file: Path, rules: Path) -> None:
    assert check(file)[0] == 0
    code, lines = check(file, "--rules", str(rules))
    assert code == 1
    assert lines[0] == (
        f"{file}:6:3: error: Namespace team metadata.labels.{LABEL}: is absent; "
        f"allowed: the team that owns it; fix: label the namespace [{OWNER}]"
    )
    file.write_text(NAMESPACE.replace("{}", f"{{{LABEL}: ml}}"), encoding="utf-8")
    assert check(file, "--rules", str(rules))[0] == 0


def test_custom_rules_check_objects_that_request_no_devices(file: Path, rules: Path) -> None:
    rule = rules / "namespace_require_owner.py"
    rule.write_text(rule.read_text("utf-8").replace("core/v1:Namespace", "apps/v1:Deployment"), "utf-8")
    file.write_text("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n", encoding="utf-8")
    code, lines = check(file, "--rules", str(rules))
    output = "0 checked, 1 skipped (1 ask for no devices); 1 object by your own rules"
    assert (code, lines[-1]) == (1, output)
    assert lines[0].startswith(f"{file}:3:1: error: Deployment web metadata.labels.{LABEL}: is absent")


def test_a_secret_s_values_are_not_shown(file: Path, rules: Path) -> None:
    rule = rules / "namespace_require_owner.py"
    text = rule.read_text("utf-8").replace("Namespace", "Secret").replace('"is absent"', "place.shown")
    shown = text.replace("if owner.absent:", 'place = resource.get("data", "password")\n    if owner.absent:')
    rule.write_text(shown, encoding="utf-8")
    file.write_text("apiVersion: v1\nkind: Secret\ndata: {password: aHVudGVyMg==}\n", encoding="utf-8")
    _, lines = check(file, "--rules", str(rules))
    assert f"metadata.labels.{LABEL}: [secret]; allowed:" in lines[0]


def test_an_exempted_finding_is_a_warning_until_its_day(file: Path, rules: Path, tmp_path: Path) -> None:
    exemptions, sarif = tmp_path / "exemptions.yaml", tmp_path / "check.sarif"
    options = ("--rules", str(rules), "--exemptions", str(exemptions), "--sarif", str(sarif))
    write_exemptions(exemptions, exemption("team"))
    code, lines = check(file, *options)
    assert (code, lines[1]) == (0, "0 errors, 1 warning")
    assert f"; exempted until {FUTURE}: shared by all teams [{OWNER}]" in lines[0]
    (run,) = json.loads(sarif.read_text("utf-8"))["runs"]
    assert run["results"][0]["suppressions"][0]["justification"] == f"until {FUTURE}: shared by all teams"
    assert OWNER in {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    write_exemptions(exemptions, exemption("team", PAST))
    code, lines = check(file, *options)
    assert code == 1
    assert f": is absent; its exemption expired on {PAST} (shared by all teams); fix: fix" in lines[0]


def test_a_comment_omits_a_rule_of_one_s_own(file: Path, rules: Path) -> None:
    file.write_text(f"# dra-fleet: ignore-file {OWNER}\n{NAMESPACE}", encoding="utf-8")
    assert check(file, "--rules", str(rules))[0] == 0
    code, lines = check(file)
    assert code == 1
    assert "names a rule that does not exist" in lines[0]


def test_rules_of_the_stack_file_run_only_if_the_option_asks_for_them(file: Path, rules: Path) -> None:
    assert rules.name == "rules"
    stack = file.parent / "Pulumi.lab.yaml"
    content = yaml.safe_load(STACK.read_text("utf-8"))
    content["config"]["dra-fleet:policies"] = {"rules": "./rules"}
    stack.write_text(yaml.safe_dump(content), encoding="utf-8")
    (file.parent / "Pulumi.yaml").write_text("name: theirs\nruntime: python\n", encoding="utf-8")
    assert check(file, stack=stack)[1][0] == "nothing found"
    assert check(file, "--project-policies", stack=stack)[1][0].endswith(f"[{OWNER}]")


@pytest.mark.parametrize("line", ["import os; os._exit(0)", "raise SystemExit(0)", "while True: pass"])
def test_a_rule_that_ends_or_delays_its_process_proves_nothing(
    line: str, file: Path, rules: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_SECONDS", 5)
    rule = rules / "namespace_require_owner.py"
    rule.write_text(f"{line}\n{rule.read_text('utf-8')}", encoding="utf-8")
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(STACK), "--rules", str(rules)])
    assert isinstance(result.exception, GateError)


def test_a_rule_cannot_patch_or_print_into_the_check(file: Path, rules: Path) -> None:
    rule = rules / "namespace_require_owner.py"
    patch = "print('{}'); import dra_fleet.cli.check as c; c.check = lambda *_, **__: None"
    rule.write_text(f"{patch}\n{rule.read_text('utf-8')}", encoding="utf-8")
    code, lines = check(file, "--rules", str(rules))
    assert (code, lines[0].endswith(f"[{OWNER}]")) == (1, True)


def test_missing_rules_stop_the_check(file: Path, tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(STACK), "--rules", str(tmp_path / "no")])
    assert isinstance(result.exception, GateError)
    assert str(result.exception) == (
        f"{tmp_path / 'no'} is not a folder, and rules of it are asked for: nothing is checked without them; "
        "fix: restore it, or take it out of the policies"
    )
