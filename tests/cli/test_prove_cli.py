import io
import json
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.cli.prove import MOST_ROWS
from dra_fleet.fleet import SettingsInvalid, read_stack_file
from dra_fleet.rehearsal.errors import RehearsalError

ROOT = Path(__file__).parents[2]
LAB = (ROOT / "tests" / "data" / "stacks" / "lab.yaml").read_text(encoding="utf-8")


def broken(tmp_path: Path) -> Path:
    """The lab's stack with one clause that is true on no device."""
    file = tmp_path / "broken.yaml"
    file.write_text(LAB.replace("memory: {min: 4864Mi}", "memory: {min: 5Gi}"))
    return file


def test_prove_answers_in_json_from_the_stack_file_alone() -> None:
    result = CliRunner().invoke(app, ["prove", "dev", "--json"])
    output = json.loads(result.stdout)
    assert (result.exit_code, output["fits"]) == (0, True)
    declared = read_stack_file(ROOT / "Pulumi.dev.yaml").settings.workloads
    assert {item["name"]: item["word"] for item in output["workloads"]} == dict.fromkeys(
        declared, "guaranteed"
    )


def test_a_broken_clause_exits_1_and_is_named_with_the_value(tmp_path: Path) -> None:
    file = broken(tmp_path)
    result = CliRunner().invoke(app, ["prove", str(file)])
    assert result.exit_code == 1
    assert "memory.compareTo(quantity('5Gi')) >= 0" in result.stdout
    assert "the largest device has memory 4864Mi" in result.stdout
    line = 1 + next(at for at, text in enumerate(file.read_text().splitlines()) if " mig-5g: {" in text)
    assert f"  at: {file}:{line}:7\n" in result.stdout
    assert "\x1b" not in result.stdout


def test_a_fleet_that_no_program_can_be_started_with_is_warned_of(tmp_path: Path) -> None:
    long = "".join(
        f"      c{number}: {{cel: [\"device.driver != '{'x' * 9_000}'\"]}}\n" for number in range(15)
    )
    file = tmp_path / "long.yaml"
    file.write_text(LAB.replace("    claims:", f"{long}    claims:"))
    result = CliRunner().invoke(app, ["prove", str(file), "--json"])
    [warning] = [text for text in json.loads(result.stdout)["warnings"] if "argument list too long" in text]
    assert result.exit_code == 0
    assert "fix: move the fleet into a file fleets/long.yaml" in warning


def test_the_place_of_a_failure_of_several_lines_stands_above_its_fix(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text(LAB.replace("    claims:", "      typo: {cel: [device.driver = 5]}\n    claims:"))
    lines = CliRunner().invoke(app, ["prove", str(file)]).stdout.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith(f"  at: {file}:"))
    assert lines[at - 1].startswith(" | ...")
    assert lines[at + 1] == "  fix: write == to compare"


def test_a_broken_clause_is_reported_with_clause_value_and_fix_in_json_too(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["prove", str(broken(tmp_path)), "--json"])
    output = json.loads(result.stdout)
    assert (result.exit_code, output["fits"]) == (1, False)
    [item] = [item for item in output["claims"] if item["name"] == "partition"]
    assert item["word"] == "never"
    a100 = next(fit for fit in item["pools"] if fit["pool"] == "a100")
    assert "memory.compareTo(quantity('5Gi')) >= 0" in a100["reason"]
    assert "the largest device has memory 4864Mi" in a100["reason"]
    assert a100["fix"].startswith("ask for memory of at most 4864Mi")
    [of_class] = [item for item in output["classes"] if item["name"] == "mig-5g"]
    assert {fit["pool"]: fit["matches"] for fit in of_class["pools"]} == {"a100": 0, "h100": 0}


def test_a_wrong_key_is_reported_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(LAB.replace("    owner:", "    ownr: x\n    owner:"))
    with pytest.raises(SettingsInvalid, match=r"at: .*wrong\.yaml:\d+:5"):
        CliRunner().invoke(app, ["prove", str(file)], catch_exceptions=False)


def test_reports_rejections_of_a_plan_with_their_place(tmp_path: Path) -> None:
    file = tmp_path / "wrong.yaml"
    file.write_text(LAB.replace("{class: mig-5g}", "{class: mig-6g}"))
    with pytest.raises(SettingsInvalid, match=r"at: .*wrong\.yaml:\d+:\d+"):
        CliRunner().invoke(app, ["prove", str(file)], catch_exceptions=False)


