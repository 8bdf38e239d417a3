"""The one comment of a review on a pull request: found again by its first line, changed in place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

import httpx2

from dra_fleet.findings.expected import ExpectedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.forges.runs import CommentApi

_SECONDS: Final = 30.0
_PAGES: Final = 50
_GONE: Final = 404
_REFUSED: Final = (401, 403)
_RUN: Final = re.compile(r"<!-- dra-fleet-run: (\S+) -->")


class ForgeError(ExpectedError):
    """The comment cannot be read or written; nothing of it has been."""


@dataclass(frozen=True, kw_only=True)
class Comment:
    """A comment that is there; `run`: the run that wrote it."""

    identifier: str
    text: str

    @property
    def run(self) -> str:
        """The address of the run that wrote it; empty where it does not say."""
        found = _RUN.search(self.text)
        return found[1] if found else ""


def find_comment(api: CommentApi, marker: str) -> Comment | None:
    """The comment that begins with a line; None where there is none.

    Raises:
        ForgeError: the code host does not answer, or refuses.
    """
    with httpx2.Client(headers=dict(api.headers), timeout=_SECONDS) as client:
        return next((found for found in _all(client, api) if found.text.startswith(marker)), None)


def put_comment(api: CommentApi, there: Comment | None, text: str) -> None:
    """Change the comment that is there, or write one, also where it was deleted meanwhile.

    Raises:
        ForgeError: the code host does not answer, or refuses.
    """
    body: dict[str, Any] = {api.key: text}
    with httpx2.Client(headers=dict(api.headers), timeout=_SECONDS) as client:
        if there is not None:
            method, address = api.edit
            done = _ask(client, api, method, address.format(id=there.identifier), body)
            if done.status_code != _GONE:
                _require(api, done)
                return
        new = {"comments": [{**body, "commentType": 1}], "status": "active"} if api.nested else body
        _require(api, _ask(client, api, "POST", api.comments, new))


def _all(client: httpx2.Client, api: CommentApi) -> Iterator[Comment]:
    address = api.comments
    for _ in range(_PAGES):
        answer = _ask(client, api, "GET", address)
        _require(api, answer)
        yield from _comments(api, answer.json())
        following = answer.links.get("next", {}).get("url")
        if not following:
            return
        address = following


def _comments(api: CommentApi, told: object) -> Iterator[Comment]:
    if api.nested:
        for thread in cast("dict[str, list[dict[str, Any]]]", told)["value"]:
            held = cast("list[dict[str, Any]]", thread.get("comments") or [])
            first = held[0] if held else dict[str, Any]()
            yield Comment(identifier=str(thread["id"]), text=str(first.get(api.key) or ""))
        return
    for item in cast("list[dict[str, Any]]", told):
        yield Comment(identifier=str(item["id"]), text=str(item.get(api.key) or ""))


def _ask(
    client: httpx2.Client, api: CommentApi, method: str, address: str, body: dict[str, Any] | None = None
) -> httpx2.Response:
    try:
        return client.request(method, address, json=body)
    except httpx2.TransportError as problem:
        raise ForgeError(
            f"{api.forge} does not answer ({problem or type(problem).__name__}); no comment was written, the "
            "review's files are there; run the job again"
        ) from problem


def _require(api: CommentApi, answer: httpx2.Response) -> None:
    if answer.is_success:
        return
    if answer.status_code in _REFUSED:
        raise ForgeError(
            f"{api.forge} refuses this token to write comments (HTTP {answer.status_code}); no comment was "
            "written; fix: give the job the right to write on pull requests"
        )
    raise ForgeError(
        f"{api.forge} answered HTTP {answer.status_code} to {answer.request.method} "
        f"{answer.request.url.path}; no comment was written, the review's files are there"
    )
