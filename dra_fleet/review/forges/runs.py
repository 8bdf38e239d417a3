"""Reads the variables that pipelines set: which commit, whose, which pull request, which run.

Sources: https://docs.github.com/actions/reference/workflows-and-actions/variables,
https://docs.gitlab.com/ci/variables/predefined_variables/ and
https://learn.microsoft.com/azure/devops/pipelines/build/variables.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import quote

from dra_fleet.core.yaml_text import read_json_file
from dra_fleet.review.model import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, kw_only=True)
class CommentApi:
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


@dataclass(frozen=True, kw_only=True)
class PipelineRun:
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
