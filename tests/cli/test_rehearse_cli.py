import json
import sys
from pathlib import Path

import pytest

from dra_fleet.cli import main as cli_main
from dra_fleet.core.findings.errors import ReportedViolation
from dra_fleet.rehearsal.engine_run import EngineResult
from dra_fleet.rehearsal.session import UpReport
from dra_fleet.rehearsal.status import StackStatus
from tests.cli.conftest import Run

PROJECT = Path(__file__).resolve().parents[2]
COMMANDS = (
    "",
    "rehearse",
    "rehearse up",
    "rehearse status",
    "rehearse env",
    "rehearse down",
    "rehearse tools",
    "doctor",
    "init",
)
HARDWARE = "clusters: {lab: {kubernetes: v1.36.3}}"


def stack_file(directory: Path, text: str, name: str = "wrong") -> str:
    (directory / "hardware").mkdir(exist_ok=True)
    (directory / "hardware" / f"{name}.yaml").write_text(HARDWARE)
    (directory / f"{name}.yaml").write_text(text)
    return str(directory / f"{name}.yaml")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example_and_exits_0(run: Run, command: str) -> None:
    code, out, err = run(*command.split(), "--help")
    assert (code, err) == (0, "")
    assert f"dra-fleet {command}".strip() in out.split("Example", 1)[1]


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, "dra-fleet 0.1.0\n", "")


@pytest.mark.parametrize("command", ["rehearse up", "rehearse status", "doctor"])
def test_an_unknown_stack_is_reported_with_the_known_ones(run: Run, command: str) -> None:
    code, out, err = run(*command.split(), "nosuch")
    assert (code, out) == (1, "")
    assert err == (
        f"error: there is no stack file {PROJECT}/Pulumi.nosuch.yaml. Stacks here: dev; "
        "or give the path of a stack file, such as stacks/prod.yaml\n"
    )


@pytest.mark.parametrize("folder", ["examples", "examples/"])
def test_a_folder_is_no_stack(run: Run, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    monkeypatch.chdir(PROJECT)
    code, _, err = run("prove", folder)
    assert code == 1
    assert err.startswith("error: examples is a directory. Stacks here: dev; or give the path")


@pytest.mark.parametrize("command", ["up", "status"])
def test_a_missing_hardware_file_is_reported_with_what_to_do(run: Run, tmp_path: Path, command: str) -> None:
    missing = tmp_path / "missing.yaml"
    code, _, err = run("rehearse", command, "--hardware", str(missing))
    assert code == 1
    assert err == (
        f"error: stack dev has no simulated hardware: {missing} does not exist. "
        "Describe its nodes there (see docs/rehearsal.md), or name another file with --hardware\n"
    )


def test_wrong_hardware_is_reported_with_every_error(run: Run, tmp_path: Path) -> None:
    hardware = tmp_path / "hardware.yaml"
    hardware.write_text("clusters:\n  lab: {kubernetes: v1.36.3, nodez: []}\n  other: 3\n")
    code, _, err = run("rehearse", "up", "--hardware", str(hardware))
    assert code == 1
    assert err.startswith(f"error: {hardware} describes no hardware:\n")
    assert "clusters.lab.nodez: " in err
    assert "clusters.other: " in err


def test_hardware_of_another_minor_is_refused(run: Run, tmp_path: Path) -> None:
    hardware = tmp_path / "hardware.yaml"
    hardware.write_text("clusters: {lab: {kubernetes: v1.34.9}}")
    assert run("rehearse", "up", "--hardware", str(hardware)) == (
        1,
        "",
        f"error: cluster lab: the stack says kubernetes 1.36, {hardware} says v1.34.9; make them agree\n",
    )


def test_hardware_without_the_stacks_cluster_is_refused(run: Run, tmp_path: Path) -> None:
    hardware = tmp_path / "hardware.yaml"
    hardware.write_text("clusters: {other: {kubernetes: v1.36.3}}")
    _, _, err = run("rehearse", "up", "--hardware", str(hardware))
    assert err == f"error: cluster lab is not in {hardware}; describe its nodes there\n"


@pytest.mark.parametrize("command", ["rehearse up", "rehearse status", "doctor"])
def test_a_wrong_stack_file_is_reported_with_every_error(run: Run, tmp_path: Path, command: str) -> None:
    file = stack_file(tmp_path, "config: {dra-fleet:fleet: {owner: A B, kubernetes: 1.36, clusterz: {}}}")
    code, out, err = run(*command.split(), file)
    assert (code, out) == (1, "")
    for path in ("clusterz", "kubernetes", "owner"):
        assert f"\ndra-fleet:fleet.{path}: " in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("config: [", "is not valid YAML"),
        ("- a", "must be a mapping with the key config"),
        ("config: {}", "has no key dra-fleet:fleet under config"),
        ("config: {dra-fleet:fleet: 3}", "must be a mapping"),
    ],
)
def test_a_file_that_is_no_stack_file_is_reported(run: Run, tmp_path: Path, text: str, message: str) -> None:
    code, _, err = run("rehearse", "up", stack_file(tmp_path, text))
    assert code == 1
    assert message in err


