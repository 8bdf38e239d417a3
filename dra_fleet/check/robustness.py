"""Tells where a selector fails instead of answering, and how to write it so that it does not.

An error is no "does not match": it aborts the scheduling of the pod on all nodes
(https://github.com/kubernetes/kubernetes/issues/135184).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.check import rewriting
from dra_fleet.check.matching import FOREIGN, devices, verdict
from dra_fleet.check.selectors import never_published
from dra_fleet.kubernetes.cel import environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from dra_fleet.check.inventory import ClusterInventory, FleetDevice
    from dra_fleet.check.matching import Judged, Programs
    from dra_fleet.core.findings.finding import Subject
    from dra_fleet.core.yaml_text import Path
    from dra_fleet.kubernetes.cel.program import DeviceCel, Program


def check_robustness(
    clusters: Sequence[ClusterInventory],
    subject: Subject,
    own: Sequence[tuple[Path, str]],
    found: Programs,
    judged: Sequence[Judged],
) -> None:
    """Tell where evaluating fails: on own devices, on foreign ones, on those that lack something.

    Args:
        clusters: the clusters.
        subject: the object that holds the selectors.
        own: its selectors with their places.
        found: all selectors as they are evaluated on each cluster.
        judged: what they say of each device.
    """
    places = {text: path for path, text in own}
    failed = [item for item in judged if item.verdict.outcome == "error"]
    if failed:
        _tell_failure(subject, places, failed[0], environment(clusters[0].plan.kubernetes))
        return
    _warn_never_published(subject, own, found)
    for programs in found.values():
        outcome, program = verdict(programs, FOREIGN)
        if outcome.outcome == "error" and program is not None and program.expression in places:
            _warn_foreign(subject, places[program.expression], program)
            return
    for cluster in clusters:
        for device in devices([cluster]) if cluster.plan.name in found else ():
            outcome, program = verdict(found[cluster.plan.name], device.bare)
            if outcome.outcome == "error" and program is not None and program.expression in places:
                _warn_optional(subject, places[program.expression], program, device, outcome.message)
                return


def _tell_failure(subject: Subject, places: Mapping[str, Path], failed: Judged, cel: DeviceCel) -> None:
    """Tell that a selector fails on a device of the fleet."""
    expression = failed.program.expression if failed.program is not None else ""
    hint = (
        next(_never_published(failed.program), ("", "", "")) if failed.program is not None else ("", "", "")
    )
    what = (
        f"fails on {failed.device.name} of pool {failed.device.pool} "
        f"({failed.verdict.message}), which aborts the "
        "scheduling of every pod that asks, on all nodes"
    )
    subject.error(
        *places.get(expression, ()),
        rule="cel-fails",
        what=f"{what}; {hint[0]}" if hint[0] else what,
        got=expression,
        allowed=hint[1],
        fix=hint[2] or rewriting.corrected(expression, cel),
    )


def _never_published(program: Program) -> Iterator[tuple[str, str, str]]:
    for read in sorted(program.lookups, key=str):
        if read.domain and read.identity:
            wrong = never_published(read.variable, read.domain, read.identity, program.expression)
            if wrong is not None:
                yield wrong


def _warn_never_published(subject: Subject, own: Sequence[tuple[Path, str]], found: Programs) -> None:
    """Tell of look-ups that no known driver answers, though they do no harm."""
    for path, text in own:
        program = next(
            (program for programs in found.values() for program in programs if program.expression == text),
            None,
        )
        for what, allowed, fix in _never_published(program) if program is not None else ():
            subject.warning(*path, rule="cel-never-published", what=what, got=text, allowed=allowed, fix=fix)


def _warn_foreign(subject: Subject, path: Path, program: Program) -> None:
    """Tell that a selector fails on devices of other drivers."""
    domains = sorted({read.domain for read in program.lookups if read.domain and "/" not in read.domain})
    drivers = [domain for domain in domains if domain != "resource.kubernetes.io"]
    subject.warning(
        *path,
        rule="cel-without-driver",
        what="fails on the devices of any other driver, which aborts the scheduling of every pod that asks; "
        "nothing asks for the driver first",
        got=program.expression,
        fix=rewriting.guarded_by_driver(program.expression, drivers[0])
        if drivers
        else "begin with device.driver == …",
    )


def _warn_optional(subject: Subject, path: Path, program: Program, device: FleetDevice, message: str) -> None:
    """Tell that a selector fails on a device that lacks what not every one has."""
    identity = message.rpartition(": ")[2]
    read = next((read for read in program.lookups if read.identity == identity and read.domain), None)
    fix = (
        rewriting.guarded_by_presence(program.expression, read.variable, str(read.domain), identity)
        if read is not None
        else "ask for it with `in` first"
    )
    subject.warning(
        *path,
        rule="cel-without-presence",
        what=f"fails where a device of type {device.type} has no {identity}, which not every device has",
        got=program.expression,
        fix=fix,
    )
