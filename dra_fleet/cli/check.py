"""`dra-fleet check`: check manifests and chart values against a stack before you apply them."""

from __future__ import annotations

import json as jsonlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from msgspec import to_builtins

from dra_fleet.cli.command import (
    AT_VERSION,
    EXEMPTIONS,
    PROJECT_POLICIES,
    RULES,
    STACK_HELP,
    Json,
    examples,
    stacks,
)
from dra_fleet.cli.output import print_json, print_lines, stdout_console

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dra_fleet.check import CheckResult, FileFinding, LeftOut, ValuesFile
    from dra_fleet.model.plan import FleetPlan

EXAMPLES = examples(
    ("two manifests, for every cluster of the stack", "dra-fleet check claims.yaml job.yaml --stack dev"),
    ("before an upgrade to a later Kubernetes version", "dra-fleet check deploy --stack prod --at 1.38"),
    ("for one cluster", "dra-fleet check job.yaml --stack prod --cluster studio"),
    ("a folder, with a report for the code host", "dra-fleet check deploy --stack prod --sarif check.sarif"),
    ("a rendered chart", "helm template job ./job | dra-fleet check - --stack prod"),
    (
        "the values of a driver's chart",
        "dra-fleet check --stack prod --values dra-driver-nvidia-gpu@0.5.0=values.yaml",
    ),
    ("with custom rules", "dra-fleet check deploy --stack prod --rules rules"),
    ("for a script", "dra-fleet check deploy/*.yaml --stack prod -o json"),
)
Format = Literal["text", "github"]
_STYLES = {"error": "bold red", "warning": "yellow"}


