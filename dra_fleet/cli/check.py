"""`dra-fleet check`: judge manifests and chart values against a stack before anything is applied."""

from __future__ import annotations

import glob
import json as jsonlib
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from dra_fleet.check import ManifestFile, OwnRules
from dra_fleet.cli.command import EXEMPTIONS, RULES, examples, stacks
from dra_fleet.cli.output import print_json, print_lines, stdout_console
from dra_fleet.core.declared.resources import Resource, Stack
from dra_fleet.core.declared.values import Secret
from dra_fleet.core.findings.finding import FileFinding, dotted
from dra_fleet.core.yaml_text import MANIFEST_BYTES
from dra_fleet.policy.exemptions import exemption_of, today
from dra_fleet.policy.judging import accepted_by_all
from dra_fleet.policy.own import load
from dra_fleet.policy.rule import ResourceRule, Settings, StackRule

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from dra_fleet.check import CheckResult, LeftOut, ValuesFile
    from dra_fleet.check.resources import FileObject
    from dra_fleet.core.findings.finding import Found
    from dra_fleet.model.plan import FleetPlan
    from dra_fleet.policy.asked_policies import AskedPolicies
    from dra_fleet.policy.own import Policies
    from dra_fleet.policy.rule import Finding, Rule


STDIN = Path("-")

_SUFFIXES = (".yaml", ".yml")

PRESET: Final = "standard"
"""By which rules have their levels, as in a gate that names none."""

_HIDDEN: Final = ("data", "stringData")
"""What a Secret keeps: https://kubernetes.io/docs/concepts/configuration/secret/"""

EXAMPLES = examples(
    ("two manifests, for every cluster of the stack", "dra-fleet check claims.yaml job.yaml --stack dev"),
    ("for one of them", "dra-fleet check job.yaml --stack prod --cluster studio"),
    (
        "a folder, and its findings beside the change",
        "dra-fleet check deploy --stack prod --sarif check.sarif",
    ),
    ("what a chart makes", "helm template job ./job | dra-fleet check - --stack prod"),
    (
        "the values of a driver's chart",
        "dra-fleet check --stack prod --values dra-driver-nvidia-gpu@0.5.0=values.yaml",
    ),
    ("your own rules too", "dra-fleet check deploy --stack prod --rules rules"),
    ("for a script", "dra-fleet check deploy/*.yaml --stack prod --json"),
)

Format = Literal["text", "json", "github"]

_STYLES = {"error": "bold red", "warning": "yellow"}


