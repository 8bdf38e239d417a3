import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.policy import pack
from dra_fleet.policy.gate import apart, verdict
from dra_fleet.policy.rule_cases import Declared
from dra_fleet.policy.rule_files import RULES_FOLDER, RuleFileError
from tests.policy.own_rules import LABEL, NAMESPACE, OWNER, exemption, write_exemptions, write_rules
from tests.policy.test_gate_without_engine import CLUSTER, ROOT, UNKNOWN, lines

RUNNER = CliRunner()
TEAM = Declared(type=NAMESPACE, name="team", properties={"metadata": {"name": "team", "labels": {}}})
OLD = Declared(type=CLUSTER.type, name="train", properties={"kubernetes": "1.33"})
FLOOR = "cluster-require-minimum-kubernetes"
RULE_FILE = "namespace_require_owner.py"

AT_IMPORT = {
    "ends the process": "import os; os._exit(0)",
    "raises SystemExit": "raise SystemExit(0)",
    "raises KeyboardInterrupt": "raise KeyboardInterrupt",
    "loops for ever": "while True: pass",
    "loops for ever in a regular expression": 'import re; re.match("(a|a)*$", "a" * 40 + "b")',
    "answers in the pack's place": 'import os; os.write(1, b"{}"); os._exit(0)',
}
AT_JUDGEMENT = {
    "ends the process": "import os; os._exit(0)",
    "raises SystemExit": "raise SystemExit(0)",
    "loops for ever": "while True: pass",
}


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A project with saved events of an old cluster and of a namespace without an owner, and its own rule."""
    folder = tmp_path / "program"
    folder.mkdir()
    (folder / "Pulumi.yaml").write_text("name: other\nruntime: python\n", encoding="utf-8")
    (folder / "Pulumi.dev.yaml").write_text(
        "config:\n  dra-fleet:policies: {rules: ./rules, exemptions: exemptions.yaml}\n", encoding="utf-8"
    )
    write_rules(folder / "rules")
    write_exemptions(folder / "exemptions.yaml")
    (folder / "events.jsonl").write_text("\n".join(lines(ROOT, OLD, TEAM)) + "\n", encoding="utf-8")
    return folder


def change(program: Path, line: str, *, at_import: bool) -> None:
    file = program / "rules" / RULE_FILE
    text = file.read_text(encoding="utf-8")
    body = f"def check(resource, settings):\n    {line}\n"
    text = f"{line}\n{text}" if at_import else text.replace("def check(resource, settings):\n", body)
    file.write_text(text, encoding="utf-8")


def gated(program: Path, *options: str) -> tuple[int, Any]:
    command = ["gate", "--events", str(program / "events.jsonl"), "-C", str(program), "--json", *options]
    result = RUNNER.invoke(app, command)
    return result.exit_code, json.loads(result.stdout)


def rules_of(report: Any) -> set[str]:
    return {found["rule"] for found in report["findings"]}


@pytest.mark.parametrize("how", AT_IMPORT)
def test_rules_of_the_project_have_no_effect_without_the_option(how: str, program: Path) -> None:
    change(program, AT_IMPORT[how], at_import=True)
    code, report = gated(program)
    assert (code, report["problems"], report["projectPolicies"]) == (1, [], None)
    assert rules_of(report) == {FLOOR}


@pytest.mark.slow
@pytest.mark.parametrize("at_import", [True, False], ids=["import", "judgement"])
@pytest.mark.parametrize("option", ["--project-policies", "--rules"])
@pytest.mark.parametrize("how", AT_JUDGEMENT)
def test_a_rule_that_ends_or_delays_its_process_proves_nothing(
    how: str, option: str, at_import: bool, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_SECONDS", 3)
    change(program, AT_JUDGEMENT[how], at_import=at_import)
    code, report = gated(program, *([option] if option != "--rules" else [option, str(program / "rules")]))
    assert (code, report["passed"]) == (3, False)


@pytest.mark.parametrize("how", AT_IMPORT)
def test_a_rule_file_that_does_not_import_in_the_pack_s_process_proves_nothing(
    how: str, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "_SECONDS", 3)
    change(program, AT_IMPORT[how], at_import=True)
    code, report = gated(program, "--project-policies")
    assert (code, report["passed"]) == (3, False)


def test_output_and_patches_of_a_rule_do_not_change_the_pack_s_findings(program: Path) -> None:
    patch = "print('{}'); from dra_fleet.policy import checking, pack; checking.check = lambda *_: []"
    change(program, patch, at_import=True)
    code, report = gated(program, "--project-policies")
    assert (code, report["projectPolicies"]) == (1, {"rules": 1, "exemptions": 0})
    assert FLOOR in rules_of(report)


def test_a_rule_that_replaces_the_pack_s_rules_proves_nothing(program: Path) -> None:
    change(program, "from dra_fleet.policy import pack; pack.RULES = ()", at_import=True)
    code, report = gated(program, "--project-policies")
    assert code == 3
    assert "two rules have one name" in report["error"]


def test_the_last_line_names_rules_and_exemptions_of_the_project(program: Path) -> None:
    write_exemptions(program / "exemptions.yaml", exemption("team"), exemption("train", rule=FLOOR))
    command = ["gate", "--events", str(program / "events.jsonl"), "-C", str(program), "--project-policies"]
    result = RUNNER.invoke(app, command)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[-1].endswith(
        "0 mandatory and 0 advisory findings, 2 exempted with 1 rules and 2 exemptions of the project"
    )
    assert "of the project" not in RUNNER.invoke(app, command[:-1]).stdout


def test_custom_rules_check_saved_events_with_their_parameters(program: Path) -> None:
    late = Declared(type=NAMESPACE, name="late", properties={"metadata": {"labels": {LABEL: UNKNOWN}}})
    (program / "events.jsonl").write_text("\n".join(lines(ROOT, late)) + "\n", encoding="utf-8")
    rules = ("--rules", str(program / "rules"))
    code, report = gated(program, *rules)
    assert (code, rules_of(report)) == (1, {OWNER})
    config = program / "policy.json"
    config.write_text(json.dumps({OWNER: {"acceptUnknown": [f"late/metadata.labels.{LABEL}"]}}))
    code, report = gated(program, *rules, "--policy-config", str(config))
    assert (code, rules_of(report)) == (0, {"unknown-report-unjudged"})


def test_no_process_of_a_rule_is_left(program: Path) -> None:
    note = program / "pid"
    line = (
        "import subprocess, pathlib; "
        f"pathlib.Path({str(note)!r}).write_text(str(subprocess.Popen(['sleep', '60']).pid))"
    )
    change(program, line, at_import=True)
    assert gated(program, "--rules", str(program / "rules"))[0] == 1
    pid = int(note.read_text(encoding="utf-8"))
    deadline = time.monotonic() + 5
    while _runs(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_a_gate_that_waits_too_long_for_events_ends_without_a_verdict(tmp_path: Path) -> None:
    pipe = tmp_path / "events"
    os.mkfifo(pipe)
    result = RUNNER.invoke(app, ["gate", "--events", str(pipe), "--timeout", "1", "--json"])
    assert result.exit_code == 3
    assert json.loads(result.stdout)["error"].startswith("the gate did not end within 1 s")


def test_a_folder_of_events_is_wrong_usage(tmp_path: Path) -> None:
    result = RUNNER.invoke(app, ["gate", "--events", str(tmp_path)])
    assert result.exit_code == 2
    assert "is a folder; name the file of events" in " ".join(result.output.split())


def test_a_defect_of_the_gate_itself_proves_nothing(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise SystemExit(0)

    monkeypatch.setattr(verdict, "check", broken)
    code, report = gated(program)
    assert (code, report["passed"]) == (3, False)
    assert report["error"].startswith("the gate itself failed: SystemExit")


def test_a_rule_that_is_missing_from_the_pack_proves_nothing(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pack, "RULES", tuple(rule for rule in pack.RULES if rule.name != FLOOR))
    with pytest.raises(RuleFileError, match=f"different: {FLOOR}; fix: install dra-fleet again") as missing:
        pack.check_complete()
    assert str(RULES_FOLDER) in str(missing.value)
    code, report = gated(program)
    assert (code, report["error"]) == (3, str(missing.value))
