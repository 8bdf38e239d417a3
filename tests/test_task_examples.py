"""Examples by task and guides: their commands, run as printed, and the cost of each example."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dra_fleet import clouds
from dra_fleet.cli.main import app
from dra_fleet.fleet import read_stack_file
from dra_fleet.fleet.plan import make_plan

if TYPE_CHECKING:
    from collections.abc import Callable

PROJECT = Path(__file__).resolve().parents[1]
READMES = sorted(
    file for file in (PROJECT / "examples").glob("*/README.md") if "## Prove it" in file.read_text("utf-8")
)
GUIDES = sorted((PROJECT / "docs" / "guides").glob("*.md"))
SECTIONS = ["When to choose it", "Cost", "Prove it", "Use the claim", "Next"]
RUN = CliRunner()


def printed(command: str) -> str:
    result = RUN.invoke(app, shlex.split(command)[1:], env={"COLUMNS": "110", "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return "".join(f"{line.rstrip()}\n" for line in result.output.replace(f"{PROJECT}/", "").splitlines())


@pytest.fixture(autouse=True)
def _in_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)


def test_examples_by_task_exist() -> None:
    assert len(READMES) >= 9


@pytest.mark.parametrize("guide", GUIDES, ids=lambda file: file.stem)
def test_commands_of_the_guide_print_what_it_shows(
    guide: Path, golden_console: Callable[[Path, Callable[[str], str]], None]
) -> None:
    text = guide.read_text("utf-8")
    assert "\n## Before you begin\n" in text
    assert "\n## Verify\n" in text
    assert "```console\n" in text
    golden_console(guide, printed)


@pytest.mark.parametrize("readme", READMES, ids=lambda file: file.parent.name)
def test_commands_of_the_readme_print_what_it_shows(
    readme: Path, golden_console: Callable[[Path, Callable[[str], str]], None]
) -> None:
    golden_console(readme, printed)


@pytest.mark.parametrize("readme", READMES, ids=lambda file: file.parent.name)
def test_readme_has_all_sections_and_names_every_manifest(readme: Path) -> None:
    text = readme.read_text("utf-8")
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == SECTIONS
    assert [
        file.name
        for file in readme.parent.glob("*.yaml")
        if file.name not in text and file.name != "base.yaml"
    ] == []


@pytest.mark.parametrize("readme", READMES, ids=lambda file: file.parent.name)
def test_cost_of_the_readme_is_the_cost_of_all_nodes(readme: Path) -> None:
    (section,) = re.findall(r"## Cost\n\n(.*?)\n\n", readme.read_text("utf-8"), re.DOTALL)
    for file in sorted(readme.parent.glob("*.yaml")):
        if "environment:" not in file.read_text("utf-8"):
            continue
        for cluster in make_plan(read_stack_file(file).settings).clusters:
            prices = [(pool.max_nodes, pool.machine.price) for pool in cluster.pools]
            if not clouds.named(cluster.cloud).makes_nodes:
                assert section.startswith("Depends on your cluster: ")
            elif any(price is None for _, price in prices):
                assert section.startswith("Unknown: ")
            else:
                cost = sum(nodes * price.per_hour for nodes, price in prices if price is not None)
                assert section.startswith(f"At most ${cost:.2f}/hour: ")
