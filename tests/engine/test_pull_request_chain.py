"""The whole way of a pull request, by the pipelines' scripts as they stand and the code hosts' variables.

A push is reviewed, the review is the pull request's comment, someone approves, and `pulumi up --plan`
applies exactly what was reviewed, on a separate checkout to which only the run's artifacts were brought.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from dra_fleet.core.places import REHEARSED, SELECTED
from tests.review.forges.code_hosts import azure, github, gitlab, serving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.engine.rehearsed import Finished, Rehearsed

pytestmark = [pytest.mark.engine, pytest.mark.full]

ROOT = Path(__file__).resolve().parents[2]
PIPELINES = ROOT / "examples" / "pull-requests"
STACK = "dev"
BRANCH = "more-gpus"
INSTALLS = re.compile(r'^(python -m venv|\S*pip"? install|pulumi install)\b.*\n', re.MULTILINE)
"""Installations that the machine of this test already has."""
FILES = {"index.html", "plan.json", "review.json", "review.md", "review.sarif"}


@dataclass(frozen=True, kw_only=True)
class Scripts:
    """Scripts of a pipeline.

    Attributes:
        review, update: of its two jobs; `kept`: where the first leaves what the second gets as `given`.
        command: where the pipeline installs this program.
        variables: what the code host sets; `set`: what the pipeline itself does.
    """

    review: str
    update: str
    kept: str
    given: str
    command: str
    variables: Callable[..., dict[str, str]]
    set: Mapping[str, str]


def github_scripts() -> Scripts:
    steps = read(ROOT / "action.yml")["runs"]["steps"]
    (review,) = [step for step in steps if step.get("id") == "review"]
    (upload,) = [step for step in steps if "upload-artifact" in step.get("uses", "")]
    (sarif,) = [step for step in steps if "upload-sarif" in step.get("uses", "")]
    folder = "${{ steps.review.outputs.folder }}"
    assert upload["with"]["path"] == folder
    assert sarif["with"]["sarif_file"] == f"{folder}/review.sarif"
    update = read(PIPELINES / "github-actions.yml")["jobs"]["update"]["steps"]
    (download,) = [step for step in update if "download-artifact" in step.get("uses", "")]
    return Scripts(
        review=review["run"],
        update=update[-1]["run"],
        kept=f"build/review/{STACK}",
        given=download["with"]["path"],
        command="temp/dra-fleet/bin/dra-fleet",
        variables=github,
        set={
            "RUNNER_TEMP": "temp", "GITHUB_OUTPUT": "temp/output", "AGAINST": "origin/main", "PROJECT": ".",
            **update[-1]["env"],
        },
    )  # fmt: skip


def gitlab_scripts() -> Scripts:
    output = read(PIPELINES / "gitlab-ci.yml")
    (kept,) = output["review"]["artifacts"]["paths"]
    return Scripts(
        review="\n".join(output["review"]["script"]),
        update="\n".join(output["update"]["script"]),
        kept=kept,
        given=kept,
        command=".dra-fleet/bin/dra-fleet",
        variables=gitlab,
        set={"CI_MERGE_REQUEST_DIFF_BASE_SHA": "origin/main"},
    )


def azure_scripts() -> Scripts:
    macros = {
        "Build.ArtifactStagingDirectory": "staging", "Pipeline.Workspace": ".",
        "DRA_FLEET_REPOSITORY": "", "DRA_FLEET_REF": "",
    }  # fmt: skip
    stages = read(PIPELINES / "azure-pipelines.yml")["stages"]
    (reviewing,) = [job["steps"] for job in stages[0]["jobs"] if job["job"] == "review"]
    updating = stages[1]["jobs"][0]["strategy"]["runOnce"]["deploy"]["steps"]

    def script(steps: list[dict[str, Any]], name: str) -> str:
        (step,) = [step for step in steps if step.get("displayName") == name]
        return re.sub(r"\$\(([A-Z][\w.]+)\)", lambda found: macros[found[1]], step["inputs"]["inlineScript"])

    return Scripts(
        review=script(reviewing, "Review"),
        update=script(updating, "Apply what was reviewed"),
        kept="staging/review",
        given="review",
        command=".dra-fleet/bin/dra-fleet",
        variables=azure,
        set={"SYSTEM_PULLREQUEST_TARGETBRANCHNAME": "main"},
    )


def read(file: Path) -> dict[str, Any]:
    return yaml.safe_load(file.read_text(encoding="utf-8"))


@dataclass(frozen=True, kw_only=True)
class Reviewed:
    """A commit, the files that its review left, and what the code host said of the run."""

    commit: str
    artifact: Path
    variables: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Repository:
    """A project's repository at a code host, its stack rehearsed as its main branch has it."""

    folder: Path
    rehearsed: Rehearsed

    def git(self, *words: str, folder: Path | None = None) -> str:
        user = ("-c", "user.name=ada", "-c", "user.email=ada@acme.example")
        command = ["git", *user, "-C", str(folder or self.folder), *words]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def push(self, copies: int) -> str:
        """A commit on the pull request's branch that requests so many copies."""
        self.git("checkout", "-q", "-B", BRANCH)
        file = self.folder / f"Pulumi.{STACK}.yaml"
        file.write_text(re.sub(r"copies: \d+", f"copies: {copies}", file.read_text("utf-8")), "utf-8")
        self.git("commit", "-q", "-a", "-m", f"{copies} copies")
        return self.git("rev-parse", "HEAD")

    def review(self, scripts: Scripts, copies: int, artifact: Path, *, address: str) -> Reviewed:
        """Push, and run the job that reviews the push; its files are the run's artifact."""
        commit = self.push(copies)
        artifact.mkdir()
        variables = scripts.variables(address, artifact, run=artifact.name, commit=commit)
        folder = self.checkout(commit)
        done = self._play(scripts.review, folder, scripts, variables)
        assert done.code == 0, done.out + done.err
        kept = shutil.copytree(folder / scripts.kept, artifact / "files")
        return Reviewed(commit=commit, artifact=kept, variables=variables)

    def apply(self, scripts: Scripts, reviewed: Reviewed) -> Finished:
        """Run the job that updates, on a separate checkout that gets the artifact."""
        folder = self.checkout(reviewed.commit)
        shutil.copytree(reviewed.artifact, folder / scripts.given)
        return self._play(scripts.update, folder, scripts, reviewed.variables)

    def checkout(self, commit: str) -> Path:
        """A job's own folder, with nothing but what is committed and what pipelines install."""
        folder = Path(tempfile.mkdtemp(dir=self.rehearsed.files))
        self.git("clone", "-q", str(self.folder), str(folder))
        self.git("checkout", "-q", commit, folder=folder)
        (folder / ".venv").symlink_to(sys.prefix)
        return folder

    def _play(self, script: str, folder: Path, scripts: Scripts, variables: Mapping[str, str]) -> Finished:
        command = folder / scripts.command
        command.parent.mkdir(parents=True, exist_ok=True)
        command.symlink_to(self.rehearsed.command)
        output = {**variables, **scripts.set, "STACK": STACK}
        exports = " ".join(f"{name}={shlex.quote(value)}" for name, value in output.items())
        words = shlex.quote("set -eo pipefail\n" + INSTALLS.sub("", script))
        return self.rehearsed.shell(f"env -u {SELECTED} -u {REHEARSED} {exports} bash -c {words}", folder)

    @property
    def copies(self) -> int:
        """Return the number of copies, from the stack's outputs."""
        shown = self.rehearsed.shell(f"pulumi stack output --json --stack {STACK}", self.folder)
        return shown.json["clusters"]["gpu"]["workloads"]["train"]["copies"]


