"""`dra-fleet check`: judge manifests and chart values against a stack before anything is applied."""

from __future__ import annotations

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.examples import examples
from dra_fleet.cli.output import print_json, print_lines, stdout_console

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.checking import Finding, ValuesFile
    from dra_fleet.model.plan import FleetPlan

EXAMPLES = examples(
    ("two manifests, for every cluster of the stack", "dra-fleet check claims.yaml job.yaml --stack dev"),
    ("for one of them", "dra-fleet check job.yaml --stack prod --cluster studio"),
    ("what a chart makes", "helm template job ./job | dra-fleet check - --stack prod"),
    (
        "the values of a driver's chart",
        "dra-fleet check --stack prod --values dra-driver-nvidia-gpu@0.5.0=values.yaml",
    ),
    ("for a script", "dra-fleet check deploy/*.yaml --stack examples/s10-capacity.yaml --json"),
)
STDIN = Path("-")
_STYLES = {"error": "bold red", "warning": "yellow"}


def check(
    stack: Annotated[
        str, typer.Option("--stack", metavar="STACK", help="A stack's name, or the path of a stack file.")
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="YAML files of Kubernetes objects, several documents each; - reads stdin.",
            show_default=False,
        ),
    ] = None,
    values: Annotated[
        list[str] | None,
        typer.Option(
            "--values",
            metavar="CHART@VERSION=FILE",
            help="The values of a driver's chart; may be given several times.",
            show_default=False,
        ),
    ] = None,
    cluster: Annotated[
        list[str] | None,
        typer.Option(
            "--cluster",
            metavar="NAME",
            help="Judge for this cluster of the stack only; may be given several times. Else for each.",
            show_default=False,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
) -> None:
    """Judge YAML files against a stack: what a server refuses or drops, what can never run, what is too wide.

    One line per finding, FILE:LINE:COLUMN first. Exit code 1: there are errors. 0: none, or warnings only.
    """
    from dra_fleet.checking import ManifestFile
    from dra_fleet.checking import check as check_files
    from dra_fleet.plan import make_plan
    from dra_fleet.rehearsal.project import stack_file
    from dra_fleet.settings import SettingsInvalid, read_stack_file

    if not files and not values:
        raise typer.BadParameter("name at least one FILE, or a chart's values with --values")
    given = [_values(text) for text in values or ()]
    read = read_stack_file(stack_file(stack)[1])
    try:
        plan = make_plan(read.settings)
    except SettingsInvalid as invalid:
        raise read.located(invalid) from None
    _require_known(plan, cluster or ())
    unreadable: list[Finding] = []
    manifests = [
        ManifestFile(name=_name(path), data=data)
        for path in files or ()
        if (data := _read(path, unreadable)) is not None
    ]
    charts = [chart for item in given if (chart := _chart(*item, unreadable)) is not None]
    found = [*unreadable, *check_files(plan, manifests, charts, cluster or ())]
    _print(found, json=json)
    if any(finding.severity == "error" for finding in found):
        raise typer.Exit(1)


def _require_known(plan: FleetPlan, names: Sequence[str]) -> None:
    known = [item.name for item in plan.clusters]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(
            f"{unknown[0]} is no cluster of this stack; it has: {', '.join(known)}", param_hint="--cluster"
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


def _chart(name: str, version: str, path: Path, unreadable: list[Finding]) -> ValuesFile | None:
    from dra_fleet.checking import ValuesFile

    data = _read(path, unreadable)
    return None if data is None else ValuesFile(chart=name, version=version, name=_name(path), data=data)


def _read(path: Path, unreadable: list[Finding]) -> bytes | None:
    """The file's bytes, at most a little more than is ever read; None after telling why there are none."""
    from dra_fleet.checking import Finding
    from dra_fleet.yaml_text import MAX_BYTES

    try:
        data = _bytes(path, MAX_BYTES + 1)
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    else:
        if path != STDIN or data.strip():
            return data
        what = "is empty: the command before the pipe wrote nothing"
    unreadable.append(
        Finding(
            file=_name(path),
            line=1,
            column=1,
            severity="error",
            object="",
            path="",
            rule="unreadable",
            what=what,
        )
    )
    return None


def _bytes(path: Path, most: int) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read(most)
    with path.open("rb") as file:
        return file.read(most)


def _name(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)


def _print(found: list[Finding], *, json: bool) -> None:
    errors = sum(finding.severity == "error" for finding in found)
    counts = {"errors": errors, "warnings": len(found) - errors}
    if json:
        print_json({**counts, "findings": [asdict(finding) for finding in found]})
        return
    console = stdout_console()
    print_lines(console, map(_line, found))
    told = [_count(errors, "error"), _count(counts["warnings"], "warning")]
    console.print(", ".join(told) if found else "nothing found", markup=False)


def _line(finding: Finding) -> list[tuple[str, str]]:
    place, severity, rest = str(finding).partition(f" {finding.severity}: ")
    return [(f"{place} ", "bold"), (severity.lstrip(), _STYLES[finding.severity]), (rest, "")]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
