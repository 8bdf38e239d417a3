"""The Kubernetes releases the simulated ACK offers, those of the facts, and from which to which it goes."""

from __future__ import annotations

import re
from typing import Final

from dra_fleet.clouds.ack.facts import ack_facts
from dra_fleet.clouds.ack.simulation.refusing import INVALID, refuse

_GRAMMAR: Final = re.compile(r"1\.\d+\.\d+-aliyun\.\d+")


def release_of(asked: str | None) -> str:
    """The release a cluster runs: the newest where none is asked for.

    Raises:
        CloudRefusal: ACK does not offer it, or it is not written as ACK writes releases.
    """
    releases = ack_facts().versions
    if asked is None:
        return releases[-1]
    if not _GRAMMAR.fullmatch(asked):
        raise refuse(INVALID, f"kubernetes_version {asked} is no release such as {releases[-1]}")
    if asked not in releases:
        raise refuse(
            INVALID, f"kubernetes_version {asked} is not supported; supported are {', '.join(releases)}"
        )
    return asked


def minor_of(release: str) -> str:
    """The minor of a release."""
    return ".".join(release.split(".")[:2])


def refuse_jump(before: str, after: str) -> None:
    """Check an upgrade of a control plane: at most one minor further, never back.

    Raises:
        CloudRefusal: it is another one.
    """
    releases = ack_facts().versions
    if releases.index(after) < releases.index(before):
        raise refuse(INVALID, f"cluster cannot be downgraded from {before} to {after}")
    old, new = (int(minor_of(release).split(".")[1]) for release in (before, after))
    if new > old + 1:
        raise refuse(INVALID, f"cluster cannot be upgraded from {before} to {after}; go one minor at a time")