def check(  # noqa: PLR0917 - Typer names them
    stack: Annotated[
        str,
        typer.Option(
            "--stack",
            metavar="STACK",
            help="A stack's name, or the path of a stack file.",
            autocompletion=stacks,
        ),
    ],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE",
            help="YAML files of Kubernetes objects, folders of them, or patterns; - reads stdin.",
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
    ignore: Annotated[
        list[Path] | None,
        typer.Option(
            "--ignore",
            metavar="FILE",
            help="A list of what to leave out: GLOB RULE,RULE on each line; may be given several times.",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[Path | None, RULES] = None,
    exemptions: Annotated[Path | None, EXEMPTIONS] = None,
    sarif: Annotated[
        Path | None,
        typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF.", show_default=False),
    ] = None,
    form: Annotated[
        Format, typer.Option("--format", help="How findings are printed: for people, a script, or GitHub.")
    ] = "text",
    json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
) -> None:
    """Judge YAML files against a stack: what a server refuses or drops, what can never run, what is too wide.

    One line per finding, FILE:LINE:COLUMN first. Exit code 1: there are errors. 0: none, or warnings only.
    """
    from dra_fleet.check import NO_OWN_RULES
    from dra_fleet.check import check as check_files
    from dra_fleet.fleet import SettingsInvalid, read_stack_file
    from dra_fleet.fleet.plan import make_plan
    from dra_fleet.policy.asked_policies import asked_by_file
    from dra_fleet.policy.asked_policies import given as asked
    from dra_fleet.rehearsal.project import stack_file

    if not files and not values:
        raise typer.BadParameter("name at least one FILE, or a chart's values with --values")
    given = [_values(text) for text in values or ()]
    file = stack_file(stack)[1]
    read = read_stack_file(file)
    try:
        plan = make_plan(read.settings)
    except SettingsInvalid as invalid:
        raise read.located(invalid) from None
    _require_known(plan, cluster or ())
    own, policies = NO_OWN_RULES, asked(rules, exemptions).or_else(asked_by_file(file))
    if policies.paths:
        own = own_rules(policies)
    unreadable: list[FileFinding] = []
    given_files = manifests(files or (), unreadable)
    charts = [chart for item in given if (chart := _chart(*item, unreadable)) is not None]
    left_out = _left_out(ignore or (), unreadable, own.about)
    checked = check_files(plan, given_files, charts, cluster or (), left_out, own=own)
    found = [*unreadable, *checked.findings]
    if sarif is not None:
        from dra_fleet.check.report import to_sarif

        sarif.write_text(jsonlib.dumps(to_sarif(found, stack, own.about), indent=2) + "\n", encoding="utf-8")
    _print(found, checked, "json" if json else form)
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


def _chart(name: str, version: str, path: Path, unreadable: list[FileFinding]) -> ValuesFile | None:
    from dra_fleet.check import ValuesFile

    data = bytes_of(path, unreadable)
    return None if data is None else ValuesFile(chart=name, version=version, name=name_of(path), data=data)


def _left_out(paths: Sequence[Path], unreadable: list[FileFinding], own: Collection[str]) -> list[LeftOut]:
    from dra_fleet.check import RULES, listed

    return [
        item
        for path in paths
        if (data := bytes_of(path, unreadable)) is not None
        for item in listed(str(path), data.decode("utf-8", errors="replace"), unreadable, {*RULES, *own})
    ]


def _print(found: list[FileFinding], checked: CheckResult, form: Format) -> None:
    errors = sum(finding.severity == "error" for finding in found)
    counts = {"errors": errors, "warnings": len(found) - errors}
    if form == "json":
        passed = dict(checked.passed)
        rest = {"judged": checked.judged, "passed": passed, "byOwnRules": checked.by_own_rules}
        print_json({**counts, **rest, "findings": [asdict(finding) for finding in found]})
        return
    if form == "github":
        from dra_fleet.check.report import annotation

        for finding in found:
            typer.echo(annotation(finding))
    elif found:
        print_lines(stdout_console(), map(_line, found))
    told = [_count(errors, "error"), _count(counts["warnings"], "warning")]
    typer.echo(", ".join(told) if found else "nothing found")
    typer.echo(_judged(checked))


def _judged(checked: CheckResult) -> str:
    """The last line: how much was judged, and why the rest was not."""
    reasons = ", ".join(f"{count} {why}" for why, count in sorted(checked.passed.items()))
    passed = sum(checked.passed.values())
    own = f"; {_count(checked.by_own_rules, 'object')} by your own rules" if checked.by_own_rules else ""
    return f"{checked.judged} judged, {passed} passed over" + (f" ({reasons})" if passed else "") + own


def _line(finding: FileFinding) -> list[tuple[str, str]]:
    place, severity, rest = str(finding).partition(f" {finding.severity}: ")
    return [(f"{place} ", "bold"), (severity.lstrip(), _STYLES[finding.severity]), (rest, "")]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def manifests(paths: Iterable[Path], unreadable: list[FileFinding]) -> list[ManifestFile]:
    """The files, each once; what cannot be read is told."""
    found: dict[Path, bool] = {}
    for path in paths:
        for file, is_named in _files(path):
            found.setdefault(file, is_named)
    return [
        ManifestFile(name=name_of(file), data=data, is_named=is_named)
        for file, is_named in found.items()
        if (data := bytes_of(file, unreadable)) is not None
    ]


def name_of(path: Path) -> str:
    """What findings call a file."""
    return "stdin" if path == STDIN else str(path)


def bytes_of(path: Path, unreadable: list[FileFinding]) -> bytes | None:
    """The file's bytes, at most a little more than is ever read; None after telling why there are none."""
    try:
        data = _read(path, MANIFEST_BYTES + 1)
    except OSError as error:
        what = f"cannot be read: {error.strerror}"
    else:
        if path != STDIN or data.strip():
            return data
        what = "is empty: the command before the pipe wrote nothing"
    name = name_of(path)
    unreadable.append(
        FileFinding(
            file=name, line=1, column=1, severity="error", object="", path="", rule="unreadable", what=what
        )
    )
    return None


def _files(path: Path) -> Iterator[tuple[Path, bool]]:
    """The files that an argument stands for, and whether it names them."""
    if path.is_dir():
        below = (file for suffix in _SUFFIXES for file in path.rglob(f"*{suffix}"))
        yield from ((file, False) for file in sorted(below) if file.is_file() and not _is_hidden(file, path))
    elif not path.exists() and glob.has_magic(str(path)):
        matching = sorted(Path(name) for name in glob.glob(str(path), recursive=True))  # noqa: PTH207 - with **
        yield from ((file, False) for file in matching if file.is_file())
        if not matching:
            yield path, True
    else:
        yield path, True


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)


def _read(path: Path, most: int) -> bytes:
    if path == STDIN:
        return sys.stdin.buffer.read(most)
    with path.open("rb") as file:
        return file.read(most)


def own_rules(asked: AskedPolicies) -> OwnRules:
    """A team's own rules for a check.

    Args:
        asked: where they are.

    Raises:
        RuleFileError: a rule cannot be had.
        ExemptionsError: the exemptions cannot.
    """
    policies = load(asked)
    about = {rule.name: rule.description for rule in policies.own}
    return OwnRules(about=about, judge=lambda objects: _found(policies, objects))


def _found(policies: Policies, objects: Sequence[FileObject]) -> Found:
    """What a team's own rules find in the objects of files, which are what a program would declare.

    A rule that needs a resource's options finds nothing: files have none.
    """
    by_urn = {f"{number}::{item.name}": item for number, item in enumerate(objects)}
    resources = [_resource(urn, item) for urn, item in by_urn.items()]
    rules = [rule for rule in policies.own if rule.level(PRESET) != "disabled" and not rule.needs_options]
    settings = accepted_by_all({rule.name: rule.settings({}) for rule in rules})
    return {
        _told(rule, finding, by_urn[finding.resource.urn], policies): None
        for rule in rules
        for finding in _judged_by_own_rules(rule, resources, settings[rule.name])
    }


def _judged_by_own_rules(rule: Rule, resources: Sequence[Resource], settings: Settings) -> Iterable[Finding]:
    if isinstance(rule, StackRule):
        yield from rule.judge(Stack(resources=resources), settings)
    elif isinstance(rule, ResourceRule):
        for resource in resources:
            if rule.types.fullmatch(resource.type) is not None:
                yield from rule.judge(resource, settings)


def _resource(urn: str, item: FileObject) -> Resource:
    """An object as a program in any language declares it, by the engine's names of types."""
    group = item.api_version if "/" in item.api_version else f"core/{item.api_version}"
    hidden = _HIDDEN if (group, item.kind) == ("core/v1", "Secret") else ()
    shown = {name: Secret(value) if name in hidden else value for name, value in item.value.items()}
    return Resource(type=f"kubernetes:{group}:{item.kind}", name=item.name, urn=urn, read=lambda: shown)


def _told(rule: Rule, finding: Finding, item: FileObject, policies: Policies) -> FileFinding:
    subject, path = item.subject, finding.value.path
    exemption = exemption_of(policies.exemptions, rule.name, finding.resource.urn)
    holds = exemption is not None and exemption.holds(today())
    told = "" if exemption is None else exemption.told(today())
    place = subject.document.place((*subject.base, *path))
    return FileFinding(
        file=subject.document.file,
        line=place.line,
        column=place.column,
        severity="error" if rule.level(PRESET) == "mandatory" and not holds else "warning",
        object=subject.name,
        path=dotted(path),
        what=finding.problem if holds or not told else f"{finding.problem}; {told}",
        allowed=finding.allowed,
        fix=finding.fix,
        rule=rule.name,
        exempted=told.removeprefix("exempted ") if holds else "",
    )
