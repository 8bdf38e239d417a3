"""Asks a cloud's account, by its own command line, what a stack's cluster needs there. Only reads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
from typing import TYPE_CHECKING, Final

from pydantic import ValidationError

from dra_fleet import clouds
from dra_fleet.findings.preflight import PreflightFinding

if TYPE_CHECKING:
    from dra_fleet.clouds.questions import CloudQuestion
    from dra_fleet.model.plan import ClusterPlan

SECONDS: Final = 90.0
"""How long a cloud may take to answer; lists of machine types are long."""
_DENIED: Final = (
    "authorizationfailed",
    "accessdenied",
    "unauthorizedoperation",
    "permission_denied",
    "forbidden",
)
_NO_LOGIN: Final = ("az login", "unable to locate credentials", "gcloud auth login", "no active account")


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
    told = await asyncio.gather(*(_ask(cloud.title, question, seconds) for question in asked))
    return [finding for found in told for finding in found]


async def _ask(title: str, question: CloudQuestion, seconds: float) -> list[PreflightFinding]:
    process = await asyncio.create_subprocess_exec(
        *question.command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), seconds)
    except TimeoutError:
        # The command line is often a script, and what it started holds the pipes.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        return [_untold(title, question, f"no answer within {seconds:g} seconds", "try again")]
    if process.returncode != 0:
        return [_refused(title, question, err.decode(errors="replace"))]
    try:
        return list(question.judge(question.answer.model_validate_json(out)))
    except ValidationError as wrong:
        error = wrong.errors(include_url=False)[0]
        place = ".".join(map(str, error["loc"])) or "the answer"
        return [_untold(title, question, f"{place}: {error['msg']}", f"update {question.command[0]}")]


def _refused(title: str, question: CloudQuestion, said: str) -> PreflightFinding:
    line = next((text.strip() for text in said.splitlines() if text.strip()), "it failed without a word")
    lower = said.lower()
    if any(word in lower for word in _NO_LOGIN):
        return _untold(title, question, "nobody is logged in", f"log in with {question.command[0]}")
    if any(word in lower for word in _DENIED):
        return _untold(title, question, f"this login may not ask ({line})", "ask for a role that may read it")
    return _untold(title, question, line, f"try it yourself: {shlex.join(question.command)}")


def _untold(title: str, question: CloudQuestion, why: str, fix: str) -> PreflightFinding:
    message = f"{title} does not tell {question.about}: {why}"
    return PreflightFinding(level="warning", subject=question.subject, message=message, fix=fix)
