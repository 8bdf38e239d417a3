"""What a cloud's account is asked before `pulumi up`: commands that only read, and what their answers mean.

The cloud's own command line holds the login at hand, and refuses what that may not read. Nothing is run here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pydantic import BaseModel

    from dra_fleet.findings.preflight import PreflightFinding


@dataclass(frozen=True, kw_only=True)
class CloudQuestion:
    """One question to an account.

    Attributes:
        subject: what it is about, such as "quota".
        about: the same in words, to end "cannot tell ..." with.
        command: words of a command that prints JSON and changes nothing.
        answer: how the answer is read; it may hold more.
        judge: what the answer means for the stack.
    """

    subject: str
    about: str
    command: tuple[str, ...]
    answer: type[BaseModel]
    judge: Callable[[Any], Iterable[PreflightFinding]]


def allowed(action: str, permissions: Iterable[Mapping[str, Iterable[str]]]) -> bool:
    """Whether grants of patterns with `*` allow an action.

    Args:
        action: such as `Microsoft.ContainerService/managedClusters/write`.
        permissions: each with the patterns it gives, `actions`, and those it leaves out, `notActions`.
    """
    return any(
        _matches(action, grant.get("actions", ())) and not _matches(action, grant.get("notActions", ()))
        for grant in permissions
    )


def _matches(action: str, patterns: Iterable[str]) -> bool:
    from fnmatch import fnmatchcase  # noqa: PLC0415 - who asks no account needs none

    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)
