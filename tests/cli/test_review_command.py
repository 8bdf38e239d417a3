import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from dra_fleet.cli.main import run
from dra_fleet.core.places import REHEARSED
from tests.review.samples import DATA

PROJECT = Path(__file__).resolve().parents[2]


class Ended(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def review(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """Runs `dra-fleet review` in the project, in this very process, and leaves its files in a folder."""

    def call(folder: Path, *arguments: str) -> Ended:
        monkeypatch.chdir(PROJECT)
        monkeypatch.setattr("sys.argv", ["dra-fleet", "review", *arguments, "--out", str(folder)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        said = capsys.readouterr()
        return Ended(int(ended.value.code or 0), said.out, said.err)

    return call


@pytest.mark.parametrize(
    ("name", "code", "says"),
    [
        ("same", 0, "approve: stack dev"),
        ("destructive", 10, "approval required: stack dev"),
        ("wrong", 1, "refuse"),
    ],
)
def test_the_exit_code_is_the_verdict(
    name: str, code: int, says: str, tmp_path: Path, review: Callable[..., Ended]
) -> None:
    done = review(tmp_path, "dev", "--events", str(DATA / f"{name}.jsonl"))
    assert done.returncode == code, done.stderr
    assert done.stdout.startswith(says)
    assert {file.name for file in tmp_path.iterdir()} == {
        "index.html", "review.md", "review.json", "review.sarif",
    }  # fmt: skip


def test_json_on_stdout_is_the_review(tmp_path: Path, review: Callable[..., Ended]) -> None:
    running, events = str(DATA / "running.json"), str(DATA / "destructive.jsonl")
    done = review(tmp_path, "dev", "--events", events, "--running", running, "--json")
    printed = json.loads(done.stdout)
    assert printed["blast"]["source"] == "running"
    assert printed == json.loads((tmp_path / "review.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no stack file"),
        (
            ["dev", "--events", "absent.jsonl"],
            "error: absent.jsonl cannot be read: No such file or directory;",
        ),
        # Before the preview, which no engine could run here.
        (["dev", "--running", "README.md"], "README.md is not valid JSON"),
        (["dev", "--events", "README.md"], "README.md, line 1: is not valid JSON"),
        (
            ["dev", "--events", str(DATA / "same.jsonl"), "--against", "no-such-revision"],
            "--against no-such-revision is neither a file nor a revision",
        ),
        (
            ["dev", "--events", str(DATA / "same.jsonl"), "--running", "README.md"],
            "README.md is not valid JSON",
        ),
    ],
)
def test_wrong_input_is_one_message_and_exit_code_1(
    arguments: Sequence[str], message: str, tmp_path: Path, review: Callable[..., Ended]
) -> None:
    done = review(tmp_path, *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_revision_gives_the_stack_file_as_it_was(tmp_path: Path, review: Callable[..., Ended]) -> None:
    files = tmp_path / "repository"
    files.mkdir()
    stack = files / "Pulumi.dev.yaml"
    text = (PROJECT / "Pulumi.dev.yaml").read_text(encoding="utf-8")
    stack.write_text(text.replace("copies: 4", "copies: 3"), encoding="utf-8")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "before"]):
        who = ["-c", "user.name=t", "-c", "user.email=t@example.com"]
        subprocess.run(["git", *who, *command], cwd=files, check=True)
    stack.write_text(text, encoding="utf-8")
    events = str(DATA / "same.jsonl")
    done = review(tmp_path / "out", str(stack), "--events", events, "--against", "HEAD", "--json")
    assert json.loads(done.stdout)["against"] == "Pulumi.dev.yaml at HEAD"


def test_a_rehearsed_copy_is_compared_with_the_stack_file_of_a_revision(
    tmp_path: Path, review: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("Pulumi.yaml", "Pulumi.dev.yaml"):
        shutil.copy(PROJECT / name, copy)
    monkeypatch.setenv(REHEARSED, f"{PROJECT}:{copy}")
    events = str(DATA / "same.jsonl")
    done = review(tmp_path / "out", "dev", "--events", events, "--against", "HEAD", "--json")
    assert json.loads(done.stdout)["against"] == "Pulumi.dev.yaml at HEAD"


def test_an_older_plan_is_removed_where_none_is_saved(tmp_path: Path, review: Callable[..., Ended]) -> None:
    (tmp_path / "plan.json").write_text("{}", encoding="utf-8")
    assert review(tmp_path, "dev", "--events", str(DATA / "same.jsonl"), "--json").returncode == 0
    assert not (tmp_path / "plan.json").exists()
    assert json.loads((tmp_path / "review.json").read_text(encoding="utf-8"))["plan"] == ""
