"""`dra-fleet prove` on stack files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cli.main import app
from fleet.settings import read_stack_file

ROOT = Path(__file__).parents[2]


def test_prove_answers_in_json_from_the_stack_file_alone() -> None:
    result = CliRunner().invoke(app, ["prove", "dev", "--json"])
    told = json.loads(result.stdout)
    assert (result.exit_code, told["fits"]) == (0, True)
    declared = read_stack_file(ROOT / "Pulumi.dev.yaml").settings.workloads
    assert {item["name"]: item["word"] for item in told["workloads"]} == dict.fromkeys(declared, "guaranteed")


def test_a_broken_clause_exits_1_and_is_named_with_the_value(tmp_path: Path) -> None:
    text = (
        (ROOT / "tests" / "data" / "stacks" / "lab.yaml")
        .read_text()
        .replace("memory: {min: 4864Mi}", "memory: {min: 5Gi}")
    )
    file = tmp_path / "broken.yaml"
    file.write_text(text)
    result = CliRunner().invoke(app, ["prove", str(file)])
    assert result.exit_code == 1
    assert "memory.compareTo(quantity('5Gi')) >= 0" in result.stdout
    assert "the largest device has memory 4864Mi" in result.stdout
    assert "\x1b" not in result.stdout


@pytest.mark.parametrize("stack", ["dev", "examples/s10-capacity.yaml"])
def test_the_tables_show_every_workload(stack: str) -> None:
    result = CliRunner().invoke(app, ["prove", str(ROOT / stack) if "/" in stack else stack])
    assert result.exit_code == 0
    assert "train" in result.stdout
    assert "guaranteed" in result.stdout