def check(  # noqa: PLR0917 - Typer names them
    stack: Annotated[
        str, typer.Option("--stack", "-s", metavar="STACK", help=STACK_HELP, autocompletion=stacks)
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE", help="Manifest files, folders or patterns (- reads stdin).", show_default=False
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--values",
            metavar="CHART@VERSION=FILE",
            help="Values file of a driver's chart (can be repeated).",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            metavar="NAME",
            help="Check for this cluster only (can be repeated). Default: all clusters of the stack.",
            show_default=False,
        ),
    ] = None,
    ignore: Annotated[
        list[Path] | None,
        typer.Option(
            "--ignore",
            metavar="FILE",
            help="Ignore the findings listed in FILE (lines: GLOB RULE,RULE) (can be repeated).",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[Path | None, RULES] = None,
    exemptions: Annotated[Path | None, EXEMPTIONS] = None,
    project_policies: Annotated[bool, PROJECT_POLICIES] = False,
    sarif: Annotated[
        Path | None,
        typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF.", show_default=False),
    ] = None,
    form: Annotated[
        Format,
        typer.Option("--format", help="Format of the findings: text or GitHub annotations. JSON: -o json."),
    ] = "text",
    at: Annotated[str | None, AT_VERSION] = None,
    json: Json = False,
) -> None:
    """Check manifests against a stack: rejected or dropped fields, pods that never run, wide selectors.

    Each finding is one line that starts with FILE:LINE:COLUMN. Exit code: 1 errors, 0 none or warnings only.
    """
    from dra_fleet.check import NO_OWN_RULES
    from dra_fleet.check import check as check_files
    from dra_fleet.cli.manifests import manifests
    from dra_fleet.cli.prove import planned_at
    from dra_fleet.fleet import read_stack_file
    from dra_fleet.policy.asked_policies import asked_by_file
    from dra_fleet.policy.asked_policies import given as asked
    from dra_fleet.rehearsal.project import stack_file

    if not files and not values:
        raise typer.BadParameter("name at least one FILE, or a chart's values with --values")
    given = [_values(text) for text in values or ()]
    file = stack_file(stack)[1]
    read = read_stack_file(file)
    plan = planned_at(read, at)[0]
    _require_known(plan, cluster or ())
    own, options = NO_OWN_RULES, asked(rules, exemptions)
    project = asked_by_file(file) if project_policies else None
    if options.paths or project is not None:
        from dra_fleet.cli.manifests import own_rules

        own = own_rules(options, project)
    unreadable: list[FileFinding] = []
    given_files = manifests(files or (), unreadable)
    charts = [chart for item in given if (chart := _chart(*item, unreadable)) is not None]
    omitted = _omitted(ignore or (), unreadable, own.about)
    checked = check_files(plan, given_files, charts, cluster or (), omitted, own=own)
    found = [*unreadable, *checked.findings]
    if sarif is not None:
        from dra_fleet.check.checking import to_sarif

        sarif.write_text(jsonlib.dumps(to_sarif(found, stack, own.about), indent=2) + "\n", encoding="utf-8")
    _print(found, checked, "json" if json else form)
    if any(finding.severity == "error" for finding in found):
        raise typer.Exit(1)


def _require_known(plan: FleetPlan, names: Sequence[str]) -> None:
    known = [item.name for item in plan.clusters]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(
            f"{unknown[0]} is not a cluster of this stack; it has: {', '.join(known)}", param_hint="--cluster"
        )


def _values(text: str) -> tuple[str, str, Path]:
    chart, equals, file = text.partition("=")
    name, at, version = chart.rpartition("@")
    if not (equals and at and name and version and file):
        raise typer.BadParameter(
            f"{text!r} must be CHART@VERSION=FILE, such as dra-driver-nvidia-gpu@0.5.0=values.yaml",
            param_hint="--values",
        )
    return name.rpartition("/")[2], version, Path(file)


def _chart(name: str, version: str, path: Path, unreadable: list[FileFinding]) -> ValuesFile | None:
    from dra_fleet.check import ValuesFile
    from dra_fleet.cli.manifests import bytes_of, name_of

    data = bytes_of(path, unreadable)
    return None if data is None else ValuesFile(chart=name, version=version, name=name_of(path), data=data)


def _omitted(paths: Sequence[Path], unreadable: list[FileFinding], own: Collection[str]) -> list[LeftOut]:
    from dra_fleet.check import RULES, listed
    from dra_fleet.cli.manifests import text_of

    return [
        item
        for path in paths
        if (text := text_of(path, unreadable)) is not None
        for item in listed(str(path), text, unreadable, {*RULES, *own})
    ]


def _print(found: list[FileFinding], checked: CheckResult, form: Format | Literal["json"]) -> None:
    errors = sum(finding.severity == "error" for finding in found)
    counts = {"errors": errors, "warnings": len(found) - errors}
    if form == "json":
        skipped = dict(checked.passed)
        rest = {"judged": checked.checked, "skipped": skipped, "byOwnRules": checked.by_own_rules}
        print_json({**counts, **rest, "findings": to_builtins(found)})
        return
    if form == "github":
        from dra_fleet.check.checking import annotation

        for finding in found:
            typer.echo(annotation(finding))
    elif found:
        print_lines(stdout_console(), map(_line, found))
    reported = [_count(errors, "error"), _count(counts["warnings"], "warning")]
    typer.echo(", ".join(reported) if found else "nothing found")
    typer.echo(_checked(checked))


def _checked(checked: CheckResult) -> str:
    reasons = ", ".join(f"{count} {why}" for why, count in sorted(checked.passed.items()))
    passed = sum(checked.passed.values())
    own = f"; {_count(checked.by_own_rules, 'object')} by your own rules" if checked.by_own_rules else ""
    return f"{checked.checked} checked, {passed} skipped" + (f" ({reasons})" if passed else "") + own


def _line(finding: FileFinding) -> list[tuple[str, str]]:
    place, severity, rest = str(finding).partition(f" {finding.severity}: ")
    return [(f"{place} ", "bold"), (severity.lstrip(), _STYLES[finding.severity]), (rest, "")]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
