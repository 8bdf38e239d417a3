from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dra_fleet.cli.main import app
from dra_fleet.cli.output import STYLED

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "tests" / "data" / "recipes"
RUNNER = CliRunner()


def test_errors_exit_with_one_and_each_is_one_line() -> None:
    file = RECIPES / "s6" / "published.yaml"
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(RECIPES / "s6" / "stack.yaml")])
    assert result.exit_code == 1
    first, summary, extent = result.stdout.splitlines()
    assert first.startswith(f"{file}:10:11: error: ResourceClaimTemplate ten-gigabytes ")
    assert summary == "1 error, 0 warnings"
    assert extent == "1 judged, 0 passed over"


def test_warnings_alone_exit_with_zero() -> None:
    values = f"nvidia-dra-driver-gpu@25.8.1={RECIPES / 's1' / 'published-values.yaml'}"
    stack = str(RECIPES / "s1" / "published-stack.yaml")
    result = RUNNER.invoke(app, ["check", "--stack", stack, "--values", values, "--json"])
    assert result.exit_code == 0
    told = json.loads(result.stdout)
    assert (told["errors"], told["warnings"]) == (0, 1)
    assert told["findings"][0]["path"] == "kubeletPlugin.affinity"


def test_a_file_that_cannot_be_read_is_told() -> None:
    result = RUNNER.invoke(app, ["check", "missing.yaml", "--stack", "dev"])
    assert result.exit_code == 1
    assert "missing.yaml:1:1: error: cannot be read: No such file or directory" in result.stdout


def test_a_cluster_that_the_stack_lacks_is_told_with_those_it_has() -> None:
    stack = str(RECIPES / "s6" / "stack.yaml")
    file = str(RECIPES / "s6" / "corrected.yaml")
    result = RUNNER.invoke(app, ["check", file, "--stack", stack, "--cluster", "nowhere"])
    assert result.exit_code == 2
    assert "nowhere is no cluster of this stack" in result.output


def test_what_another_command_writes_is_read_from_stdin() -> None:
    stack = str(RECIPES / "s6" / "stack.yaml")
    text = (RECIPES / "s6" / "published.yaml").read_text("utf-8")
    result = RUNNER.invoke(app, ["check", "-", "--stack", stack], input=text)
    assert result.exit_code == 1
    assert result.stdout.startswith("stdin:")


@pytest.mark.parametrize("nothing", ["", "\n"])
def test_a_command_before_the_pipe_that_wrote_nothing_is_no_success(nothing: str) -> None:
    stack = str(RECIPES / "s6" / "stack.yaml")
    result = RUNNER.invoke(app, ["check", "-", "--stack", stack], input=nothing)
    assert result.exit_code == 1
    assert result.stdout.splitlines()[0] == (
        "stdin:1:1: error: is empty: the command before the pipe wrote nothing [unreadable]"
    )


def test_help_tells_the_exit_codes() -> None:
    result = RUNNER.invoke(app, ["check", "--help"])
    assert "Exit code 1: there are errors" in " ".join(result.stdout.split())


def test_thousands_of_findings_are_printed_as_plain_lines(tmp_path: Path) -> None:
    count = STYLED + 100
    file = tmp_path / "many.yaml"
    head = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaim\nmetadata: {name: a}\nspec:\n  devices: {}\n"
    file.write_text(head + "".join(f"  key{number}: 1\n" for number in range(count)))
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(RECIPES / "s6" / "stack.yaml")])
    *lines, summary, _ = result.stdout.splitlines()
    assert summary == f"{count} errors, 0 warnings"
    assert [line.split(" error: ")[0] for line in lines] == [
        f"{file}:{number + 6}:3:" for number in range(count)
    ]


def test_a_file_that_is_too_large_is_told_and_not_read(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes(b"# " + b"x" * 20_000_000)
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(RECIPES / "s6" / "stack.yaml")])
    assert result.exit_code == 1
    assert f"{file}:1:1: error: is larger than 16777216 bytes" in result.stdout
