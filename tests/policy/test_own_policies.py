import json
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import analyzer_pb2

from dra_fleet.policy import asked_policies, pack
from dra_fleet.policy.analyzer import Analyzer
from dra_fleet.policy.gate.errors import GateError
from dra_fleet.policy.gate.record import read_record
from dra_fleet.policy.gate.running import identity
from dra_fleet.policy.gate.verdict import Expected, GateVerdict, against_baseline, baseline_text, check
from tests.policy.own_rules import FUTURE, OWNER, PAST, exemption, write_exemptions, write_rules
from tests.policy.test_analyzer import CONTEXT, Aborted
from tests.policy.test_gate_verdict import FLOOR, URN, events, verdict, violation

STACK_FILE = "config:\n  dra-fleet:policies: {rules: ./rules, exemptions: exemptions.yaml}\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with custom rules, and no exemption yet."""
    (tmp_path / "Pulumi.yaml").write_text("name: other\nruntime: python\n", encoding="utf-8")
    write_rules(tmp_path / "rules")
    write_exemptions(tmp_path / "exemptions.yaml")
    return tmp_path


def both(folder: Path) -> asked_policies.AskedPolicies:
    return asked_policies.AskedPolicies(rules=folder / "./rules", exemptions=folder / "exemptions.yaml")


def test_a_stack_file_or_the_project_s_own_asks(project: Path) -> None:
    assert asked_policies.asked_by_project(project, "dev") == asked_policies.NOTHING
    (project / "Pulumi.dev.yaml").write_text(STACK_FILE, encoding="utf-8")
    assert asked_policies.asked_by_project(project, "acme/dev") == both(project)
    assert asked_policies.asked_by_project(project / "rules", "dev") == both(project)
    assert asked_policies.asked_by_project(project, "prod") == asked_policies.NOTHING
    shared = "config:\n  dra-fleet:policies:\n    value: {rules: ./rules}\n"
    (project / "Pulumi.yaml").write_text(f"name: other\nruntime: python\n{shared}", encoding="utf-8")
    only_rules = asked_policies.AskedPolicies(rules=project / "./rules")
    assert asked_policies.asked_by_project(project, "prod") == only_rules
    assert asked_policies.asked_by_project(project, "dev") == both(project)


def test_paths_are_from_the_project_that_holds_the_program(project: Path) -> None:
    copied = project.parent / f"{project.name}-copy"
    copied.mkdir()
    (copied / "Pulumi.yaml").write_text(f"name: other\nruntime: python\nmain: {project}\n", encoding="utf-8")
    (copied / "Pulumi.dev.yaml").write_text(STACK_FILE, encoding="utf-8")
    assert asked_policies.asked_by_project(copied, "dev") == both(project)


def test_the_engine_s_configuration_asks_the_same(project: Path) -> None:
    asked = '{"rules": "./rules", "exemptions": "exemptions.yaml"}'
    assert asked_policies.asked_by_config(asked, project) == both(project)
    assert asked_policies.asked_by_config("", project) == asked_policies.NOTHING


@pytest.mark.parametrize(
    ("text", "shown"),
    [('"./rules"', '"./rules"'), ("{rules", '"{rules"'), ('{"rule": "x"}', '{"rule": "x"}'), ("[]", "[]")],
)
def test_anything_else_is_refused(text: str, shown: str, project: Path) -> None:
    with pytest.raises(asked_policies.PoliciesError) as refused:
        asked_policies.asked_by_config(text, project)
    assert str(refused.value) == (
        f"dra-fleet:policies: is {shown}; "
        "allowed: {rules: ./rules, exemptions: exemptions.yaml}, both optional"
    )


def started(project: Path, asked: str, patch: pytest.MonkeyPatch, *, of_project: bool = True) -> Analyzer:
    """The pack as an engine starts it for a stack."""
    patch.chdir(project)
    served = Analyzer(
        name=pack.NAME, version=pack.VERSION, rules=pack.RULES, unjudged=pack.UNJUDGED, of_project=of_project
    )
    config = {asked_policies.KEY: asked} if asked else {}
    served.ConfigureStack(analyzer_pb2.AnalyzerStackConfigureRequest(stack="dev", config=config), CONTEXT)
    return served


