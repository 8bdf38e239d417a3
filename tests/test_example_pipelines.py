import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import typer.testing
import yaml

from dra_fleet.cli.main import app
from dra_fleet.rehearsal.tools import actionlint

PIPELINES = Path(__file__).parents[1] / "examples" / "pipelines"
NEW_PROJECT = Path(__file__).parents[1] / "templates" / "fleet" / ".github" / "workflows" / "fleet.yaml"
SCHEMAS = {
    "github-actions.yml": "vendor.github-workflows",
    "github-actions-two-jobs.yml": "vendor.github-workflows",
    "scheduled.yml": "vendor.github-workflows",
    "gitlab-ci.yml": "vendor.gitlab-ci",
    "azure-pipelines.yml": "vendor.azure-pipelines",
    "action.yml": "vendor.github-actions",
}
OPTIONS = {
    "gitlab-ci.yml": ["--data-transform", "gitlab-ci"],
    # Its patterns escape what may not be escaped where Unicode is on.
    "azure-pipelines.yml": ["--data-transform", "azure-pipelines", "--regex-variant", "nonunicode"],
}
LETS_PASS = ("continue-on-error", "allow_failure", "continueOnError", "|| true", "|| :", "set +e")
FILES = sorted(SCHEMAS.keys() - {"action.yml"})
GATES = sorted({*FILES} - {"scheduled.yml"})


def lint(name: str, text: str, folder: Path) -> tuple[int, str]:
    """Validate a pipeline against the public schema of its system."""
    file = folder / name
    if name.startswith("azure"):  # every value is text to Azure, and to its schema
        shown = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - makes texts only
        # But for this input of a task, which the schema wants as it is.
        text = json.dumps(shown).replace('"addSpnToEnvironment": "true"', '"addSpnToEnvironment": true')
    file.write_text(text, encoding="utf-8")
    arguments = ["--builtin-schema", SCHEMAS[name], *OPTIONS.get(name, []), str(file)]
    # In its own process: inside this one it would change how ruamel.yaml reads dates, for all other tests.
    command = [sys.executable, "-m", "check_jsonschema", *arguments]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode, result.stdout + result.stderr


def scripts(item: Any) -> list[str]:
    """Every command of a pipeline."""
    if isinstance(item, list):
        return [text for child in cast("list[Any]", item) for text in scripts(child)]
    if not isinstance(item, dict):
        return []
    found: list[str] = []
    for key, value in cast("dict[str, Any]", item).items():
        if key in {"run", "script", "before_script"}:
            found += [value] if isinstance(value, str) else value
        else:
            found += scripts(value)
    return found


def gate_command(name: str) -> list[str]:
    """The words after `gate`."""
    parsed = yaml.safe_load((PIPELINES / name).read_text(encoding="utf-8"))
    (command,) = [text for text in scripts(parsed) if "dra-fleet" in text and " gate " in f"{text} "]
    words = shlex.split(command)
    return words[words.index("gate") + 1 :]


def test_every_pipeline_is_tested() -> None:
    assert sorted(file.name for file in PIPELINES.glob("*.yml")) == FILES


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_pipeline_is_valid(name: str, tmp_path: Path) -> None:
    text = (PIPELINES / name).read_text(encoding="utf-8")
    assert lint(name, text, tmp_path) == (0, "ok -- validation done\n")


