"""What the answers of a cloud's account come to, in the same words for every cloud."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from dra_fleet.findings.preflight import PreflightFinding
from dra_fleet.plain import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


class Answered(BaseModel):
    """A part of an answer; what is not read of it is left alone."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Login(Answered):
    """Whose login a cloud's command line holds."""

    account: str


@dataclass(frozen=True, kw_only=True)
class Quota:
    """How much an account may have at once. `used`: how much it has; None where the cloud does not tell."""

    limit: float
    used: float | None = None


def judge_quota(
    wanted: float, unit: str, name: str, place: str, *, quota: Quota | None, ask: str
) -> PreflightFinding:
    """Whether a quota holds what the pools take at max.

    Args:
        wanted: how much they take.
        unit: of what, such as "vCPUs".
        name: of the quota.
        place: where it counts, such as a region.
        quota: as the account has it; None where the cloud tells none of this name.
        ask: the command that asks for more.
    """
    takes = f"the pools take {wanted:.0f} {unit} of {name} at max"
    if quota is None:
        message = f"{takes}; no quota of that name is told in {place}, so whether there is enough is unknown"
        return PreflightFinding(level="warning", subject="quota", message=message, fix=ask)
    limit = f"{quota.limit:.0f}" if isfinite(quota.limit) else "unlimited"
    at_max = f"{takes}; the quota in {place} is {limit}"
    if quota.limit < wanted:
        return PreflightFinding(level="problem", subject="quota", message=at_max, fix=ask)
    if quota.used is None:
        message = f"{at_max}; how much of it is in use is unknown"
        return PreflightFinding(level="ok", subject="quota", message=message)
    if quota.limit - quota.used < wanted:
        message = f"{at_max}, of which {quota.used:.0f} are in use, unless that is by these pools"
        return PreflightFinding(level="warning", subject="quota", message=message, fix=ask)
    return PreflightFinding(level="ok", subject="quota", message=at_max)


def judge_offer(
    machine: str, place: str, pools: Mapping[str, Iterable[str]], offered: Iterable[str], elsewhere: str
) -> PreflightFinding:
    """Whether a machine type is offered where pools want it.

    Args:
        machine: its name in the cloud.
        place: the region.
        pools: the zones by pool; without any, one zone with it is enough.
        offered: the zones that have it.
        elsewhere: the command that lists where it is.
    """
    zones = sorted(set(offered))
    for pool, wanted in sorted(pools.items()):
        missing = sorted(set(wanted) - set(zones))
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


def judge_reservation(
    pool: str, reservation: str, machine: str, *, kept: int, most: int, ask: str
) -> PreflightFinding:
    """Whether a reservation holds a pool at max.

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
        level="ok" if enough else "problem",
        subject="reservation",
        message=message,
        fix="" if enough else ask,
    )


def judge_permissions(
    missing: Mapping[str, str], unknown: Mapping[str, str], scope: str
) -> Iterator[PreflightFinding]:
    """What the login may not do of what the stack asks for.

    Args:
        missing: by action the command that asks for the right to it.
        unknown: by action why nobody knows whether it is allowed.
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


def judge_version(wanted: str, place: str, offered: Iterable[str]) -> PreflightFinding:
    """Whether a cluster can be made with a Kubernetes version.

    Args:
        wanted: a minor, or a version exactly.
        place: where the cluster is to be.
        offered: minors or versions.
    """
    known = sorted(set(offered))
    if any(version == wanted or version.startswith((f"{wanted}.", f"{wanted}-")) for version in known):
        message = f"Kubernetes {wanted} is offered in {place}"
        return PreflightFinding(level="ok", subject="versions", message=message)
    message = f"Kubernetes {wanted} is not offered in {place}"
    fix = f"one of {', '.join(known)}" if known else ""
    return PreflightFinding(level="problem", subject="versions", message=message, fix=fix)
