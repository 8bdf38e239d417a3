"""Pipelines of code hosts: what a run says of itself by its variables, and its comment on a pull request."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast
from urllib.parse import quote

import httpx2
from msgspec import Struct
from pydantic import AliasChoices, BaseModel, Field, TypeAdapter, ValidationError

from dra_fleet.core.findings.errors import ExpectedError
from dra_fleet.core.yaml_text import read_json_file
from dra_fleet.review.model import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


T = TypeVar("T")
WAITS: Final = (2.0, 10.0)
"""Seconds between tries where a code host is busy."""
_LONGEST_WAIT: Final = 60.0
_SECONDS: Final = 30.0
_PAGES: Final = 50
_GONE: Final = 404
_REFUSED: Final = (401, 403)
_TOO_MANY: Final = 429
_FAILED: Final = 500
_RUN: Final = re.compile(r"<!-- dra-fleet-run: (\S+) -->")
_NUMBERED: Final = re.compile(r"(.*\D)([0-9]{1,18})")


class ForgeError(ExpectedError):
    """The comment cannot be read or written; nothing of it has been."""


class ForgeBusyError(ForgeError):
    """A code host does not answer, fails or takes no more requests for now. `after`: seconds it requests."""

    def __init__(self, message: str, after: float = 0) -> None:
        super().__init__(message)
        self.after = after


class Comment(Struct, frozen=True, kw_only=True):
    """A comment that is there."""

    identifier: str
    text: str

    def run(self, like: str) -> str:
        """Return the address of the run that wrote the comment; empty for another pipeline's run.

        Args:
            like: the address of a run of it. A user who may change comments may write any address.
        """
        found = _RUN.search(self.text)
        return found[1] if found and _number(found[1], like) is not None else ""


class _Written(BaseModel):
    text: str | None = Field(default=None, validation_alias=AliasChoices("body", "content"))


class _Note(_Written):
    """A comment as GitHub and GitLab list it, or a thread of Azure DevOps, which holds comments."""

    id: int
    comments: list[_Written] | None = None


class _Threads(BaseModel):
    value: list[_Note]


_NOTES: Final = TypeAdapter(list[_Note])
_ANSWER: Final = TypeAdapter(dict[str, object])


def find_comment(api: CommentApi, marker: str) -> Comment | None:
    """Return the comment that begins with a line; None if there is none.

    Raises:
        ForgeError: the code host does not answer, or refuses.
    """
    return _patiently(lambda: _find(api, marker))


def put_comment(api: CommentApi, marker: str, text: str, run: str) -> bool:
    """Change the comment that is there by now, or write one.

    Args:
        api: where the comments are.
        marker: the line that the comment begins with.
        text: the whole comment.
        run: the address of this run.

    Returns:
        Whether it was written: what a later run wrote is left as it is.

    Raises:
        ForgeError: the code host does not answer, or refuses.
    """
    return _patiently(lambda: _put(api, marker, text, run))


def _patiently(ask: Callable[[], T]) -> T:
    for wait in WAITS:
        try:
            return ask()
        except ForgeBusyError as busy:
            time.sleep(max(wait, min(busy.after, _LONGEST_WAIT)))
    return ask()


def _find(api: CommentApi, marker: str) -> Comment | None:
    with _client(api) as client:
        return next((found for found in _all(client, api) if found.text.startswith(marker)), None)


def _put(api: CommentApi, marker: str, text: str, run: str) -> bool:
    # Found again: another run may have written one since, or this one before an answer was lost.
    there = _find(api, marker)
    body: dict[str, Any] = {api.key: text}
    with _client(api) as client:
        if there is not None:
            before, now = _number(there.run(run), run), _number(run, run)
            if before is not None and now is not None and before > now:
                return False
            method, address = api.edit
            done = _ask(client, api, method, address.format(id=there.identifier), body)
            if done.status_code != _GONE:
                _read(api, done, _ANSWER.validate_json)
                return True
        new = {"comments": [{**body, "commentType": 1}], "status": "active"} if api.nested else body
        _read(api, _ask(client, api, "POST", api.comments, new), _ANSWER.validate_json)
        return True


def _number(address: str, like: str) -> int | None:
    """Return the growing number at the end of a run's address; None if the address is not like `like`."""
    found, other = _NUMBERED.fullmatch(address), _NUMBERED.fullmatch(like)
    return int(found[2]) if found and other and found[1] == other[1] else None


def _client(api: CommentApi) -> httpx2.Client:
    return httpx2.Client(headers=dict(api.headers), timeout=_SECONDS)