def test_the_pack_has_a_team_s_rules_beside_its_own(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = [rule.name for rule in pack.RULES]
    for asked, names in (("", mine), ('{"rules": "rules"}', [*mine, OWNER])):
        info = started(project, asked, monkeypatch).GetAnalyzerInfo(empty_pb2.Empty(), CONTEXT)
        assert [policy.name for policy in info.policies] == names


def test_the_pack_ignores_the_rules_of_a_project_unless_the_pipeline_asks_for_them(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    served = started(project, '{"rules": "rules"}', monkeypatch, of_project=False)
    info = served.GetAnalyzerInfo(empty_pb2.Empty(), CONTEXT)
    assert [policy.name for policy in info.policies] == [rule.name for rule in pack.RULES]


def test_the_pack_refuses_to_start_without_the_rules_asked_for(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(
        Aborted, match=r"policies of this stack cannot be used: .* is not a folder"
    ) as refused:
        started(project, '{"rules": "no-such-folder"}', monkeypatch)
    assert refused.value.code is grpc.StatusCode.INVALID_ARGUMENT
    with pytest.raises(Aborted, match="the exemptions cannot be read"):
        started(project, '{"exemptions": "none.yaml"}', monkeypatch)


@pytest.mark.slow
def test_own_rules_count_as_files_of_the_pack(project: Path) -> None:
    found = identity(*asked_policies.asked_by_config('{"rules": "rules"}', project).paths)
    assert {
        str(project / "rules" / name) for name in ("_words.py", "namespace_require_owner.py")
    } <= found.keys()


def exempting(project: Path, *entries: str) -> pack.Policies:
    write_exemptions(project / "exemptions.yaml", *entries)
    return pack.load(asked_policies.AskedPolicies(exemptions=project / "exemptions.yaml"))


def checked(policies: pack.Policies, level: str) -> GateVerdict:
    given = {"found": violation(level), **events()}
    record = read_record([json.dumps(event) for event in given.values()], "events")
    return check(record, Expected(preset="standard", policies=policies))


@pytest.mark.parametrize("level", ["advisory", "mandatory"])
def test_an_exempted_finding_passes_whatever_the_pack_knew_of_it(level: str, project: Path) -> None:
    found = checked(exempting(project, exemption("c", rule=FLOOR)), level)
    assert (found.exit_code, found.problems, found.idle) == (0, (), ())
    output = cast("list[dict[str, Any]]", found.to_json()["findings"])
    assert output[0]["exempted"] == {
        "rule": FLOOR,
        "resource": "c",
        "reason": "shared by all teams",
        "expires": str(FUTURE),
    }


def test_an_expired_or_another_exemption_lets_nothing_be(project: Path) -> None:
    assert checked(exempting(project, exemption("c", PAST, FLOOR)), "mandatory").exit_code == 1
    found = checked(exempting(project, exemption("d", rule=FLOOR)), "mandatory")
    assert (found.exit_code, [idle.resource for idle in found.idle]) == (1, ["d"])


def test_a_baseline_is_of_one_stack_and_of_exact_findings(project: Path) -> None:
    file = project / "baseline.json"
    found = verdict({"found": violation("mandatory"), **events()})
    file.write_text(baseline_text(found), encoding="utf-8")
    assert json.loads(file.read_text(encoding="utf-8")) == {
        "stack": "dev",
        "findings": [{"rule": FLOOR, "urn": URN, "message": "m"}],
    }
    known = against_baseline(found, file)
    assert (known.exit_code, known.findings[0].known, known.gone) == (0, True, ())
    worse = violation("mandatory")
    worse["policyEvent"]["message"] = "worse"
    new = against_baseline(verdict({"found": worse, **events()}), file)
    assert (new.exit_code, new.gone) == (1, (f"{FLOOR}: m",))


@pytest.mark.parametrize(
    ("text", "output"),
    [
        ("{}", "is not a baseline; fix: write it with --write-baseline"),
        ('{"findings": [{"rule": 1}]}', "is not a baseline; fix: write it with --write-baseline"),
        (
            '{"stack": "prod", "findings": []}',
            "is the baseline of the stack prod, and this is dev; fix: write it with --write-baseline",
        ),
    ],
)
def test_a_wrong_baseline_is_refused(text: str, output: str, project: Path) -> None:
    file = project / "baseline.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(GateError) as refused:
        against_baseline(verdict(events()), file)
    assert str(refused.value) == f"{file}: {output}"
