"""The one comment of a review on a pull request: found again by its first line, changed in place."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeVar

import httpx2
from pydantic import AliasChoices, BaseModel, Field, TypeAdapter, ValidationError

from dra_fleet.core.findings.errors import ExpectedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dra_fleet.review.forges.runs import CommentApi

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


@dataclass(frozen=True, kw_only=True)
class Comment:
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
