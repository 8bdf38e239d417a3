"""A pull request's review, played with each code host's own variables."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from dra_fleet.cli.main import run
from dra_fleet.forges.runs import read_run
from tests.review.samples import DATA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECT = Path(__file__).resolve().parents[2]
CI = ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD")


class CodeHost(ThreadingHTTPServer):
    """The API of GitHub, GitLab and Azure DevOps, as far as comments go."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.texts: dict[str, str] = {}
        self.calls: list[str] = []
        self.tokens: set[str] = set()
        self.status = 0
        self.deletes_before_edit = False

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Answers(BaseHTTPRequestHandler):
    server: CodeHost  # pyright: ignore[reportIncompatibleVariableOverride]
    numbers: ClassVar = iter(range(100, 1000))

    def do_GET(self) -> None:
        nested = "/threads" in self.path
        items = [
            {"id": int(key), "comments": [{"content": text}]} if nested else {"id": int(key), "body": text}
            for key, text in self.server.texts.items()
        ]
        self.reply({"value": items} if nested else items)

    def do_POST(self) -> None:
        told = self.body()
        text = told["comments"][0]["content"] if "comments" in told else told["body"]
        if not self.server.status:
            self.server.texts[str(next(self.numbers))] = text
        self.reply({})

    def do_PATCH(self) -> None:
        if self.server.deletes_before_edit:
            self.server.texts.clear()
        told = self.body()
        key = self.path.partition("?")[0].removesuffix("/comments/1").rpartition("/")[2]
        found = key in self.server.texts
        if found:
            self.server.texts[key] = told.get("body") or told["content"]
        self.reply({}, 200 if found else 404)

    do_PUT = do_PATCH  # noqa: N815 - the library's own name

    def body(self) -> dict[str, Any]:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def reply(self, content: object, status: int = 200) -> None:
        self.server.calls.append(f"{self.command} {self.path}")
        self.server.tokens.add(self.headers.get("Authorization") or self.headers.get("PRIVATE-TOKEN") or "")
        self.send_response(self.server.status or status)
        self.end_headers()
        self.wfile.write(json.dumps(content).encode())

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's own name
        pass


@pytest.fixture
def host() -> Iterator[CodeHost]:
    with CodeHost() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def github(
    address: str, folder: Path, *, number: int = 7, run: str = "11", fork: bool = False
) -> dict[str, str]:
    event = folder / "event.json"
    head = {"sha": "c0ffee" * 6, "repo": {"full_name": "someone/fleet" if fork else "acme/fleet"}}
    event.write_text(json.dumps({"pull_request": {"number": number, "head": head}} if number else {}))
    return {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": address,
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_REPOSITORY": "acme/fleet",
        "GITHUB_SHA": "d00d" * 10,
        "GITHUB_HEAD_REF": "more-gpus",
        "GITHUB_ACTOR": "ada",
        "GITHUB_RUN_ID": run,
        "GITHUB_EVENT_PATH": str(event),
        **({} if fork else {"GITHUB_TOKEN": "T"}),
    }


def gitlab(address: str, _folder: Path, *, run: str = "11") -> dict[str, str]:
    return {
        "GITLAB_CI": "true",
        "CI_API_V4_URL": address,
        "CI_PROJECT_ID": "5",
        "CI_PROJECT_URL": "https://gitlab.example/acme/fleet",
        "CI_MERGE_REQUEST_IID": "7",
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "more-gpus",
        "CI_COMMIT_SHA": "c0ffee" * 6,
        "GITLAB_USER_LOGIN": "ada",
        "CI_JOB_URL": f"https://gitlab.example/acme/fleet/-/jobs/{run}",
        "GITLAB_TOKEN": "T",
    }


def azure(address: str, _folder: Path, *, run: str = "11") -> dict[str, str]:
    return {
        "TF_BUILD": "True",
        "SYSTEM_COLLECTIONURI": f"{address}/",
        "SYSTEM_TEAMPROJECT": "acme",
        "BUILD_REPOSITORY_ID": "r1",
        "BUILD_REPOSITORY_NAME": "fleet",
        "SYSTEM_PULLREQUEST_PULLREQUESTID": "7",
        "SYSTEM_PULLREQUEST_SOURCECOMMITID": "c0ffee" * 6,
        "SYSTEM_PULLREQUEST_SOURCEBRANCH": "refs/heads/more-gpus",
        "SYSTEM_PULLREQUEST_ISFORK": "False",
        "BUILD_REQUESTEDFOR": "ada",
        "BUILD_BUILDID": run,
        "SYSTEM_ACCESSTOKEN": "T",
    }


