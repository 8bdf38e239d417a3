"""Asks a cloud's account, by its own command line, what a stack's cluster needs there. Only reads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
from typing import TYPE_CHECKING, Final, NamedTuple

from pydantic import ValidationError

from dra_fleet import clouds
from dra_fleet.core.findings.reported import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic_core import ErrorDetails

    from dra_fleet.clouds.account import CloudQuestion
    from dra_fleet.core.findings.reported import Level
    from dra_fleet.model.plan import ClusterPlan

SECONDS: Final = 90.0
"""How long a cloud may take to answer; lists of machine types are long."""
_MOST: Final = 300
"""Letters of what a command line says; some add pages of advice."""


class _Why(NamedTuple):
    """Why a cloud does not answer: words by which it is known, what it comes to, and what to do."""

    said: tuple[str, ...]
    why: str
    fix: str
    level: Level = "warning"


_WHYS: Final = (
    _Why(
        ("resourcenotfound", "reservationid.notfound"),
        "it is not there ({said})",
        "make it, or name another in the stack file",
        "problem",
    ),
    _Why(
        (
            "az login", "gcloud auth login", "no active account", "aliyun configure", "aws configure",
            "unable to locate credentials", "aws sso login", "error loading sso token", "expiredtoken",
            "token has expired", "invalidclienttokenid", "invalidaccesskeyid", "invalidsecuritytoken",
            "aadsts", "invalid_grant", "reauthentication", "sso session", "requestexpired", "authfailure",
            "unrecognizedclient", "security token included in the request", "signaturedoesnotmatch",
            "invalid authentication credentials", "access token is invalid",
        ),
        "nobody is logged in, or the login has expired",
        "log in with {tool}",
    ),
    _Why(
        ("service_disabled", "it is disabled. enable it"),
        "its API is not enabled ({said})",
        "enable the API, which takes a few minutes",
    ),
    _Why(
        (
            "authorizationfailed", "accessdenied", "unauthorizedoperation", "permission_denied",
            "forbidden", "nopermission", "permission for", "does not have permission",
        ),
        "this login may not ask ({said})",
        "ask for a role that may read it",
    ),
)  # fmt: skip
"""Sources: the error codes of https://learn.microsoft.com/azure/azure-resource-manager/troubleshooting,
https://docs.aws.amazon.com/AWSEC2/latest/APIReference/errors-overview.html,
https://cloud.google.com/resource-manager/docs/core_errors and
https://www.alibabacloud.com/help/en/ram/support/faq-about-ram-policies-and-permissions."""


async def ask_account(cluster: ClusterPlan, *, seconds: float = SECONDS) -> list[PreflightFinding]:
    """What a cluster's cloud answers; each question that has no answer is one warning.

    Args:
        cluster: the plan.
        seconds: how long each answer may take.
    """
    cloud = clouds.named(cluster.cloud)
    asked = cloud.questions(cluster)
    if asked and shutil.which(cloud.command_line) is None:
        return [
            PreflightFinding(
                level="warning",
                subject="account",
                message=f"{cloud.title} was not asked for quota, machines and permissions: "
                f"{cloud.command_line} is not on PATH",
                fix=f"install {cloud.command_line} and log in",
            )
        ]
    return await _ask_all(cloud.title, asked, seconds)


async def _ask_all(title: str, questions: Sequence[CloudQuestion], seconds: float) -> list[PreflightFinding]:
    told = await asyncio.gather(*(_ask(title, question, seconds) for question in questions))
    return [finding for found in told for finding in found]


async def _ask(title: str, question: CloudQuestion, seconds: float) -> list[PreflightFinding]:
    try:
        code, out, err = await _run(question.command, seconds)
    except TimeoutError:
        return [_untold(title, question, f"no answer within {seconds:g} seconds", "try again")]
    except OSError as problem:
        # Such as a script whose interpreter is gone.
        tool = question.command[0]
        why = f"{tool} cannot be started: {problem.strerror}"
        return [_untold(title, question, why, f"install {tool} again")]
    if code != 0:
        return [_refused(title, question, err.decode(errors="replace"))]
    try:
        answer = question.answer.model_validate_json(out)
    except ValidationError as wrong:
        return [_unread(title, question, out, wrong.errors(include_url=False)[0])]
    return [*question.judge(answer), *await _ask_all(title, question.then(answer), seconds)]


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
    except BaseException:  # also where somebody presses Ctrl-C
        # The command line is often a script, and what it started holds the pipes.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        raise
    return process.returncode, out, err


def _unread(title: str, question: CloudQuestion, out: bytes, error: ErrorDetails) -> PreflightFinding:
    if error["type"] == "json_invalid":
        began = _shortened(out[:_MOST].decode(errors="replace")) or "nothing"
        why = f"its answer is no JSON ({began})"
        return _untold(title, question, why, f"try it yourself: {shlex.join(question.command)}")
    place = ".".join(map(str, error["loc"])) or "the answer"
    return _untold(title, question, f"{place}: {error['msg']}", f"update {question.command[0]}")


def _refused(title: str, question: CloudQuestion, words: str) -> PreflightFinding:
    said = _shortened(words) or "it failed without a word"
    tool = question.command[0]
    for known in _WHYS:
        if any(word in words.lower() for word in known.said):
            fix = known.fix.format(tool=tool)
            return _untold(title, question, known.why.format(said=said), fix, level=known.level)
    return _untold(title, question, said, f"try it yourself: {shlex.join(question.command)}")


def _shortened(words: str) -> str:
    """The beginning of what was said, on one line, without what steers a terminal."""
    return "".join(sign for sign in " ".join(words.split()) if sign.isprintable())[:_MOST]


def _untold(
    title: str, question: CloudQuestion, why: str, fix: str, *, level: Level = "warning"
) -> PreflightFinding:
    message = f"{title} does not tell {question.about}: {why}"
    return PreflightFinding(level=level, subject=question.subject, message=message, fix=fix)
