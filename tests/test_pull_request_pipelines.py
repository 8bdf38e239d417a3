import re
import subprocess
import sys
from pathlib import Path
from typing import cast

import pytest
import typer.testing
import yaml

from dra_fleet.cli.main import app
from tests.test_example_pipelines import lint

ROOT = Path(__file__).parents[1]
PIPELINES = ROOT / "examples" / "pull-requests"
FILES = ("azure-pipelines.yml", "github-actions.yml", "gitlab-ci.yml")
REVIEWING = {"github-actions.yml": ROOT / "action.yml"}


def test_every_pipeline_is_tested() -> None:
    assert sorted(file.name for file in PIPELINES.glob("*.yml")) == list(FILES)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_pipeline_is_valid(name: str, tmp_path: Path) -> None:
    text = (PIPELINES / name).read_text(encoding="utf-8")
    assert lint(name, text, tmp_path) == (0, "ok -- validation done\n")


@pytest.mark.slow
def test_the_action_is_valid(tmp_path: Path) -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    assert lint("action.yml", text, tmp_path) == (0, "ok -- validation done\n")


@pytest.mark.parametrize("name", FILES)
def test_a_pipeline_reviews_with_options_that_there_are_and_refuses_what_is_refused(name: str) -> None:
    text = REVIEWING.get(name, PIPELINES / name).read_text(encoding="utf-8")
    (command,) = re.findall(r"dra-fleet\"? review ((?:.*\\\n)*.*)", text)
    known = set(re.findall(r"--[a-z-]+", typer.testing.CliRunner().invoke(app, ["review", "--help"]).output))
    given = set(re.findall(r"--[a-z-]+", command))
    assert given >= {"--post", "--against", "--out"}
    assert given - known == set()
    assert command.rstrip().endswith("|| test $? -eq 10")


@pytest.mark.parametrize("name", FILES)
def test_a_pipeline_applies_the_plan_of_the_review_after_someone_approved(name: str) -> None:
    text = (PIPELINES / name).read_text(encoding="utf-8")
    (update,) = re.findall(r"pulumi up .*", text)
    assert re.search(r"--plan \S*review/plan\.json", update)
    assert "environment: production" in text
    assert "PULUMI_EXPERIMENTAL" in text


@pytest.mark.parametrize("name", [*FILES, "action.yml"])
def test_a_pipeline_proves_a_fork_s_change_and_neither_reviews_nor_applies_it(name: str) -> None:
    text = (ROOT if name == "action.yml" else PIPELINES).joinpath(name).read_text(encoding="utf-8")
    if name == "github-actions.yml":
        assert text.count("if: env.FORK != 'true'") == 4
        assert "if: github.event.pull_request.head.repo.full_name == github.repository" in text
    else:
        assert len(re.findall(r'dra-fleet"? prove "\$STACK"', text)) == 1


@pytest.mark.slow
def test_the_action_proves_a_fork_s_stack_without_an_engine_and_keeps_no_files(tmp_path: Path) -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    (review,) = [step["run"] for step in steps if step.get("id") == "review"]
    command = tmp_path / "dra-fleet" / "bin" / "dra-fleet"
    command.parent.mkdir(parents=True)
    command.symlink_to(Path(sys.executable).parent / "dra-fleet")
    shown = {"RUNNER_TEMP": str(tmp_path), "GITHUB_OUTPUT": str(tmp_path / "output"), "FORK": "true"}
    done = subprocess.run(
        ["bash", "-eo", "pipefail", "-c", review],
        env={"PATH": "/usr/bin:/bin", "PROJECT": str(ROOT), "STACK": "dev", **shown},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "every claim finds its devices")
    assert not (tmp_path / "output").exists()


@pytest.mark.parametrize("name", [*FILES, "action.yml"])
def test_no_name_that_a_pull_request_chooses_is_read_as_a_command(name: str) -> None:
    text = (ROOT if name == "action.yml" else PIPELINES).joinpath(name).read_text(encoding="utf-8")
    scripts = scripts_of(yaml.safe_load(text))
    assert scripts
    assert [
        script for script in scripts if re.search(r"\$\{\{|\$\((System\.Pull|Build\.Source)", script)
    ] == []


def scripts_of(shown: object) -> list[str]:
    """Return the shell commands of a pipeline."""
    if isinstance(shown, list):
        return [script for item in cast("list[object]", shown) for script in scripts_of(item)]
    if not isinstance(shown, dict):
        return []
    found = cast("dict[str, object]", shown)
    own = [f"{found[key]}" for key in ("run", "script", "inlineScript") if key in found]
    return [*own, *(script for item in found.values() for script in scripts_of(item))]


@pytest.mark.parametrize("name", FILES)
def test_the_review_s_files_are_kept(name: str) -> None:
    shown = yaml.safe_load(REVIEWING.get(name, PIPELINES / name).read_text(encoding="utf-8"))
    assert any(word in str(shown) for word in ("upload-artifact", "artifacts", "'artifact': 'review'"))


def test_the_action_shows_its_findings_in_code_scanning() -> None:
    steps = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]
    (upload,) = [step for step in steps if "upload-sarif" in step.get("uses", "")]
    assert upload["with"]["sarif_file"].endswith("/review.sarif")


LOGINS = {
    "github-actions.yml": (
        "uses: azure/login@", "ARM_USE_OIDC", "uses: aws-actions/configure-aws-credentials@",
        "uses: google-github-actions/auth@", "uses: aliyun/configure-aliyun-credentials-action@",
    ),
    "gitlab-ci.yml": (
        "az login --service-principal", "ARM_OIDC_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS", "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
    ),
    "azure-pipelines.yml": (
        "task: AzureCLI@2", "ARM_OIDC_TOKEN_FILE_PATH", "AWS_WEB_IDENTITY_TOKEN_FILE",
        "GOOGLE_APPLICATION_CREDENTIALS", "ALIBABA_CLOUD_OIDC_TOKEN_FILE",
    ),
}  # fmt: skip
"""Login of each pipeline to Azure (az, and the engine), AWS, Google Cloud and Alibaba Cloud."""


@pytest.mark.parametrize("name", FILES)
def test_both_jobs_of_a_pipeline_log_in_to_each_cloud_without_a_stored_secret(name: str) -> None:
    text = (PIPELINES / name).read_text(encoding="utf-8")
    shared, review, update = re.split(r"^ *(?:- stage: |)(?:review|update)\b:?\n", text, flags=re.MULTILINE)
    for job in (review, update):
        has = shared + job
        assert [login for login in LOGINS[name] if login not in has] == []
    assert re.findall(r"secrets\.(?!PULUMI_CONFIG_PASSPHRASE)\w+|[A-Z_]*SECRET[A-Z_]*", text) == []
