import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.policy.rule_cases import UNKNOWN, Declared
from dra_fleet.rehearsal.tools import Toolset
from tests.policy.other_project import PACK, OtherProject
from tests.policy.own_rules import (
    LABEL,
    NAMESPACE,
    OWNER,
    PAST,
    PROBLEM,
    exemption,
    write_exemptions,
    write_rules,
)

pytestmark = pytest.mark.engine

RUNNER = CliRunner()
UP = ("up", "--yes", "--skip-preview", "--policy-pack", "../with-project-policies")


def namespace(name: str, **labels: object) -> Declared:
    return Declared(type=NAMESPACE, name=name, properties={"metadata": {"name": name, "labels": labels}})


SHARED, OWNED = namespace("shared"), namespace("owned", **{LABEL: "ml"})


@pytest.fixture
def project(tmp_path: Path, tools: Toolset, monkeypatch: pytest.MonkeyPatch) -> OtherProject:
    """A third-party program, whose stack file requests custom rules and exemptions."""
    made = OtherProject(tmp_path, tools)
    write_rules(made.folder / "rules")
    write_exemptions(made.folder / "exemptions.yaml")
    for name, file in (("rules", "./rules"), ("exemptions", "exemptions.yaml")):
        done = made.run("config", "set", "--path", f"dra-fleet:policies.{name}", file)
        assert done.returncode == 0, done.stdout
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    start = tmp_path / "with-project-policies"
    start.write_text(f'#!/bin/sh\nexec {PACK} --project-policies "$@"\n', encoding="utf-8")
    start.chmod(0o755)
    made.declare([SHARED, OWNED])
    return made


def gated(project: OtherProject, *options: str) -> tuple[int, Any]:
    asked = () if "--rules" in options else ("--project-policies",)
    result = RUNNER.invoke(app, ["gate", "dev", "--cwd", str(project.folder), "--json", *asked, *options])
    return result.exit_code, json.loads(result.stdout)


def findings(verdict: Any) -> list[tuple[str, str, str]]:
    return [(each["rule"], each["level"], each["urn"].rpartition("::")[2]) for each in verdict["findings"]]


def test_a_rule_of_a_team_s_own_stops_preview_gate_and_update(project: OtherProject) -> None:
    code, verdict = gated(project)
    assert (code, verdict["problems"], findings(verdict)) == (1, [], [(OWNER, "mandatory", "shared")])
    assert verdict["findings"][0]["message"] == f"shared ({NAMESPACE}): {PROBLEM}"
    refused = project.run(*UP)
    assert refused.returncode != 0
    assert PROBLEM in refused.stdout

    # Unknown at preview is a finding of custom and built-in rules, and its level and parameters can be given.
    project.declare([OWNED, namespace("late", **{LABEL: UNKNOWN})])
    code, verdict = gated(project)
    assert (code, findings(verdict)) == (1, [(OWNER, "mandatory", "late")])
    config = project.folder / "policy.json"
    config.write_text(json.dumps({OWNER: {"acceptUnknown": [f"late/metadata.labels.{LABEL}"]}}))
    code, verdict = gated(project, "--policy-config", str(config))
    assert (code, findings(verdict)) == (0, [("unknown-report-unjudged", "advisory", "late")])


def test_an_exemption_lets_one_resource_be_until_it_expires(project: OtherProject) -> None:
    file = project.folder / "exemptions.yaml"
    write_exemptions(file, exemption("shared"), exemption("gone"))
    sarif = project.folder / "gate.sarif"
    code, verdict = gated(project, "--sarif", str(sarif))
    assert (code, verdict["problems"], findings(verdict)) == (0, [], [(OWNER, "advisory", "shared")])
    assert verdict["findings"][0]["exempted"]["reason"] == "shared by all teams"
    assert [each["resource"] for each in verdict["idleExemptions"]] == ["gone"]
    (run,) = json.loads(sarif.read_text(encoding="utf-8"))["runs"]
    assert run["results"][0]["suppressions"][0]["justification"].startswith("shared by all teams (until ")
    done = project.run(*UP)
    assert done.returncode == 0, done.stdout
    assert ": shared by all teams" in done.stdout

    write_exemptions(file, exemption("shared", PAST))
    code, verdict = gated(project)
    assert (code, findings(verdict)) == (1, [(OWNER, "mandatory", "shared")])
    assert (
        f"its exemption expired on {PAST} (shared by all teams); fix: " in verdict["findings"][0]["message"]
    )
    assert project.run(*UP).returncode != 0


