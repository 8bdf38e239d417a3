"""Access to a cluster, and questions to its account before `pulumi up` with their answers."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from msgspec import Struct
from msgspec.structs import replace
from pydantic import BaseModel, ConfigDict

from dra_fleet.clouds.common.resources import is_open
from dra_fleet.core.findings.errors import PreflightFinding

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence


class Exposed(Struct, frozen=True, kw_only=True):
    """A fact about access to a cluster: its subject, its text, and whether it is a warning."""

    subject: Literal["API server", "credentials", "administrators"]
    text: str
    level: Literal["fine", "note", "warning"] = "fine"


ADOPTED = Exposed(
    subject="API server",
    text="the cluster is adopted; who reaches its API server is not this stack's to say",
    level="note",
)
"""All that is reported of a cluster that the stack does not make."""


def address(ranges: Sequence[str], *, is_private: bool) -> Exposed:
    """Return the exposure of an API server: private, or open to `ranges`. No range means every address."""
    if is_private:
        return Exposed(subject="API server", text="has a private address only")
    return Exposed(
        subject="API server",
        text=f"public address, open to {', '.join(ranges) or 'everybody'}",
        level="warning" if is_open(ranges) or not ranges else "note",
    )


def administrators(names: Sequence[str], otherwise: str) -> Exposed:
    """Return the administrators of a cluster, or `otherwise` if the stack names none."""
    return Exposed(subject="administrators", text=", ".join(names) or f"no one but who {otherwise}")


class Answered(BaseModel):
    """A part of an answer; what is not read of it is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Login(Answered):
    """The account and user that a cloud's command line is logged in to."""

    account: str


class Quota(Struct, frozen=True, kw_only=True):
    """A quota of an account. `used`: amount in use; None if the cloud does not report it."""

    limit: float
    used: float | None = None


def check_quota(
    requested: float, unit: str, name: str, place: str, *, quota: Quota | None, ask: str
) -> PreflightFinding:
    """Check that a quota covers the maximum size of the pools.

    Args:
        requested: how much they take.
        unit: of what, such as "vCPUs".
        name: of the quota.
        place: where it counts, such as a region.
        quota: as the account has it; None where the cloud reports none of this name.
        ask: the command that requests more.
    """
    takes = f"the pools take {requested:.0f} {unit} of {name} at max"
    if quota is None:
        message = (
            f"{takes}; no quota of that name is reported in {place}, so whether there is enough is unknown"
        )
        return PreflightFinding(level="warning", subject="quota", message=message, fix=ask)
    limit = f"{quota.limit:.0f}" if isfinite(quota.limit) else "unlimited"
    at_max = f"{takes}; the quota in {place} is {limit}"
    if quota.limit < requested:
        return PreflightFinding(level="problem", subject="quota", message=at_max, fix=ask)
    if quota.used is None:
        message = f"{at_max}; how much of it is in use is unknown"
        return PreflightFinding(level="ok", subject="quota", message=message)
    if quota.limit - quota.used < requested:
        message = f"{at_max}, of which {quota.used:.0f} are in use, unless that is by these pools"
        return PreflightFinding(level="warning", subject="quota", message=message, fix=ask)
    return PreflightFinding(level="ok", subject="quota", message=at_max)


def check_offer(
    machine: str, place: str, pools: Mapping[str, Iterable[str]], offered: Iterable[str], elsewhere: str
) -> PreflightFinding:
    """Check that a machine type is offered in the zones of its pools.

    Args:
        machine: its name in the cloud.
        place: the region.
        pools: the zones by pool; without any, one zone with it is enough.
        offered: the zones that have it.
        elsewhere: the command that lists where it is.
    """
    zones = sorted(set(offered))
    for pool, requested in sorted(pools.items()):
        missing = sorted(set(requested) - set(zones))
        if missing and zones:
            return PreflightFinding(
                level="problem",
                subject="machines",
                message=f"pool {pool}: {machine} is not offered in zone {', '.join(missing)} of {place}",
                fix=f"zones: [{', '.join(zones)}]",
            )
    if not zones:
        message = f"{machine} is not offered in {place}"
        return PreflightFinding(level="problem", subject="machines", message=message, fix=elsewhere)
    return PreflightFinding(level="ok", subject="machines", message=f"{machine} is offered in {place}")


def check_reservation(
    pool: str, reservation: str, machine: str, *, kept: int, most: int, ask: str
) -> PreflightFinding:
    """Check that a reservation covers a pool at its maximum size.

    Args:
        pool: the pool's name.
        reservation: its name or id.
        machine: the pool's machine type.
        kept: how many of that type it reserves where the pool is.
        most: how many the pool takes.
        ask: the command that makes it larger.
    """
    message = f"pool {pool}: {reservation} reserves {kept} of {machine}; it takes {most} at max"
    enough = kept >= most
    return PreflightFinding(
        level="ok" if enough else "problem", subject="reservation", message=message, fix="" if enough else ask
    )


def check_permissions(
    missing: Mapping[str, str], unknown: Mapping[str, str], scope: str
) -> Iterator[PreflightFinding]:
    """Report missing permissions of the login.

    Args:
        missing: by action the command that requests the right to it.
        unknown: by action why no one knows whether it is allowed.
        scope: where it is asked.
    """
    for action, fix in missing.items():
        message = f"this login may not {action}"
        yield PreflightFinding(level="problem", subject="permissions", message=message, fix=fix)
    for action, why in unknown.items():
        message = f"whether this login may {action} is unknown: {why}"
        yield PreflightFinding(level="warning", subject="permissions", message=message)
    if not missing and not unknown:
        message = f"this login may make what the stack asks of {scope}"
        yield PreflightFinding(level="ok", subject="permissions", message=message)


