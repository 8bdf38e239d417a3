from __future__ import annotations

import json
from pathlib import Path

from typer.testing import CliRunner

from cli.main import app

ROOT = Path(__file__).parents[2]
RECIPES = ROOT / "tests" / "data" / "recipes"
RUNNER = CliRunner()


def test_errors_exit_with_one_and_each_is_one_line() -> None:
    file = RECIPES / "s6" / "published.yaml"
    result = RUNNER.invoke(app, ["check", str(file), "--stack", str(RECIPES / "s6" / "stack.yaml")])
    assert result.exit_code == 1
    first, summary = result.stdout.splitlines()
    assert first.startswith(f"{file}:10:11: error: ResourceClaimTemplate ten-gigabytes ")
    assert summary == "1 error, 0 warnings"


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


def test_help_tells_the_exit_codes() -> None:
    result = RUNNER.invoke(app, ["check", "--help"])
    assert "Exit code 1: there are errors" in " ".join(result.stdout.split())
