"""What a cloud's account is asked before `pulumi up`: commands that only read, and what their answers mean.

The cloud's own command line holds the login at hand, and refuses what that may not read. Nothing is run here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from dra_fleet.clouds.answers import Login, judge_version
from dra_fleet.findings.preflight import PreflightFinding
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pydantic import BaseModel

LoginT = TypeVar("LoginT", bound=Login)
AnswerT = TypeVar("AnswerT", bound="BaseModel")


def nothing_more(_: Any) -> Sequence[CloudQuestion]:  # noqa: ANN401 - an answer of any question
    """What is asked after most questions."""
    return ()


@dataclass(frozen=True, kw_only=True)
class CloudQuestion:
    """One question to an account.

    Attributes:
        subject: what it is about, such as "quota".
        about: the same in words, to end "cannot tell ..." with.
        command: words of a command that prints JSON and changes nothing.
        answer: how the answer is read; it may hold more.
        judge: what the answer means for the stack.
        then: what is asked once this is answered, such as with the name of the login.
    """

    subject: str
    about: str
    command: tuple[str, ...]
    answer: type[BaseModel]
    judge: Callable[[Any], Iterable[PreflightFinding]]
    then: Callable[[Any], Sequence[CloudQuestion]] = nothing_more


def account_question(
    cloud: str,
    wanted: str | None,
    command: tuple[str, ...],
    login: type[LoginT],
    then: Callable[[LoginT], Sequence[CloudQuestion]],
) -> CloudQuestion:
    """Whose login this is; that of another account than the stack's is asked no further.

    Args:
        cloud: what people call the cloud.
        wanted: the account that the stack names, if any.
        command: prints the login.
        login: how it is read.
        then: what the login's account is asked.
    """

    def judge(told: LoginT) -> Iterator[PreflightFinding]:
        if wanted not in (None, told.account):
            yield PreflightFinding(
                level="problem",
                subject="account",
                message=f"the stack's account is {wanted}, the login is in {told.account}; "
                f"{cloud} was asked no further",
                fix=f"log in to {wanted}, or change account",
            )

    return CloudQuestion(
        subject="account",
        about="whose login this is",
        command=command,
        answer=login,
        judge=judge,
        then=lambda told: then(told) if wanted in (None, told.account) else (),
    )


def version_question(
    wanted: str,
    place: str,
    command: tuple[str, ...],
    versions: type[AnswerT],
    offered: Callable[[AnswerT], Iterable[str]],
    *,
    among: str = "",
) -> CloudQuestion:
    """Whether a cluster can be made with a Kubernetes version.

    Args:
        wanted: a minor, or a version exactly.
        place: where the cluster is to be.
        command: prints what is offered there.
        versions: how that is read.
        offered: the minors or versions in it.
        among: which part of what is offered counts, to end the place with.
    """
    return CloudQuestion(
        subject="versions",
        about=f"which versions are offered in {place}",
        command=command,
        answer=versions,
        judge=lambda told: [judge_version(wanted, place + among, offered(told))],
    )


def judged_together(
    questions: Sequence[CloudQuestion],
    judge: Callable[[tuple[Any, ...]], Iterable[PreflightFinding]] = lambda _: (),
    then: Callable[[tuple[Any, ...]], Sequence[CloudQuestion]] = nothing_more,
) -> Sequence[CloudQuestion]:
    """Questions that are asked one after another, and whose answers mean something only together.

    Args:
        questions: their own judgements and what they lead to are left out.
        judge: what all answers mean, in the order of the questions.
        then: what is asked once all are answered.
    """

    def from_on(place: int, told: tuple[Any, ...]) -> Sequence[CloudQuestion]:
        if place == len(questions):
            return then(told)
        last = place + 1 == len(questions)

        def judged(answer: Any) -> Iterable[PreflightFinding]:  # noqa: ANN401 - as the question's model has it
            return judge((*told, answer)) if last else ()

        def further(answer: Any) -> Sequence[CloudQuestion]:  # noqa: ANN401 - see above
            return from_on(place + 1, (*told, answer))

        return (replace(questions[place], judge=judged, then=further),)

    return from_on(0, ())


def allowed(action: str, permissions: Iterable[Mapping[str, Iterable[str]]]) -> bool:
    """Whether grants of patterns with `*` allow an action.

    Args:
        action: such as `Microsoft.ContainerService/managedClusters/write`.
        permissions: each with the patterns it gives, `actions`, and those it leaves out, `notActions`.
    """
    return any(
        matches(action, grant.get("actions", ())) and not matches(action, grant.get("notActions", ()))
        for grant in permissions
    )


def matches(action: str, patterns: Iterable[str]) -> bool:
    """Whether one of some patterns with `*` covers an action.

    Args:
        action: such as `cs:CreateCluster`.
        patterns: such as `cs:*`.
    """
    from fnmatch import fnmatchcase  # noqa: PLC0415 - who asks no account needs none

    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)
