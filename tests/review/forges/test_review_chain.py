import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dra_fleet.cli.main import run
from dra_fleet.review import forges
from dra_fleet.review.forges import read_run
from tests.review.forges.code_hosts import COMMIT, CodeHost, azure, github, gitlab, serving
from tests.review.samples import DATA

PROJECT = Path(__file__).resolve().parents[3]
CI = ("GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD")


@pytest.fixture
def host() -> Iterator[CodeHost]:
    with serving() as server:
        yield server


@pytest.fixture
def review(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str]]:
    """Runs `dra-fleet review --post` on saved events with a pipeline's variables; exit code and stderr."""
    monkeypatch.setattr(forges, "WAITS", (0, 0))

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
    output = read_run(first)
    assert output is not None

    assert review(forge(host.address, tmp_path, run="12"), "same")[0] == 0

    assert host.texts.keys() == {"1", key}
    assert host.texts["1"] == "what a person wrote"
    assert f"[the last review]({output.origin.run})" in host.texts[key]
    page = (tmp_path / "out" / "index.html").read_text()
    assert f'<a href="{output.origin.run}">the last review</a>' in page
    assert host.tokens in ({"Bearer T"}, {"T"})


@pytest.mark.slow
def test_a_push_whose_preview_fails_takes_the_approval_before_it_back(
    host: CodeHost, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    assert review(github(host.address, tmp_path, run="11"), "same")[0] == 0
    (key,) = host.texts
    assert "## APPROVE: stack dev\n" in host.texts[key]
    assert review(github(host.address, tmp_path, run="12"), "wrong")[0] == 1
    assert host.texts.keys() == {key}
    assert "## REFUSE: stack dev\n" in host.texts[key]


@pytest.mark.slow
def test_a_comment_that_was_deleted_is_written_again(
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
    assert said.startswith("no comment: runs of a pull request from a fork have no secrets; ")
    assert host.calls == []
    assert (tmp_path / "out" / "review.md").is_file()


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (403, "GitHub refuses this token to write comments (HTTP 403); no comment was written; fix: give"),
        (500, "GitHub answered HTTP 500 to GET /repos/acme/fleet/issues/7/comments; no comment was written"),
        (404, "GitHub answered HTTP 404 to GET /repos/acme/fleet/issues/7/comments; no comment was written"),
        (
            429,
            "GitHub takes no more requests for now (HTTP 429, its rate limit); no comment was written; run",
        ),
    ],
)
def test_a_code_host_that_refuses_is_one_sentence_and_nothing_is_posted(
    status: int, said: str, host: CodeHost, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    host.status = status
    code, output = review(github(host.address, tmp_path))
    assert code == 1
    assert said in output
    assert host.texts == {}


def test_the_rate_limit_of_a_code_host_is_no_lack_of_rights(
    host: CodeHost, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    host.status, host.headers = 403, {"x-ratelimit-remaining": "0"}
    code, output = review(github(host.address, tmp_path))
    assert (code, "GitHub takes no more requests for now (HTTP 403, its rate limit)" in output) == (1, True)


@pytest.mark.parametrize("forge", [github, gitlab, azure])
@pytest.mark.parametrize("page", ["<!DOCTYPE html><title>Sign in</title>", '"moved"', '{"value": [7]}'])
def test_a_page_in_the_place_of_an_answer_is_reported_and_nothing_is_posted(
    page: str,
    forge: Callable[..., dict[str, str]],
    host: CodeHost,
    review: Callable[..., tuple[int, str]],
    tmp_path: Path,
) -> None:
    host.page, host.status, host.headers = page, 203, {"content-type": "text/html"}
    code, output = review(forge(host.address, tmp_path))
    assert code == 1
    assert (
        "an answer that is not from its API (HTTP 203, text/html); no comment was written; fix: look"
        in output
    )
    assert host.texts == {}


@pytest.mark.slow
def test_a_code_host_that_fails_now_and_then_is_asked_again(
    host: CodeHost, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    host.failures = 2
    assert review(github(host.address, tmp_path))[0] == 10
    assert len(host.texts) == 1


@pytest.mark.slow
@pytest.mark.parametrize("forge", [github, gitlab, azure])
def test_the_comment_of_a_later_push_is_not_changed(
    forge: Callable[..., dict[str, str]],
    host: CodeHost,
    review: Callable[..., tuple[int, str]],
    tmp_path: Path,
) -> None:
    assert review(forge(host.address, tmp_path, run="100"))[0] == 10
    later = dict(host.texts)
    code, said = review(forge(host.address, tmp_path, run="99"), "same")
    assert code == 0
    assert "\nno comment: a later run wrote one; see this review in the artifacts of this run\n" in said
    assert host.texts == later


@pytest.mark.slow
def test_an_address_that_someone_wrote_into_the_comment_is_no_link_of_the_next(
    host: CodeHost, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    host.texts["42"] = "<!-- dra-fleet-review: dev -->\n<!-- dra-fleet-run: javascript:alert(1) -->"
    assert review(github(host.address, tmp_path), "same")[0] == 0
    assert (list(host.texts), "the last review" in host.texts["42"]) == (["42"], False)
    assert "javascript:alert" not in (tmp_path / "out" / "index.html").read_text()


def test_names_with_blanks_and_brackets_give_whole_addresses(tmp_path: Path) -> None:
    output = azure("https://dev.example/acme", tmp_path)
    run = read_run({**output, "SYSTEM_TEAMPROJECT": "GPU (lab)", "BUILD_REPOSITORY_NAME": "our fleet"})
    assert run is not None
    assert run.origin.request_url == "https://dev.example/acme/GPU%20%28lab%29/_git/our%20fleet/pullrequest/7"


def test_a_fork_that_is_gone_is_a_fork(tmp_path: Path) -> None:
    output = github("https://api.example", tmp_path)
    Path(output["GITHUB_EVENT_PATH"]).write_text('{"pull_request": {"number": 7, "head": {"repo": null}}}')
    run = read_run(output)
    assert run is not None
    assert run.is_fork


def test_a_fork_s_own_pipeline_is_of_a_fork(tmp_path: Path) -> None:
    run = read_run({**gitlab("https://api.example", tmp_path), "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "6"})
    assert run is not None
    assert run.is_fork


def test_the_line_that_ends_a_stored_token_is_no_part_of_it(tmp_path: Path) -> None:
    run = read_run({**gitlab("https://api.example", tmp_path), "GITLAB_TOKEN": "T\n"})
    assert run is not None
    assert run.api is not None
    assert run.api.headers == {"PRIVATE-TOKEN": "T"}


@pytest.mark.slow
@pytest.mark.parametrize("forge", [github, gitlab, azure])
def test_no_name_of_a_branch_or_an_author_becomes_markup(
    forge: Callable[..., dict[str, str]],
    host: CodeHost,
    review: Callable[..., tuple[int, str]],
    tmp_path: Path,
) -> None:
    name = "`x`|\n/merge\n<img src=x onerror=alert(1)>[a](http://b) @all #1 \N{ROCKET} --> ${{ x }} $(id)"
    output = forge(host.address, tmp_path)
    named = [key for key, value in output.items() if value in {"ada", "more-gpus", "refs/heads/more-gpus"}]
    assert len(named) == 2
    assert review(output | dict.fromkeys(named, name), "same")[0] == 0
    (text,) = host.texts.values()
    line = next(line for line in text.splitlines() if line.startswith("Of commit "))
    written = (
        "\\`x\\`\\| /merge &lt;img src=x onerror=alert(1)&gt;\\[a\\](http&#58;//b) &#64;all &#35;1 "
        "\N{ROCKET} --&gt; ${{ x }} $(id)"
    )
    assert f"branch {written}, by {written}, [" in line
    assert "<img" not in (tmp_path / "out" / "index.html").read_text()


def test_a_code_host_that_does_not_answer_is_reported(
    review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, output = review(github("http://127.0.0.1:1", tmp_path))
    assert code == 1
    assert "error: GitHub does not answer (" in output


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"GITHUB_ACTIONS": ""},
            "--post requires a run of GitHub Actions, GitLab CI or Azure Pipelines; fix",
        ),
        ({"GITHUB_TOKEN": ""}, "--post requires a token to write comments; fix: set GITHUB_TOKEN"),
    ],
)
def test_an_impossible_post_is_reported_before_the_preview(
    change: dict[str, str], said: str, review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    code, output = review({**github("http://127.0.0.1:1", tmp_path), **change})
    assert (code, said in output) == (1, True)


def test_a_push_is_no_pull_request(review: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    code, output = review(github("http://127.0.0.1:1", tmp_path, number=0))
    assert (code, "this run belongs to a push; fix: omit --post" in output) == (1, True)


def test_without_post_a_review_carries_its_run_too(
    review: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    review(github("http://127.0.0.1:1", tmp_path), "same", "--quiet")
    made = json.loads((tmp_path / "out" / "review.json").read_text())["origin"]
    assert made["commit"] == COMMIT
    assert made["requestUrl"] == "https://github.example/acme/fleet/pull/7"
    assert made["run"] == "https://github.example/acme/fleet/actions/runs/11"