def _all(client: httpx2.Client, api: CommentApi) -> Iterator[Comment]:
    address = api.comments
    for _ in range(_PAGES):
        answer = _ask(client, api, "GET", address)
        if api.nested:
            threads = _read(api, answer, _Threads.model_validate_json).value
            notes = [(thread.id, note) for thread in threads for note in (thread.comments or ())[:1]]
        else:
            notes = [(note.id, note) for note in _read(api, answer, _NOTES.validate_json)]
        for identifier, note in notes:
            yield Comment(identifier=str(identifier), text=note.text or "")
        following = answer.links.get("next", {}).get("url")
        if not following:
            return
        address = following


def _ask(
    client: httpx2.Client, api: CommentApi, method: str, address: str, body: dict[str, Any] | None = None
) -> httpx2.Response:
    try:
        return client.request(method, address, json=body)
    except httpx2.TransportError as problem:
        said = problem or type(problem).__name__
        raise ForgeBusyError(
            f"{api.forge} does not answer ({said}); no comment was written; run the job again"
        ) from problem


def _read(api: CommentApi, answer: httpx2.Response, parse: Callable[[bytes], T]) -> T:
    code = answer.status_code
    asked = f"{answer.request.method} {answer.request.url.path}"
    if code == _TOO_MANY or (code in _REFUSED and _is_limited(answer)):
        after = answer.headers.get("retry-after", "")
        raise ForgeBusyError(
            f"{api.forge} takes no more requests for now (HTTP {code}, its rate limit); no comment was "
            "written; run the job again later",
            after=float(after) if after.isdecimal() else 0,
        )
    if code in _REFUSED:
        raise ForgeError(
            f"{api.forge} refuses this token to write comments (HTTP {code}); no comment was written; fix: "
            "give the job the right to write on pull requests"
        )
    if not answer.is_success:
        kind = ForgeBusyError if code >= _FAILED else ForgeError
        raise kind(f"{api.forge} answered HTTP {code} to {asked}; no comment was written")
    try:
        return parse(answer.content)
    except ValidationError as wrong:
        # Azure DevOps answers a token that is no longer valid with a page to sign in, as a success.
        sort = answer.headers.get("content-type", "no type")
        raise ForgeError(
            f"{api.forge} gave {asked} an answer that is not from its API (HTTP {code}, {sort}); no "
            "comment was written; fix: look whether the token is still valid, and whether a proxy answers"
        ) from wrong


def _is_limited(answer: httpx2.Response) -> bool:
    """Return whether a refusal is GitHub's rate limit.

    https://docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api.
    """
    return "retry-after" in answer.headers or answer.headers.get("x-ratelimit-remaining") == "0"


# Sources: https://docs.github.com/actions/reference/workflows-and-actions/variables,
# https://docs.gitlab.com/ci/variables/predefined_variables/ and
# https://learn.microsoft.com/azure/devops/pipelines/build/variables.
class CommentApi(Struct, frozen=True, kw_only=True):
    """Comment API of one pull request.

    Attributes:
        forge: what people call the code host.
        comments: lists them, and takes a new one.
        edit: by the comment's id, where it is changed, with the method.
        headers: with the token.
        key: of a comment's text in what is sent.
        nested: comments are in threads, of which each request names one.
    """

    forge: str
    comments: str
    edit: tuple[str, str]
    headers: Mapping[str, str]
    key: str = "body"
    nested: bool = False


class PipelineRun(Struct, frozen=True, kw_only=True):
    """A run of a pipeline.

    Attributes:
        origin: what it says of itself.
        api: the API for its comment; None without a pull request.
        token_in: the variable that must hold the token; `has_token`: whether it does.
        is_fork: the change is from a fork, whose runs get no secrets.
    """

    origin: Origin
    api: CommentApi | None
    token_in: str
    has_token: bool
    is_fork: bool


def read_run(variables: Mapping[str, str]) -> PipelineRun | None:
    """Return the pipeline run of these variables; None if no known pipeline set them."""
    return next((read(variables) for name, read in _PIPELINES.items() if variables.get(name)), None)