def test_rules_that_are_missing_or_do_not_import_stop_everything(project: OtherProject) -> None:
    rule = project.folder / "rules" / "namespace_require_owner.py"
    whole = rule.read_text(encoding="utf-8")
    rule.write_text(f"{whole}\nno_such_name\n", encoding="utf-8")
    code, verdict = gated(project)
    assert code == 3
    assert verdict["error"].startswith(
        f"{rule} does not import: NameError: name 'no_such_name' is not defined"
    )
    refused = project.run(*UP)
    assert refused.returncode != 0
    assert "the policies of this stack cannot be used" in refused.stdout

    (project.folder / "rules").rename(project.folder / "elsewhere")
    code, verdict = gated(project)
    assert code == 3
    assert (
        " is not a folder, and rules of it are asked for: nothing is checked without them" in verdict["error"]
    )
    refused = project.run(*UP)
    assert refused.returncode != 0
    assert "is not a folder, and rules of it are asked for" in refused.stdout
    assert "owned" not in project.run("stack", "export").stdout

    # Without the option nothing of the project counts.
    (project.folder / "elsewhere" / rule.name).write_text(whole, encoding="utf-8")
    code, verdict = gated(project, "--rules", str(project.folder / "elsewhere"))
    assert (code, verdict["problems"], findings(verdict)) == (1, [], [(OWNER, "mandatory", "shared")])


def test_the_gate_notices_that_a_rule_of_a_team_s_own_did_not_check(project: OtherProject) -> None:
    project.declare([OWNED])
    events = project.folder / "events.jsonl"
    assert gated(project, "--save-events", str(events))[0] == 0
    elsewhere = write_rules(project.folder.parent / "more")
    text = (elsewhere / "namespace_require_owner.py").read_text(encoding="utf-8")
    text = text.replace(OWNER, "namespace-require-reason")
    (elsewhere / "namespace_require_reason.py").write_text(text, encoding="utf-8")
    options = ["gate", "--events", str(events), "--rules", str(elsewhere), "--json"]
    result = RUNNER.invoke(app, options)
    assert result.exit_code == 3
    (problem,) = json.loads(result.stdout)["problems"]
    assert problem.startswith(
        "the rule namespace-require-reason is mandatory, and did not check 2 of 2 resources"
    )
    again = RUNNER.invoke(app, [*options, "--judge-again"])
    assert (again.exit_code, json.loads(again.stdout)["problems"]) == (0, [])


def test_findings_of_a_baseline_stop_nothing_and_new_ones_do(project: OtherProject) -> None:
    file = project.folder / "baseline.json"
    code, verdict = gated(project, "--baseline", str(file), "--write-baseline")
    assert (code, [each["known"] for each in verdict["findings"]]) == (0, [True])
    assert gated(project, "--baseline", str(file))[0] == 0

    project.declare([SHARED, namespace("new")])
    code, verdict = gated(project, "--baseline", str(file))
    known = {each["urn"].rpartition("::")[2]: each["known"] for each in verdict["findings"]}
    assert (code, known, verdict["problems"]) == (1, {"new": False, "shared": True}, [])

    project.declare([OWNED])
    code, verdict = gated(project, "--baseline", str(file))
    assert (code, verdict["gone"]) == (0, [f"{OWNER}: shared ({NAMESPACE}): {PROBLEM}"])
