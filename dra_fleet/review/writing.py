"""Writes the files of a review; what an earlier review left there and this one has not is removed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_core import to_json

from dra_fleet.core.findings.sarif import SarifResult, SarifRule, SarifRun, sarif
from dra_fleet.review.comment import render_markdown
from dra_fleet.review.page import render_page
from dra_fleet.review.places import StackText, place_of
from dra_fleet.review.previewing import PLAN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dra_fleet.core.findings.sarif import Level
    from dra_fleet.review.model import Change, Finding, Review, Severity


# The findings as SARIF, for code scanning.
#
# Each finding is at its place in the stack file where it names one, else at the file's first line, and always
# names the resource. What ends running claims is a result too.

_LEVELS: dict[Severity, Level] = {"critical": "error", "high": "error", "medium": "warning", "low": "note"}

_CHANGE = SarifRule(
    name="running-claims-lose-devices",
    description="Something that runs ends, or something is deleted",
    level="warning",
)


def write_review(review: Review, directory: Path, stack: Sequence[StackText]) -> dict[str, Path]:
    """Write every format; returns the files by format. `stack`: the files that the fleet stands in."""
    texts = {
        "html": ("index.html", render_page(review)),
        "markdown": ("review.md", render_markdown(review)),
        "json": ("review.json", review.model_dump_json(indent=2) + "\n"),
        "sarif": ("review.sarif", render_sarif(review, stack)),
    }
    written: dict[str, Path] = {}
    for kind, (name, text) in texts.items():
        (directory / name).write_text(text, encoding="utf-8")
        written[kind] = directory / name
    if (directory / PLAN).is_file():
        written["plan"] = directory / PLAN
    return written


def render_sarif(review: Review, stack: Sequence[StackText]) -> str:
    """The whole log.

    Args:
        review: What was found.
        stack: The stack file, and after it those that it extends: settings are looked up in them.
    """
    changes = [item for item in review.changes if item.lost_claims or item.weight == "destructive"]
    worst: dict[str, Finding] = {}
    for item in review.findings:
        worst.setdefault(item.rule, item)  # they are sorted, gravest first
    run = SarifRun(
        tool="dra-fleet review",
        rules=(*map(_rule, worst.values()), *([_CHANGE] if changes else [])),
        category=f"dra-fleet-review/{review.stack}",
        properties={
            "decision": review.verdict.decision,
            "reasons": [item.text for item in review.verdict.reasons],
        },
    )
    results = [_result(item, stack) for item in review.findings]
    results += [_change(item, stack[0].path) for item in changes]
    return to_json(sarif(run, results), indent=2).decode() + "\n"


def _rule(item: Finding) -> SarifRule:
    return SarifRule(
        name=item.rule,
        description=f"{item.source} {item.rule}",
        help=item.fix,
        link=item.url,
        level=_LEVELS[item.severity],
        severity=item.severity,
        tags=(item.source, item.level),
    )


def _result(item: Finding, stack: Sequence[StackText]) -> SarifResult:
    file, line = place_of(item.subject, stack)
    return SarifResult(
        rule=item.rule,
        level="error" if item.level == "mandatory" else _LEVELS[item.severity],
        message=item.message
        if not item.fix or item.fix in item.message
        else f"{item.message}\nfix: {item.fix}",
        names=tuple(dict.fromkeys((item.resource, item.subject))),
        file=file,
        line=line,
        identity=(item.resource, item.subject),
        suppressed=item.exempted,
    )


def _change(item: Change, stack_file: str) -> SarifResult:
    urns = [resource.urn for resource in item.resources[:1]]
    return SarifResult(
        rule=_CHANGE.name,
        level="warning",
        message=item.text,
        names=(*urns, f"{item.kind} {item.name}"),
        file=stack_file,
        identity=(item.kind, item.cluster, item.name, item.action),
    )