def _github(reported: Mapping[str, str]) -> PipelineRun:
    event = _event(reported.get("GITHUB_EVENT_PATH", ""))
    request: dict[str, Any] = event.get("pull_request") or {}
    head: dict[str, Any] = request.get("head") or {}
    source: dict[str, Any] = head.get("repo") or {}  # none where the fork is gone
    repository = reported.get("GITHUB_REPOSITORY", "")
    page = f"{reported.get('GITHUB_SERVER_URL', '')}/{repository}"
    base = f"{reported.get('GITHUB_API_URL', '')}/repos/{repository}/issues"
    number = str(request.get("number") or "")
    token = reported.get("GITHUB_TOKEN", "").strip()
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json"}
    return PipelineRun(
        origin=Origin(
            # On a pull request GITHUB_SHA is a merge that no one wrote.
            commit=str(head.get("sha") or reported.get("GITHUB_SHA", "")),
            branch=reported.get("GITHUB_HEAD_REF") or reported.get("GITHUB_REF_NAME", ""),
            author=reported.get("GITHUB_ACTOR", ""),
            request=number and f"#{number}",
            request_url=number and f"{page}/pull/{number}",
            run=f"{page}/actions/runs/{reported.get('GITHUB_RUN_ID', '')}",
        ),
        api=CommentApi(
            forge="GitHub",
            comments=f"{base}/{number}/comments?per_page=100",
            edit=("PATCH", f"{base}/comments/{{id}}"),
            headers=headers,
        )
        if number
        else None,
        token_in="GITHUB_TOKEN",  # noqa: S106 - its name
        has_token=bool(token),
        is_fork=bool(request) and source.get("full_name") != repository,
    )


def _gitlab(reported: Mapping[str, str]) -> PipelineRun:
    number = reported.get("CI_MERGE_REQUEST_IID", "")
    # A fork's pipeline runs in the fork, and the merge request is in the target project.
    target = reported.get("CI_MERGE_REQUEST_PROJECT_ID", "")
    base = f"{reported.get('CI_API_V4_URL', '')}/projects/{target}/merge_requests/{number}/notes"
    token = reported.get("GITLAB_TOKEN", "").strip()
    return PipelineRun(
        origin=Origin(
            commit=reported.get("CI_COMMIT_SHA", ""),
            branch=reported.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME")
            or reported.get("CI_COMMIT_REF_NAME", ""),
            author=reported.get("GITLAB_USER_LOGIN", ""),
            request=number and f"!{number}",
            request_url=number
            and f"{reported.get('CI_MERGE_REQUEST_PROJECT_URL', '')}/-/merge_requests/{number}",
            run=reported.get("CI_JOB_URL", ""),
        ),
        api=CommentApi(
            forge="GitLab",
            comments=f"{base}?per_page=100",
            edit=("PUT", f"{base}/{{id}}"),
            headers={"PRIVATE-TOKEN": token},
        )
        if number
        else None,
        token_in="GITLAB_TOKEN",  # noqa: S106 - its name
        has_token=bool(token),
        is_fork=reported.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID", "") != target,
    )


def _azure(reported: Mapping[str, str]) -> PipelineRun:
    number = reported.get("SYSTEM_PULLREQUEST_PULLREQUESTID", "")
    # Projects and repositories may have blanks and brackets in their names.
    collection, name = (reported.get(f"SYSTEM_{key}", "") for key in ("COLLECTIONURI", "TEAMPROJECT"))
    project = f"{collection.rstrip('/')}/{quote(name)}"
    repository = f"{project}/_apis/git/repositories/{reported.get('BUILD_REPOSITORY_ID', '')}"
    threads = f"{repository}/pullRequests/{number}/threads"
    token = reported.get("SYSTEM_ACCESSTOKEN", "").strip()
    branch = reported.get("SYSTEM_PULLREQUEST_SOURCEBRANCH") or reported.get("BUILD_SOURCEBRANCH", "")
    return PipelineRun(
        origin=Origin(
            commit=reported.get("SYSTEM_PULLREQUEST_SOURCECOMMITID")
            or reported.get("BUILD_SOURCEVERSION", ""),
            branch=branch.removeprefix("refs/heads/"),
            author=reported.get("BUILD_REQUESTEDFOR", ""),
            request=number and f"!{number}",
            request_url=number
            and f"{project}/_git/{quote(reported.get('BUILD_REPOSITORY_NAME', ''))}/pullrequest/{number}",
            run=f"{project}/_build/results?buildId={reported.get('BUILD_BUILDID', '')}",
        ),
        api=CommentApi(
            forge="Azure DevOps",
            comments=f"{threads}?api-version=7.1",
            edit=("PATCH", f"{threads}/{{id}}/comments/1?api-version=7.1"),
            headers={"Authorization": f"Bearer {token}"},
            key="content",
            nested=True,
        )
        if number
        else None,
        token_in="SYSTEM_ACCESSTOKEN",  # noqa: S106 - its name
        has_token=bool(token),
        is_fork=reported.get("SYSTEM_PULLREQUEST_ISFORK", "").lower() == "true",
    )


def _event(path: str) -> dict[str, Any]:
    file = Path(path)
    return cast("dict[str, Any]", read_json_file(file)) if path and file.is_file() else {}


_PIPELINES: Final[Mapping[str, Callable[[Mapping[str, str]], PipelineRun]]] = {
    "GITHUB_ACTIONS": _github,
    "GITLAB_CI": _gitlab,
    "TF_BUILD": _azure,
}
"""Pipelines by the environment variable that identifies them."""