@pytest.fixture
def review(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str]]:
    """Runs `dra-fleet review --post` on saved events with a pipeline's variables; exit code and stderr."""

    def call(variables: dict[str, str], name: str = "destructive", *options: str) -> tuple[int, str]:
        monkeypatch.chdir(PROJECT)
        for mark in CI:
            monkeypatch.delenv(mark, raising=False)
        for key, value in variables.items():
            monkeypatch.setenv(key, value)
        words = ["review", "dev", "--events", str(DATA / f"{name}.jsonl"), "--out", str(tmp_path / "out")]
        monkeypatch.setattr("sys.argv", ["dra-fleet", *words, *(options or ("--post",))])
        with pytest.raises(SystemExit) as ended:
            run()
        return int(ended.value.code or 0), capsys.readouterr().err

    return call


@pytest.mark.slow
@pytest.mark.parametrize("forge", [github, gitlab, azure])
def test_a_second_push_changes_the_comment_in_place_and_links_the_first_review(
    forge: Callable[..., dict[str, str]],
    host: CodeHost,
    review: Callable[..., tuple[int, str]],
    tmp_path: Path,
) -> None:
    host.texts["1"] = "what a person wrote"
    first = forge(host.address, tmp_path, run="11")
    assert review(first)[0] == 10
    (key,) = host.texts.keys() - {"1"}
    text = host.texts[key]
    assert text.startswith("<!-- dra-fleet-review: dev -->\n")
    assert "Of commit `c0ffeec0ffee`, branch more-gpus, by ada, [" in text
    assert "the last review" not in text
    told = read_run(first)
    assert told is not None

    assert review(forge(host.address, tmp_path, run="12"), "same")[0] == 0

    assert host.texts.keys() == {"1", key}
    assert host.texts["1"] == "what a person wrote"
    assert f"[the last review]({told.origin.run})" in host.texts[key]
    page = (tmp_path / "out" / "index.html").read_text()
    assert f'<a href="{told.origin.run}">the last review</a>' in page
    assert host.tokens in ({"Bearer T"}, {"T"})


@pytest.mark.slow
def test_a_comment_that_was_deleted_is_written_anew(
    host: CodeHost, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    review(github(host.address, tmp_path))
    host.deletes_before_edit = True
    assert review(github(host.address, tmp_path))[0] == 10
    assert len(host.texts) == 1
    assert host.calls[-1] == "POST /repos/acme/fleet/issues/7/comments?per_page=100"


def test_a_pull_request_from_a_fork_is_reviewed_without_a_comment_and_that_is_said(
    host: CodeHost, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, said = review(github(host.address, tmp_path, fork=True))
    assert code == 10
    assert said.startswith("no comment: the pull request comes from a fork, whose runs get no secrets; ")
    assert host.calls == []
    assert (tmp_path / "out" / "review.md").is_file()


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "GitHub refuses this token to write comments (HTTP 403); no comment was written; fix: give"),
        (500, "GitHub answered HTTP 500 to GET /repos/acme/fleet/issues/7/comments; no comment was written"),
    ],
)
def test_a_code_host_that_refuses_is_one_sentence_and_nothing_is_posted(
    status: int, said: str, host: CodeHost, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    host.status = status
    code, told = review(github(host.address, tmp_path))
    assert code == 1
    assert said in told
    assert host.texts == {}


def test_a_code_host_that_does_not_answer_is_told(
    review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, told = review(github("http://127.0.0.1:1", tmp_path))
    assert code == 1
    assert "error: GitHub does not answer (" in told


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"GITHUB_ACTIONS": ""},
            "--post needs a run of GitHub Actions, GitLab CI or Azure Pipelines; this is",
        ),
        ({"GITHUB_TOKEN": ""}, "--post needs a token that may write comments; fix: set GITHUB_TOKEN"),
    ],
)
def test_what_cannot_be_posted_is_told_before_the_preview(
    change: dict[str, str], said: str, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, told = review({**github("http://127.0.0.1:1", tmp_path), **change})
    assert (code, said in told) == (1, True)


def test_a_push_is_no_pull_request(review: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    code, told = review(github("http://127.0.0.1:1", tmp_path, number=0))
    assert (code, "this one is of a push: leave it out" in told) == (1, True)


def test_without_post_a_review_carries_its_run_too(
    review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    review(github("http://127.0.0.1:1", tmp_path), "same", "--quiet")
    made = json.loads((tmp_path / "out" / "review.json").read_text())["origin"]
    assert made["commit"] == "c0ffee" * 6
    assert made["requestUrl"] == "https://github.example/acme/fleet/pull/7"
    assert made["run"] == "https://github.example/acme/fleet/actions/runs/11"
