"""Check a cloud account with the cloud's own command line; read only."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import shutil
import signal
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import ValidationError

from dra_fleet import clouds
from dra_fleet.core.findings.errors import ExpectedError, PreflightFinding, message_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

    from dra_fleet.clouds.account import CloudQuestion, Lookup
    from dra_fleet.core.findings.errors import Level
    from dra_fleet.model.plan import ClusterPlan

SECONDS: Final = 90.0
"""Timeout of a request; lists of machine types are long."""
_MOST: Final = 300
"""Maximum characters of a command line's error in a message."""


class _Cause(NamedTuple):
    """A cause of a failed request: words that identify it, its description, and the fix."""

    words: tuple[str, ...]
    why: str
    fix: str
    level: Level = "unchecked"


_CAUSES: Final = (
    _Cause(
        ("resourcenotfound", "reservationid.notfound"),
        "it does not exist ({error})",
        "create it, or name another in the stack file",
        "problem",
    ),
    _Cause(
        (
            "az login", "gcloud auth login", "no active account", "aliyun configure", "aws configure",
            "unable to locate credentials", "aws sso login", "error loading sso token", "expiredtoken",
            "token has expired", "invalidclienttokenid", "invalidaccesskeyid", "invalidsecuritytoken",
            "aadsts", "invalid_grant", "reauthentication", "sso session", "requestexpired", "authfailure",
            "unrecognizedclient", "security token included in the request", "signaturedoesnotmatch",
            "invalid authentication credentials", "access token is invalid",
        ),
        "you are not logged in, or the login has expired",
        "log in with {tool}",
    ),
    _Cause(
        ("service_disabled", "it is disabled. enable it"),
        "its API is not enabled ({error})",
        "enable the API and wait a few minutes",
    ),
    _Cause(
        (
            "authorizationfailed", "accessdenied", "unauthorizedoperation", "permission_denied",
            "forbidden", "nopermission", "permission for", "does not have permission",
        ),
        "this login lacks the permission ({error})",
        "request a role that can read it",
    ),
)  # fmt: skip
"""Sources: the error codes of https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting,
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html,
https://cloud.google.com/resource-manager/docs/core_errors and
https://www.alibabacloud.com/help/en/ram/support/faq-about-ram-policies-and-permissions."""


async def ask_account(cluster: ClusterPlan, *, seconds: float = SECONDS) -> list[PreflightFinding]:
    """Check the account of a cluster's cloud; a question without an answer is reported as `unchecked`.

    Args:
        cluster: the plan.
        seconds: timeout of each request.
    """
    cloud = clouds.named(cluster.cloud)
    asked = cloud.questions(cluster)
    if asked and shutil.which(cloud.command_line) is None:
        return [
            PreflightFinding(
                level="unchecked",
                subject="account",
                message=f"quota, machines and permissions of {cloud.title} were not checked: "
                f"{cloud.command_line} is not on PATH",
                fix=f"install {cloud.command_line} and log in",
            )
        ]
    return await _ask_all(cloud.title, asked, seconds)


async def _ask_all(title: str, questions: Sequence[CloudQuestion], seconds: float) -> list[PreflightFinding]:
    answers = await asyncio.gather(*(_ask(title, question, seconds) for question in questions))
    return [finding for found in answers for finding in found]


async def _ask(title: str, question: CloudQuestion, seconds: float) -> list[PreflightFinding]:
    try:
        code, out, err = await _run(question.command, seconds)
    except TimeoutError:
        return [_unanswered(title, question, f"no answer within {seconds:g} seconds", "try again")]
    except OSError as problem:
        # For example a script whose interpreter is missing.
        tool = question.command[0]
        why = f"{tool} cannot be started: {problem.strerror}"
        return [_unanswered(title, question, why, f"install {tool} again")]
    if code != 0:
        return [_refused(title, question, err.decode(errors="replace"))]
    try:
        answer = question.answer.model_validate_json(out)
    except ValidationError as wrong:
        return [_unread(title, question, out, wrong.errors(include_url=False)[0])]
    return [*question.check(answer), *await _ask_all(title, question.then(answer), seconds)]


class NoAnswerError(ExpectedError):
    """An account did not answer; the message is the reason."""


async def look_up(lookup: Lookup, *, seconds: float = SECONDS) -> str:
    """Return the engine's id of a cluster or pool, "" if the account does not have it.

    Raises:
        NoAnswerError: That is unknown.
    """
    command = shlex.join(lookup.command)
    if shutil.which(lookup.command[0]) is None:
        raise NoAnswerError(f"{lookup.command[0]} is not on PATH")
    try:
        code, out, err = await _run(lookup.command, seconds)
    except TimeoutError:
        raise NoAnswerError(f"`{command}` gave no answer within {seconds:g} seconds") from None
    except OSError as problem:
        raise NoAnswerError(f"{lookup.command[0]} cannot be started: {problem.strerror}") from problem
    error = err.decode(errors="replace")
    if code != 0:
        if any(word in error.lower() for word in lookup.absent):
            return ""
        raise NoAnswerError(f"`{command}` failed: {_shortened(error) or 'without a message'}")
    try:
        return lookup.identifier(json.loads(out))
    except (ValueError, LookupError, TypeError):
        raise NoAnswerError(f"`{command}` printed an unknown answer") from None


async def _run(command: Sequence[str], seconds: float) -> tuple[int | None, bytes, bytes]:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except BaseException:  # including Ctrl-C
        # The command line is often a script, and its children keep the pipes open.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    return process.returncode, out, err


def _unread(title: str, question: CloudQuestion, out: bytes, error: ErrorDetails) -> PreflightFinding:
    if error["type"] == "json_invalid":
        began = _shortened(out[:_MOST].decode(errors="replace")) or "nothing"
        why = f"its answer is not JSON ({began})"
        return _unanswered(title, question, why, f"run it yourself: {shlex.join(question.command)}")
    place = ".".join(map(str, error["loc"])) or "the answer"
    return _unanswered(title, question, f"{place}: {message_of(error)}", f"update {question.command[0]}")


def _refused(title: str, question: CloudQuestion, words: str) -> PreflightFinding:
    error = _shortened(words) or "it failed without a message"
    tool = question.command[0]
    for cause in _CAUSES:
        if any(word in words.lower() for word in cause.words):
            fix = cause.fix.format(tool=tool)
            return _unanswered(title, question, cause.why.format(error=error), fix, level=cause.level)
    return _unanswered(title, question, error, f"run it yourself: {shlex.join(question.command)}")


def _shortened(words: str) -> str:
    """Return the beginning of an error on one line, without control characters."""
    return "".join(sign for sign in " ".join(words.split()) if sign.isprintable())[:_MOST]


def _unanswered(
    title: str, question: CloudQuestion, why: str, fix: str, *, level: Level = "unchecked"
) -> PreflightFinding:
    message = f"{title}: could not check {question.about}: {why}"
    return PreflightFinding(level=level, subject=question.subject, message=message, fix=fix)
