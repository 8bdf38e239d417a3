import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from msgspec.structs import replace
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.core.declared.values import Secret
from dra_fleet.policy import pack
from dra_fleet.policy.gate import preset
from dra_fleet.policy.gate.record import read_record
from dra_fleet.policy.gate.verdict import Expected, GateVerdict, check
from dra_fleet.policy.gate.without_engine import check_record, was_checked
from dra_fleet.policy.rule import Rule
from dra_fleet.policy.rule_cases import UNKNOWN, Declared
from tests.policy.breaking_program import cases_of
from tests.policy.every_rule import check_all
from tests.policy.other_project import marked

ROOT = Declared(type="pulumi:pulumi:Stack", name="other-dev", outputs={})
CLUSTER = Declared(type="dra-fleet:clouds:ExistingCluster", name="train", properties={"kubernetes": "1.35"})
TEMPLATE = Declared(
    type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
    name="t",
    properties={"metadata": {"name": "single-gpu"}, "spec": {"spec": {"devices": {"requests": []}}}},
)
FLOOR = "cluster-require-minimum-kubernetes"
SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270", "ciphertext": "[secret]"}
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def in_events(value: Any) -> Any:
    """Properties as the engine's events hold them: secrets blinded, unknown values by their mark."""
    if isinstance(value, list):
        return [in_events(item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    mapping = cast("dict[str, Any]", value)
    if "$secret" in mapping:
        return SECRET
    return UNKNOWN_TEXT if "$unknown" in mapping else {key: in_events(item) for key, item in mapping.items()}


def lines(*program: Declared) -> list[str]:
    """The events of a preview without any policy."""
    found: list[dict[str, Any]] = []
    for declared in program:
        outputs = declared.properties if declared.outputs is None else declared.outputs
        state = {
            "type": declared.type,
            "urn": declared.urn,
            "parent": declared.parent,
            "protect": declared.protect,
            "inputs": in_events(marked(declared.properties)),
        }
        metadata = {"op": "create", "urn": declared.urn, "new": state}
        ended = {**metadata, "new": {**state, "outputs": in_events(marked(outputs))}}
        found += [{"resourcePreEvent": {"metadata": metadata}}, {"resOutputsEvent": {"metadata": ended}}]
    return [json.dumps(event) for event in [*found, {"summaryEvent": {"result": "succeeded"}}]]


def checked(*program: Declared, **settings: Mapping[str, object]) -> GateVerdict:
    record = read_record(lines(*program), "events")
    assert not was_checked(record)
    config = preset.config("standard")
    for name, given in settings.items():
        config[name.replace("_", "-")] |= given
    check_record(record, config)
    return check(record, Expected(preset="standard"))


def test_a_program_that_keeps_every_rule_passes() -> None:
    verdict = checked(ROOT, CLUSTER)
    assert (verdict.problems, verdict.findings, verdict.exit_code) == ((), (), 0)
    assert (verdict.resources, verdict.without_engine) == (2, True)
    assert len(verdict.ran) == len([rule for rule in pack.RULES if rule.standard != "disabled"])


def test_a_rule_finds_in_events_what_it_finds_in_the_engine() -> None:
    verdict = checked(ROOT, replace(CLUSTER, properties={"kubernetes": "1.33"}))
    (finding,) = [found for found in verdict.findings if found.level == "mandatory"]
    assert (finding.rule, finding.urn) == (FLOOR, CLUSTER.urn)
    assert finding.message.startswith(
        "train (dra-fleet:clouds:ExistingCluster): kubernetes is '1.33'; allowed: 1.34"
    )
    assert verdict.exit_code == 1


@pytest.mark.parametrize("hidden", [UNKNOWN, Secret("1.33")], ids=["unknown", "secret"])
def test_a_value_that_events_do_not_show_is_unknown(hidden: object) -> None:
    verdict = checked(ROOT, replace(CLUSTER, properties={"kubernetes": hidden}))
    assert f"{FLOOR} in the policy config" in verdict.findings[0].message
    assert all(
        "train (dra-fleet:clouds:ExistingCluster): kubernetes is unknown" in found.message
        for found in verdict.findings
    )
    assert verdict.exit_code == 1


def test_an_unknown_value_is_accepted_by_name_in_the_policy_config() -> None:
    accepted = {"acceptUnknown": ["train/kubernetes"]}
    program = (ROOT, replace(CLUSTER, properties={"kubernetes": UNKNOWN}))
    verdict = checked(*program, cluster_require_minimum_kubernetes=accepted)
    assert verdict.exit_code == 0
    assert [found.rule for found in verdict.findings] == [pack.UNJUDGED.name]


def test_outputs_of_the_stack_are_checked() -> None:
    verdict = checked(replace(ROOT, outputs={"kubeconfig": "users: [{user: {token: canary}}]"}))
    assert [found.rule for found in verdict.findings] == ["output-forbid-credentials"]
    assert checked(replace(ROOT, outputs={"kubeconfig": Secret("canary")})).exit_code == 0


def test_reports_that_values_of_an_option_are_not_checked() -> None:
    verdict = checked(ROOT, TEMPLATE)
    (problem,) = verdict.problems
    assert problem.startswith(
        "the rule template-require-safe-replacement cannot be checked without an engine, "
        "because saved events report no options: t (kubernetes:resource.k8s.io/v1:ResourceClaimTemplate)"
    )
    assert verdict.exit_code == 3
    record = read_record(lines(ROOT, TEMPLATE), "events")
    check_record(record, preset.config("standard"))
    exempt = Expected(preset="standard", without=frozenset({"template-require-safe-replacement"}))
    assert check(record, exempt).exit_code == 0


@pytest.mark.parametrize(
    "rule", [rule for rule in pack.RULES if rule is not pack.UNJUDGED], ids=lambda r: r.name
)
def test_only_rules_that_need_options_are_wrong_about_a_resource_without_reported_options(rule: Rule) -> None:
    wrong = False
    for case in cases_of(rule):
        resources = [
            replace(declared, delete_before_replace=None, dependencies=()).resource()
            for declared in case.passing
        ]
        wrong |= bool(check_all([rule], resources, {rule.name: rule.settings(case.settings)}))
    assert wrong is rule.needs_options


def test_events_that_end_early_prove_nothing() -> None:
    record = read_record(lines(ROOT, CLUSTER)[:-1], "events")
    check_record(record, preset.config("standard"))
    (problem,) = check(record, Expected(preset="standard")).problems
    assert problem.startswith("the events end before the engine's summary")


def test_the_command_checks_a_file_of_events(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_text(
        "\n".join(lines(ROOT, replace(CLUSTER, properties={"kubernetes": "1.33"}))), encoding="utf-8"
    )
    result = CliRunner().invoke(app, ["gate", "--events", str(events), "--json"])
    assert result.exit_code == 1
    output = json.loads(result.stdout)
    assert (output["withoutEngine"], output["passed"], output["exitCode"]) == (True, False, 1)
    assert output["findings"][0]["rule"] == FLOOR


def test_a_pack_that_says_all_is_well_is_not_believed_when_checked_again(tmp_path: Path) -> None:
    old = replace(CLUSTER, properties={"kubernetes": "1.33"})
    of_pack = {"policyPackName": pack.NAME, "policyPackVersion": pack.VERSION}
    names = [rule.name for rule in pack.RULES]
    said = [
        {"policyAnalyzeSummaryEvent": {**of_pack, "resourceUrn": urn, "passed": names}}
        for urn in (ROOT.urn, old.urn)
    ]
    whole = {"policyAnalyzeStackSummaryEvent": {**of_pack, "passed": names}}
    events = tmp_path / "events.jsonl"
    *steps, end = lines(ROOT, old)
    judgements = [json.dumps(event) for event in (*said, whole)]
    events.write_text("\n".join([*steps, *judgements, end]), encoding="utf-8")
    command = ["gate", "--events", str(events), "--json"]
    assert CliRunner().invoke(app, command).exit_code == 0
    again = CliRunner().invoke(app, [*command, "--judge-again"])
    assert again.exit_code == 1
    assert FLOOR in {found["rule"] for found in json.loads(again.stdout)["findings"]}