def check_version(requested: str, place: str, offered: Iterable[str]) -> PreflightFinding:
    """Check that the cloud offers a Kubernetes version for a new cluster.

    Args:
        requested: a minor, or a version exactly.
        place: where the cluster is to be.
        offered: minors or versions.
    """
    known = sorted(set(offered))
    if any(
        version == requested or version.startswith((f"{requested}.", f"{requested}-")) for version in known
    ):
        message = f"Kubernetes {requested} is offered in {place}"
        return PreflightFinding(level="ok", subject="versions", message=message)
    message = f"Kubernetes {requested} is not offered in {place}"
    fix = f"one of {', '.join(known)}" if known else ""
    return PreflightFinding(level="problem", subject="versions", message=message, fix=fix)


LoginT = TypeVar("LoginT", bound=Login)
AnswerT = TypeVar("AnswerT", bound="BaseModel")


def nothing_more(_: Any) -> Sequence[CloudQuestion]:  # noqa: ANN401 - an answer of any question
    """Ask no further question."""
    return ()


class CloudQuestion(Struct, frozen=True, kw_only=True):
    """A question to an account.

    Attributes:
        subject: what it is about, such as "quota".
        about: the same in words, to end "does not know ..." with.
        command: words of a command that prints JSON and changes nothing.
        answer: how the answer is read; it may hold more.
        check: what the answer means for the stack.
        then: what is asked once this is answered, such as with the name of the login.
    """

    subject: str
    about: str
    command: tuple[str, ...]
    answer: type[BaseModel]
    check: Callable[[Any], Iterable[PreflightFinding]]
    then: Callable[[Any], Sequence[CloudQuestion]] = nothing_more


class Lookup(Struct, frozen=True, kw_only=True):
    """A question whether an account has a cluster or pool.

    Attributes:
        command: Words of a command that prints it, or a list that has it, as JSON.
        absent: Words, one of which is in the error if it does not exist, in lower case.
        identifier: Returns the engine's id from the output; "" if the output does not have it.
    """

    command: tuple[str, ...]
    absent: tuple[str, ...]
    identifier: Callable[[Mapping[str, Any]], str]


def options(**values: object) -> tuple[str, ...]:
    """Return the options of a command line that have a value."""
    return tuple(word for name, value in values.items() if value for word in (f"--{name}", str(value)))


def account_question(
    cloud: str,
    requested: str | None,
    command: tuple[str, ...],
    login: type[LoginT],
    then: Callable[[LoginT], Sequence[CloudQuestion]],
) -> CloudQuestion:
    """Ask which account is logged in; stop if it differs from the account that the stack names.

    Args:
        cloud: what people call the cloud.
        requested: the account that the stack names, if any.
        command: prints the login.
        login: how it is read.
        then: what the login's account is asked.
    """

    def check(shown: LoginT) -> Iterator[PreflightFinding]:
        if requested not in (None, shown.account):
            yield PreflightFinding(
                level="problem",
                subject="account",
                message=f"the stack's account is {requested}, the login is in {shown.account}; "
                f"{cloud} was asked no further",
                fix=f"log in to {requested}, or change account",
            )

    return CloudQuestion(
        subject="account",
        about="whose login this is",
        command=command,
        answer=login,
        check=check,
        then=lambda shown: then(shown) if requested in (None, shown.account) else (),
    )


def version_question(
    requested: str,
    place: str,
    command: tuple[str, ...],
    versions: type[AnswerT],
    offered: Callable[[AnswerT], Iterable[str]],
    *,
    among: str = "",
) -> CloudQuestion:
    """Ask whether the cloud offers a Kubernetes version for a new cluster.

    Args:
        requested: a minor, or a version exactly.
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
        check=lambda shown: [check_version(requested, place + among, offered(shown))],
    )


def checked_together(
    questions: Sequence[CloudQuestion],
    check: Callable[[tuple[Any, ...]], Iterable[PreflightFinding]] = lambda _: (),
    then: Callable[[tuple[Any, ...]], Sequence[CloudQuestion]] = nothing_more,
) -> Sequence[CloudQuestion]:
    """Questions that are asked one after another, and whose answers mean something only together.

    Args:
        questions: their own judgements and what they lead to are omitted.
        check: what all answers mean, in the order of the questions.
        then: what is asked once all are answered.
    """

    def from_on(place: int, shown: tuple[Any, ...]) -> Sequence[CloudQuestion]:
        if place == len(questions):
            return then(shown)
        last = place + 1 == len(questions)

        def checked(answer: Any) -> Iterable[PreflightFinding]:  # noqa: ANN401 - as the question's model has it
            return check((*shown, answer)) if last else ()

        def further(answer: Any) -> Sequence[CloudQuestion]:  # noqa: ANN401 - see above
            return from_on(place + 1, (*shown, answer))

        return (replace(questions[place], check=checked, then=further),)

    return from_on(0, ())


def allowed(action: str, permissions: Iterable[Mapping[str, Iterable[str]]]) -> bool:
    """Return True if grants with `*` patterns allow an action.

    Args:
        action: such as `Microsoft.ContainerService/managedClusters/write`.
        permissions: each with the patterns it gives, `actions`, and those it omits, `notActions`.
    """
    return any(
        matches(action, grant.get("actions", ())) and not matches(action, grant.get("notActions", ()))
        for grant in permissions
    )


def matches(action: str, patterns: Iterable[str]) -> bool:
    """Return True if a pattern with `*` matches an action.

    Args:
        action: such as `cs:CreateCluster`.
        patterns: such as `cs:*`.
    """
    from fnmatch import fnmatchcase  # noqa: PLC0415 - who asks no account needs none

    return any(fnmatchcase(action.lower(), pattern.lower()) for pattern in patterns)
