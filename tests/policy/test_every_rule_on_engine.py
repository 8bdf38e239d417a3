import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from dra_fleet.core.declared.values import REDACTED
from dra_fleet.policy import pack
from dra_fleet.policy.checking import SHORTEST_SECRET
from dra_fleet.policy.gate.record import Record, read_record
from dra_fleet.policy.gate.running import preview
from dra_fleet.policy.gate.verdict import Expected, check
from dra_fleet.policy.gate.without_engine import check_record
from dra_fleet.policy.rule_cases import UNKNOWN, Declared, all_secret, scalars
from dra_fleet.rehearsal.tools import Toolset
from tests.policy.breaking_program import (
    BESIDE_OTHERS,
    CHECKING,
    Program,
    broken_program,
    is_reported,
    problem_of,
    resources_of,
    unknown_program,
)
from tests.policy.other_project import PACK, OtherProject


def checked(project: OtherProject, program: Program, patch: pytest.MonkeyPatch) -> Record:
    """The engine's record of a preview of a program."""
    project.declare(resources_of(program))
    return previewed(project, program, patch)


def previewed(project: OtherProject, program: Program, patch: pytest.MonkeyPatch) -> Record:
    """The engine's record of a preview of what is declared, with every rule mandatory."""
    for name, value in project.environment.items():
        patch.setenv(name, value)
    return preview("dev", directory=project.folder, config=config_of(program))


def config_of(program: Program) -> dict[str, dict[str, object]]:
    """The policy config: every rule mandatory, with the parameters of its case."""
    config: dict[str, dict[str, object]] = {
        rule.name: {"enforcementLevel": "mandatory"} for rule in pack.RULES
    }
    for chosen in program:
        config[chosen.rule.name] |= chosen.settings
    return config


def known_by(record: Record) -> set[tuple[str, str]]:
    """Return the messages of this pack's rules, each with its rule."""
    return {(found.rule, problem_of(found.message)) for found in record.violations if found.pack == pack.NAME}


def rules_by_case(record: Record) -> set[tuple[str, str]]:
    """Return the rules that report the resources of each rule's case."""
    names = [(found.rule, found.urn.rpartition("::")[2]) for found in record.violations]
    return {
        (output, next((rule.name for rule in CHECKING if name.startswith(f"{rule.name}-")), ""))
        for output, name in names
    }


def assert_verdict(record: Record, program: Program, *, unknown: bool) -> None:
    """Each rule reports a resource of its case; an unknown value is reported by one rule that wants it.

    The engine registers resources in any order, so that of two that contradict each other either may be
    described.
    """
    output = known_by(record)
    silent = [
        chosen.rule.name
        for chosen in program
        if not any(
            (unknown or rule == chosen.rule.name)
            and message.startswith(tuple(f"{found.name} (" for found in chosen.resources))
            and ("is unknown at preview" in message) is unknown
            for rule, message in output
        )
    ]
    assert silent == []
    assert {found.level for found in record.violations} == {"mandatory"}
    verdict = check(record, Expected(preset="production"))
    assert verdict.problems == ()
    assert verdict.exit_code == 1


@pytest.mark.slow
@pytest.mark.parametrize("made", [broken_program, unknown_program])
def test_every_rule_reports_its_own_break_beside_all_others(made: Callable[[], Program]) -> None:
    program = made()
    assert [chosen.rule.name for chosen in program if not is_reported(chosen, program)] == []


@pytest.mark.slow
def test_one_program_breaks_every_rule() -> None:
    assert [chosen.rule.name for chosen in broken_program()] == [rule.name for rule in BESIDE_OTHERS]


@pytest.mark.engine
def test_every_rule_refuses_a_wrong_value(
    tmp_path: Path, tools: Toolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OtherProject(tmp_path, tools)
    program = broken_program()
    assert_verdict(checked(project, program, monkeypatch), program, unknown=False)


@pytest.mark.engine
def test_every_rule_refuses_an_unknown_value(
    tmp_path: Path, tools: Toolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OtherProject(tmp_path, tools)
    program = unknown_program()
    assert all("is unknown at preview" in message for chosen in program for message in chosen.output)
    assert_verdict(checked(project, program, monkeypatch), program, unknown=True)


@pytest.mark.engine
def test_saved_events_are_checked_as_the_engine_has_them_checked(
    tmp_path: Path, tools: Toolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OtherProject(tmp_path, tools)
    program = broken_program()
    within = checked(project, program, monkeypatch)
    without = read_record(project.preview_as_json(streaming=True), "events")
    check_record(without, config_of(program))
    need_options = {rule.name for rule in pack.RULES if rule.needs_options}
    assert without.not_checked.keys() == need_options
    assert rules_by_case(without) == {
        output for output in rules_by_case(within) if output[0] not in need_options
    }


@pytest.mark.engine
def test_no_message_shows_a_secret_value(
    tmp_path: Path, tools: Toolset, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = OtherProject(tmp_path, tools)
    program = broken_program()
    hidden = {found.name: scalars(found.properties) for found in resources_of(program)}
    project.declare(
        [replace(found, properties=all_secret(found.properties)) for found in resources_of(program)]
    )
    record = previewed(project, program, monkeypatch)
    assert record.violations
    for violation in record.violations:
        output = violation.message.replace(REDACTED, "")
        texts = hidden.get(violation.urn.rpartition("::")[2], [])
        assert [text for text in texts if len(text) >= SHORTEST_SECRET and f"'{text}'" in output] == []


SDK_PACK = """
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy


def check(args, report):
    if args.resource_type == "aws:eks/cluster:Cluster" and args.props["version"] < "1.34":
        report("too old")


policy = ResourceValidationPolicy(
    name="floor", description="1.34", enforcement_level=EnforcementLevel.MANDATORY, validate=check
)
PolicyPack(name="sdk", policies=[policy])
"""


def sdk_pack(folder: Path) -> Path:
    """A pack as the policy SDK has it written."""
    (folder / "PulumiPolicy.yaml").write_text("runtime: python\nversion: 1.0.0\n", encoding="utf-8")
    (folder / "__main__.py").write_text(SDK_PACK, encoding="utf-8")
    start = folder / "run-pack"
    start.write_text(
        f'#!/bin/sh\nexec {sys.executable} -u -m pulumi.policy "$1" {folder}\n', encoding="utf-8"
    )
    start.chmod(0o755)
    return start


@pytest.mark.engine
def test_an_unknown_version_passes_the_policy_sdk_and_not_this_pack(tmp_path: Path, tools: Toolset) -> None:
    project = OtherProject(tmp_path, tools)
    cluster = Declared(type="aws:eks/cluster:Cluster", name="train", properties={"version": "1.33"})
    folder = tmp_path / "sdk"
    folder.mkdir()
    theirs = sdk_pack(folder)

    project.declare([cluster])
    known = project.run("preview", "--policy-pack", str(theirs))
    assert known.returncode != 0, known.stdout
    assert "[mandatory]  floor" in known.stdout

    project.declare([replace(cluster, properties={"version": UNKNOWN})])
    unknown = project.run("preview", "--policy-pack", str(theirs))
    assert unknown.returncode == 0, unknown.stdout
    assert "[advisory]  floor" in unknown.stdout
    own = project.run("preview", "--policy-pack", str(PACK))
    assert own.returncode != 0, own.stdout
    assert "version is unknown at preview; allowed: a value that is known at preview" in own.stdout