def test_status_where_nothing_runs_says_how_to_start(run: Run, tmp_path: Path) -> None:
    assert run("rehearse", "status") == (
        1,
        "",
        f"error: cluster asia is not rehearsed in {tmp_path}/home; start it with `dra-fleet rehearse up`\n",
    )


@pytest.mark.parametrize("option", [(), ("--remove",)])
def test_down_where_nothing_runs_is_a_success(run: Run, tmp_path: Path, option: tuple[str, ...]) -> None:
    code, out, _ = run("rehearse", "down", *option, "--json")
    assert code == 0
    assert json.loads(out) == {"stopped": True, "removed": bool(option), "home": f"{tmp_path}/home"}
    assert not (tmp_path / "home").exists()


def test_down_never_removes_what_is_no_home(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").touch()
    code, _, err = run("rehearse", "down", "--remove")
    assert code == 1
    assert err.endswith(
        f"error: {tmp_path}/home holds files that are no rehearsal's; set DRA_FLEET_HOME to a new or empty "
        "directory\n"
    )
    assert (tmp_path / "home" / "thesis.tex").exists()


def test_a_home_that_cannot_be_made_is_reported_before_anything_is_done(run: Run, tmp_path: Path) -> None:
    (tmp_path / "home").touch()
    code, out, err = run("rehearse", "up")
    assert (code, out) == (1, "")
    assert err == (
        "proof of workloads: 14 guaranteed\n"
        f"error: the rehearsal's directory {tmp_path}/home cannot be created: File exists; "
        "fix: free space or permissions, or set DRA_FLEET_HOME\n"
    )


def test_a_full_disk_is_reported_without_a_traceback(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device", "/home/x/events.jsonl")

    monkeypatch.setattr("dra_fleet.rehearsal.session.up", full)
    code, out, err = run("rehearse", "up")
    assert (code, out) == (1, "")
    assert err == (
        "error: /home/x/events.jsonl: No space left on device; "
        "fix: free space or permissions, or set DRA_FLEET_HOME\n"
    )


def test_a_defect_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "x")

    monkeypatch.setattr("dra_fleet.rehearsal.session.up", broken)
    monkeypatch.setattr(sys, "argv", ["dra-fleet", "rehearse", "up"])
    with pytest.raises(FileNotFoundError):
        cli_main.run()


def test_up_prints_the_rule_level_and_message_of_each_finding(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    finding = ReportedViolation(
        rule="node-require-labels",
        pack="dra-fleet",
        level="advisory",
        severity="low",
        message="pool a lacks b",
        urn="u",
    )
    status = StackStatus(clusters={})
    report = UpReport(
        stack="dev",
        engine=EngineResult(findings=[finding], rules={"node-require-labels"}),
        status=status,
        notes=(),
        kubernetes_provider="published",
        charts={},
        drivers={},
        seconds=1.0,
        timings=(),
    )

    def up(*arguments: object, **options: object) -> UpReport:
        del arguments, options
        return report

    monkeypatch.setattr("dra_fleet.rehearsal.session.up", up)
    code, out, _ = run("rehearse", "up", "dev")
    assert code == 0
    assert "policy node-require-labels (advisory): pool a lacks b" in out


def test_an_interruption_exits_130(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dra_fleet.rehearsal.session.up", interrupted)
    code, _, err = run("rehearse", "up")
    assert code == 130
    assert err == "error: interrupted; run the same command again to continue\n"


def test_with_json_an_error_is_json_on_stdout_and_a_sentence_on_stderr(run: Run) -> None:
    code, out, err = run("rehearse", "status", "--json")
    assert code == 1
    assert err == f"error: {json.loads(out)['error']}\n"


@pytest.mark.parametrize(
    "arguments", [("nosuch",), ("rehearse", "nosuch"), ("rehearse", "up", "--wait", "-1"), ("doctor",)]
)
def test_a_wrong_command_line_exits_2(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments)[0] == 2


@pytest.mark.parametrize("command", COMMANDS)
def test_help_on_a_narrow_terminal_cuts_no_option_and_breaks_no_example(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def helped(columns: str) -> tuple[str, str, str]:
        monkeypatch.setenv("COLUMNS", columns)
        code, out, err = run(*command.split(), "--help")
        assert (code, err) == (0, "")
        return out.partition("Examples:\n")

    narrow, wide = helped("40"), helped("200")
    assert "…" not in narrow[0]
    assert max(map(len, narrow[0].splitlines())) <= 50
    assert examples_of(narrow[2]) == examples_of(wide[2]) != []


def examples_of(epilogue: str) -> list[str]:
    return [line for line in epilogue.partition("\n\n")[0].splitlines() if "dra-fleet" in line]