@pytest.mark.slow
def test_the_pipeline_of_a_new_project_is_valid_and_lets_nothing_pass(tmp_path: Path) -> None:
    text = NEW_PROJECT.read_text(encoding="utf-8")
    assert lint("github-actions.yml", text, tmp_path) == (0, "ok -- validation done\n")
    assert [way for way in LETS_PASS if way in text] == []
    assert '.venv/bin/dra-fleet gate "$STACK" --preset production --project-policies' in scripts(
        yaml.safe_load(text)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_misspelt_key_is_found(name: str, tmp_path: Path) -> None:
    text = (PIPELINES / name).read_text(encoding="utf-8")
    broken = text.replace("timeout", "timeuot")
    assert broken != text
    assert lint(name, broken, tmp_path)[0] == 1


def github_problems(text: str) -> list[str]:
    """Return the problems of GitHub's linter, each as `line:column: text`. Nothing else is on PATH."""
    command = [str(actionlint()), "-no-color", "-oneline", "-shellcheck=", "-pyflakes=", "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert result.returncode in {0, 1}, result.stderr
    return [line.removeprefix("<stdin>:") for line in result.stdout.splitlines()]


@pytest.mark.engine
def test_the_github_workflow_has_no_problem_that_only_its_linter_sees(tmp_path: Path) -> None:
    name = "github-actions.yml"
    text = (PIPELINES / name).read_text(encoding="utf-8")
    assert github_problems(text) == []
    broken = text.replace("vars.DRA_FLEET_REF ", "var.DRA_FLEET_REF ")
    assert lint(name, broken, tmp_path)[0] == 0
    (problem,) = github_problems(broken)
    assert problem.startswith('40:20: undefined variable "var". available variables are ')


def test_the_scheduled_pipeline_fails_with_the_command_that_it_runs() -> None:
    text = (PIPELINES / "scheduled.yml").read_text(encoding="utf-8")
    assert [way for way in LETS_PASS if way in text] == []
    assert scripts(yaml.safe_load(text))[-1] == 'dra-fleet drivers --outdated "$STACK"'


@pytest.mark.parametrize("name", GATES)
def test_a_pipeline_gives_the_gate_options_that_it_has(name: str) -> None:
    shown = typer.testing.CliRunner().invoke(app, ["gate", "--help"]).output
    known = set(re.findall(r"--[a-z-]+", shown))
    words = gate_command(name)
    given = {word for word in words if word.startswith("--")}
    elsewhere = {"--events", "--judge-again"} if "two-jobs" in name else {"--save-events"}
    assert given >= {"--preset", "--sarif", *elsewhere}
    assert given - known == set()
    assert words[0].startswith("--") is ("two-jobs" in name)


@pytest.mark.parametrize("name", GATES)
def test_a_pipeline_updates_with_the_pack_and_the_preset_of_its_gate(name: str) -> None:
    parsed = yaml.safe_load((PIPELINES / name).read_text(encoding="utf-8"))
    (update,) = [text for text in scripts(parsed) if "pulumi up" in text]
    words = shlex.split(update)
    pack, config = (
        words[words.index(option) + 1].split("dra-fleet/", 1)[1]
        for option in ("--policy-pack", "--policy-pack-config")
    )
    root = PIPELINES.parents[1]
    assert (root / pack).is_file()
    preset = gate_command(name)[gate_command(name).index("--preset") + 1]
    assert config == f"policies/presets/{preset}.json"
    assert (root / "policies" / "presets" / "production.json").is_file()


@pytest.mark.parametrize("name", GATES)
def test_a_pipeline_lets_no_failed_gate_pass(name: str) -> None:
    text = (PIPELINES / name).read_text(encoding="utf-8")
    assert [way for way in LETS_PASS if way in text] == []
    assert "--without" not in gate_command(name)
    assert not re.search(r"\bgate\b[^\n]*\|", text)


def test_the_job_that_checks_saved_events_never_has_the_program() -> None:
    jobs = yaml.safe_load((PIPELINES / "github-actions-two-jobs.yml").read_text(encoding="utf-8"))["jobs"]
    checkouts = [step["with"] for step in jobs["gate"]["steps"] if "checkout" in step.get("uses", "")]
    assert [checkout["path"] for checkout in checkouts] == ["dra-fleet"]
    assert jobs["gate"]["needs"] == "preview"
    assert not any("pulumi" in command for command in scripts(jobs["gate"]))
    assert "secrets." not in json.dumps(jobs["gate"])