@pytest.mark.parametrize(
    ("stack", "output"),
    [
        ("nosuch", "there is no stack file .*Pulumi.nosuch.yaml. Stacks here: .*dev.*; or give the path"),
        ("/usr", "/usr is a directory. Stacks here: .*dev.*; or give the path"),
        ("absent/x.yaml", "there is no stack file absent/x.yaml"),
    ],
)
def test_a_stack_that_is_none_is_reported_with_those_there_are(stack: str, output: str) -> None:
    with pytest.raises(RehearsalError, match=output):
        CliRunner().invoke(app, ["prove", stack], catch_exceptions=False)


def test_each_pool_that_serves_a_claim_has_a_row() -> None:
    rows = [line.split() for line in CliRunner().invoke(app, ["prove", "dev", "--all"]).stdout.splitlines()]
    assert ["lab", "partition", "a100", "28", "of", "28", "28", "28"] in rows
    assert ["studio", "vgpu", "sixth", "1", "of", "1", "1", "1", "to", "4"] in rows


def test_prints_a_dash_for_unrequested_values_and_unknown_for_unknown_values() -> None:
    rows = [line.split() for line in CliRunner().invoke(app, ["prove", "dev", "--all"]).stdout.splitlines()]
    assert ["infer", "a100", "4864Mi,", "14", "SM", "4864Mi,", "14", "SM", "0", "0"] in rows
    assert ["notebook", "sixth", "-", "1/6", "of", "a", "GPU", "(A10-4Q)", "-", "0"] in rows
    assert ["tpu-train", "trillium", "-", "unknown", "-", "0"] in rows


def test_the_dev_stack_takes_less_than_100_lines_of_80_columns_and_loses_no_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = io.StringIO()
    console = Console(file=file, width=80, force_terminal=True, color_system=None)
    monkeypatch.setattr("dra_fleet.cli.prove.stdout_console", lambda: console)
    assert CliRunner().invoke(app, ["prove", "dev"]).exit_code == 0
    lines = file.getvalue().splitlines()
    assert len(lines) < 100
    assert max(map(len, lines)) <= 80
    cells = [line.split() for line in lines]
    for name, item in read_stack_file(ROOT / "Pulumi.dev.yaml").settings.workloads.items():
        assert any(row[:3] == [item.cluster, name, item.claim] and "guaranteed" in row for row in cells)
    assert ["studio", "vgpu", "guaranteed", "half", "1,", "sixth", "4,", "third", "2"] in cells
    assert lines[-1] == "every claim finds its devices"


def test_prints_workloads_that_do_not_fit_first_and_their_number_last(tmp_path: Path) -> None:
    lines = CliRunner().invoke(app, ["prove", str(broken(tmp_path))]).stdout.splitlines()
    assert lines[0].startswith("error: dra-fleet:fleet.classes.mig-5g: class mig-5g matches 0 of ")
    rows = [line.split() for line in lines]
    assert rows[lines.index("Workloads") + 2] == ["lab", "infer", "partition", "19", "never", "none"]
    assert rows[lines.index("Claims") + 2] == ["lab", "partition", "never", "none"]
    assert lines[-1] == "the proof failed: 1 error"


def test_of_many_claims_and_failures_the_first_are_reported_and_all_on_demand(tmp_path: Path) -> None:
    many = MOST_ROWS + 3
    claims = "".join(
        f"      none{number}: {{requests: {{g: {{class: mig-5g, count: 32}}}}}}\n" for number in range(many)
    )
    file = tmp_path / "many.yaml"
    file.write_text(LAB.replace("    claims:\n", f"    claims:\n{claims}"))
    short = CliRunner().invoke(app, ["prove", str(file)]).stdout
    declared = many + LAB.split("    claims:\n")[1].split("\n    workloads:")[0].count("requests:")
    assert short.count("error: ") == MOST_ROWS
    assert "\n3 more errors: --all\n" in short
    assert f"{declared - MOST_ROWS} more: --all" in short
    full = CliRunner().invoke(app, ["prove", str(file), "--all"]).stdout
    assert full.count("error: ") == many
    assert "--all" not in full


@pytest.mark.parametrize("stack", ["dev", "examples/any-gpu-by-memory.yaml"])
def test_the_tables_show_every_workload(stack: str) -> None:
    result = CliRunner().invoke(app, ["prove", str(ROOT / stack) if "/" in stack else stack])
    assert result.exit_code == 0
    assert "train" in result.stdout
    assert "guaranteed" in result.stdout