def settle(folder: Path) -> None:
    """Write the whole fleet into the stack's own file: one that extends others is rehearsed as a copy."""
    file = folder / f"Pulumi.{STACK}.yaml"
    own, shared = read(file), read(folder / "fleets" / "1.yaml")["config"]["dra-fleet:fleet"]
    fleet = own["config"]["dra-fleet:fleet"]
    cluster = shared["clusters"]["gpu"]
    cluster["kubeconfig"] = fleet["clusters"]["gpu"]["kubeconfig"]
    cluster["pools"]["h100"] |= fleet["clusters"]["gpu"]["pools"]["h100"]
    own["config"]["dra-fleet:fleet"] = {**shared, "environment": fleet["environment"]}
    file.write_text(yaml.safe_dump(own), "utf-8")
    (folder / ".venv").symlink_to(sys.prefix)


def take_rehearsed(folder: Path, rehearsed: Rehearsed) -> None:
    """Commit the stack file as it is rehearsed, with the salt by which an update reads a review's plan."""
    (copied,) = rehearsed.home.glob(f"projects/*/{STACK}/Pulumi.{STACK}.yaml")
    shutil.copy(copied, folder / f"Pulumi.{STACK}.yaml")


@pytest.fixture(scope="module")
def repository(rehearsed: Rehearsed) -> Repository:
    folder = rehearsed.files / "fleet"
    made = rehearsed.run("init", str(folder), "--description", "GPUs")
    assert made.code == 0, made.err
    found = Repository(folder=folder, rehearsed=replace(rehearsed, project=folder))
    settle(folder)
    assert found.rehearsed.up(STACK)["all_allocated"] is True
    take_rehearsed(folder, rehearsed)
    found.git("init", "-q", "-b", "main")
    (folder / ".gitignore").write_text("build/\n__pycache__/\n.venv\n")
    found.git("add", ".")
    found.git("commit", "-q", "-m", "A fleet")
    return found


@pytest.mark.parametrize(
    ("pipeline", "pushes"),
    [
        pytest.param(github_scripts, (5, 6), id="github"),
        pytest.param(gitlab_scripts, (3,), id="gitlab"),
        pytest.param(azure_scripts, (2,), id="azure"),
    ],
)
def test_applies_only_reviewed_and_approved_changes(
    pipeline: Callable[[], Scripts], pushes: tuple[int, ...], repository: Repository, tmp_path: Path
) -> None:
    scripts, before = pipeline(), repository.copies
    with serving() as host:
        reviews = [
            repository.review(scripts, copies, tmp_path / str(run), address=host.address)
            for run, copies in enumerate(pushes, 11)
        ]
        (comment,) = host.texts.values()
    *older, last = reviews

    assert {file.name for file in last.artifact.iterdir()} == FILES
    assert f"Of commit `{last.commit[:12]}`, branch {BRANCH}, by ada, [" in comment
    assert ("[the last review](" in comment) is bool(older)
    assert last.commit[:12] in (last.artifact / "index.html").read_text("utf-8")
    assert json.loads((last.artifact / "review.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert repository.copies == before, "a review changes nothing"

    refused = repository.apply(scripts, replace(last, commit=repository.push(8)))
    assert refused.code != 0, "what no one reviewed"
    assert "violates plan" in refused.out + refused.err
    assert repository.copies == before

    applied = repository.apply(scripts, last)
    assert applied.code == 0, applied.out + applied.err
    assert repository.copies == pushes[-1]

    for review in older:
        refused = repository.apply(scripts, replace(last, artifact=review.artifact))
        assert refused.code != 0, "the plan of a review that a later one followed"
        assert "violates plan" in refused.out + refused.err
