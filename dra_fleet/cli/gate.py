"""`dra-fleet gate`: run the policies on a preview and fail closed."""

from __future__ import annotations

import json as jsonlib
import re
import sys
import traceback
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dra_fleet.cli.command import EXEMPTIONS, PROJECT_POLICIES, RULES, Json, examples
from dra_fleet.cli.output import print_error, print_json, stderr_console, stdout_console
from dra_fleet.core.places import SELECTED, rehearsed_copy
from dra_fleet.policy.rule import Preset  # noqa: TC001 - typer reads annotations at run time

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    from rich.console import Console

    from dra_fleet.policy.asked_policies import AskedPolicies
    from dra_fleet.policy.gate.record import Record
    from dra_fleet.policy.gate.verdict import Expected, GateFinding, GateVerdict
    from dra_fleet.policy.pack import Policies


_STYLES = {"mandatory": "bold red", "advisory": "yellow"}

EXAMPLES = examples(
    ("the strict preset", "dra-fleet gate prod --preset production"),
    (
        "custom parameters, with findings for a code scanner",
        "dra-fleet gate prod --policy-config policy.json --sarif gate.sarif",
    ),
    ("with custom rules", "dra-fleet gate prod --rules rules --exemptions exemptions.yaml"),
    ("accept the present findings", "dra-fleet gate prod --baseline base.json --write-baseline"),
    ("another project", "dra-fleet gate prod --cwd ../their-project --save-events events.jsonl"),
    ("a saved preview", "dra-fleet gate --events events.jsonl -o json"),
    more="Exit code: 0 passed, 1 mandatory findings, 2 wrong usage, 3 no verdict: the pack did not check "
    "everything, because it did not run, crashed, has another version, or a mandatory rule is missing or "
    "disabled.",
)


def gate(  # noqa: PLR0917 - Typer names them
    stack: Annotated[
        str | None,
        typer.Argument(metavar="STACK", help="Stack name (omit it with --events).", show_default=False),
    ] = None,
    events: Annotated[
        Path | None,
        typer.Option(
            "--events",
            metavar="FILE",
            help="Check the saved events of a preview, whether or not the pack ran with it; "
            "- reads stdin. Needs no engine and reads no project.",
            show_default=False,
        ),
    ] = None,
    check_again: Annotated[
        bool,
        typer.Option(
            "--judge-again", help="Run this pack on --events even if another pack ran with the preview."
        ),
    ] = False,
    preset: Annotated[Preset, typer.Option("--preset", help="Preset of the rules' levels.")] = "standard",
    policy_config: Annotated[
        Path | None,
        typer.Option(
            "--policy-config",
            metavar="FILE",
            help="JSON file with parameters and levels of rules.",
            show_default=False,
        ),
    ] = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="RULE",
            help="Report the findings of a rule without failing (can be repeated).",
            show_default=False,
        ),
    ] = None,
    rules: Annotated[Path | None, RULES] = None,
    exemptions: Annotated[Path | None, EXEMPTIONS] = None,
    project_policies: Annotated[bool, PROJECT_POLICIES] = False,
    baseline: Annotated[
        Path | None,
        typer.Option(
            "--baseline",
            metavar="FILE",
            help="Report findings listed in FILE without failing, but fail on new ones.",
            show_default=False,
        ),
    ] = None,
    write_baseline: Annotated[
        bool, typer.Option("--write-baseline", help="Write the present findings to the file of --baseline.")
    ] = False,
    cwd: Annotated[
        Path | None,
        typer.Option(
            "--cwd",
            "-C",
            metavar="DIR",
            envvar=SELECTED,
            help="Folder of the Pulumi project.",
            show_default=False,
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            "--timeout", metavar="SECONDS", min=1, help="Stop without a verdict after SECONDS. Default: 1800."
        ),
    ] = 1800,
    save_events: Annotated[
        Path | None,
        typer.Option("--save-events", metavar="FILE", help="Save the preview's events.", show_default=False),
    ] = None,
    sarif: Annotated[
        Path | None,
        typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF.", show_default=False),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write the verdict as JUnit XML.", show_default=False),
    ] = None,
    json: Json = False,
) -> None:
    """Preview a stack with the policy pack, and fail unless every mandatory rule checked every resource.

    Uses the engine on PATH and the backend it is logged in to, like `pulumi preview --policy-pack`.
    """
    if cwd is None and stack is not None:
        cwd = rehearsed_copy()
    _refuse_usage(stack, events, cwd, check_again=check_again, baseline=baseline, write=write_baseline)
    with _fails_closed(json=json):
        from dra_fleet.policy.gate.apart import load
        from dra_fleet.policy.gate.limits import time_limit
        from dra_fleet.policy.gate.verdict import Expected, check

        with time_limit(timeout):
            record = None if stack else _read_events(events or Path("-"))
            project = None
            if project_policies:
                project = _of_project(cwd or Path(), stack or (record.stack if record else ""))
            policies = load(_asked(rules, exemptions), project)
            expected = Expected(preset=preset, without=_known(without or (), policies), policies=policies)
            if record is None:
                record = _preview(
                    stack or "", cwd or Path(), expected, policy_config, save_events, timeout=timeout
                )
            else:
                _find_in_events(record, expected, policy_config, again=check_again)
            verdict = _compared(check(record, expected), baseline, write=write_baseline)
            if sarif is not None or junit is not None:
                _write(verdict, record, stack, cwd, sarif=sarif, junit=junit)
    if json:
        print_json(verdict.to_json())
    else:
        show(verdict)
    if verdict.exit_code:
        raise typer.Exit(verdict.exit_code)


@contextmanager
def _fails_closed(*, json: bool) -> Generator[None]:
    """End with the exit code that says that nothing is proved, whatever is raised."""
    from dra_fleet.core.findings.errors import ExpectedError
    from dra_fleet.policy.gate.errors import NOT_PROVED

    try:
        yield
    except (typer.BadParameter, KeyboardInterrupt):
        raise
    except BaseException as problem:  # noqa: BLE001 - a gate that breaks must not pass, nor say "findings"
        text = str(problem)
        if not isinstance(problem, ExpectedError):
            frame = traceback.extract_tb(problem.__traceback__)[-1]
            text = (
                f"the gate itself failed: {type(problem).__name__}: {problem} "
                f"({Path(frame.filename).name}:{frame.lineno}); fix: report this as a bug"
            )
        print_error(text)
        if json:
            print_json({"error": text, "passed": False, "exitCode": NOT_PROVED})
        raise typer.Exit(NOT_PROVED) from None


def _refuse_usage(
    stack: str | None,
    events: Path | None,
    cwd: Path | None,
    *,
    check_again: bool,
    baseline: Path | None,
    write: bool,
) -> None:
    if stack is not None and events is not None:
        raise typer.BadParameter(f"is not used with --events; remove {stack}", param_hint="STACK")
    if stack is None and events is None:
        raise typer.BadParameter("name a STACK, or give the events of its preview with --events FILE")
    if check_again and events is None:
        raise typer.BadParameter(
            "requires the events of a preview: --events FILE", param_hint="--judge-again"
        )
    if write and baseline is None:
        raise typer.BadParameter("needs the file to write: --baseline FILE", param_hint="--write-baseline")
    if events is not None and events.is_dir():
        raise typer.BadParameter(f"{events} is a folder; name the file of events", param_hint="--events")
    if cwd is not None and not cwd.is_dir():
        raise typer.BadParameter(f"{cwd} is not a directory", param_hint="--cwd")


def _write(
    verdict: GateVerdict,
    record: Record,
    stack: str | None,
    cwd: Path | None,
    *,
    sarif: Path | None,
    junit: Path | None,
) -> None:
    """Write the reports; where an engine ran, its state is asked for the program's lines."""
    from dra_fleet.policy.gate.report import places, to_junit, to_sarif
    from dra_fleet.policy.gate.running import resources_in_state

    folder = Path() if stack is not None and cwd is None else cwd
    state = resources_in_state(stack, folder or Path()) if stack is not None else ()
    known = places(folder, stack or verdict.stack, record.resources.values(), state)
    if sarif is not None:
        sarif.write_text(jsonlib.dumps(to_sarif(verdict, known), indent=2) + "\n", encoding="utf-8")
    if junit is not None:
        junit.write_text(to_junit(verdict, known), encoding="utf-8")


def _asked(rules: Path | None, exemptions: Path | None) -> AskedPolicies:
    from dra_fleet.policy.asked_policies import given

    return given(rules, exemptions)


def _of_project(cwd: Path, stack: str) -> AskedPolicies:
    from dra_fleet.policy.asked_policies import asked_by_project

    return asked_by_project(cwd.absolute(), stack)


def _compared(verdict: GateVerdict, baseline: Path | None, *, write: bool) -> GateVerdict:
    from dra_fleet.policy.gate.verdict import against_baseline, baseline_text

    if baseline is None or verdict.problems:
        return verdict
    if write:
        baseline.write_text(baseline_text(verdict), encoding="utf-8")
    return against_baseline(verdict, baseline)


def _known(names: list[str] | tuple[str, ...], policies: Policies) -> frozenset[str]:
    rules = [rule.name for rule in policies.rules]
    for name in names:
        if name not in rules:
            raise typer.BadParameter(
                f"{name!r} is not a rule; allowed: {', '.join(rules)}", param_hint="--without"
            )
    return frozenset(names)


def _find_in_events(record: Record, expected: Expected, policy_config: Path | None, *, again: bool) -> None:
    """Run the rules on a saved preview, where the pack did not run with it."""
    from dra_fleet.policy.gate.apart import find_apart
    from dra_fleet.policy.gate.preset import with_own
    from dra_fleet.policy.gate.without_engine import check_record, was_checked

    if again or not was_checked(record):
        policies = expected.policies
        config = with_own(expected.preset, policy_config, expected.without, policies.rules)
        check_record(record, config, policies, find_apart(record, config, policies))
    elif policy_config is not None:
        raise typer.BadParameter(
            "the pack has checked this preview already, with the policy config that it was given then",
            param_hint="--policy-config",
        )


def _read_events(events: Path) -> Record:
    from dra_fleet.core.yaml_text import bounded_lines
    from dra_fleet.policy.gate.errors import GateError
    from dra_fleet.policy.gate.record import read_record

    if str(events) == "-":
        return read_record(bounded_lines(sys.stdin.buffer), "stdin")
    try:
        with events.open("rb") as file:
            return read_record(bounded_lines(file), str(events))
    except OSError as problem:
        raise GateError(f"{events}: cannot be read: {problem.strerror}") from None


def _preview(
    stack: str,
    cwd: Path,
    expected: Expected,
    policy_config: Path | None,
    save_events: Path | None,
    *,
    timeout: float,
) -> Record:
    from dra_fleet.policy.gate.preset import with_own
    from dra_fleet.policy.gate.running import preview

    policies = expected.policies
    config = with_own(expected.preset, policy_config, expected.without, policies.rules)
    with _progress(stack) as on_event:
        return preview(
            stack,
            directory=cwd,
            config=config,
            asked=policies.asked,
            seconds=timeout,
            save=save_events,
            on_event=on_event,
        )


@contextmanager
def _progress(stack: str) -> Generator[Callable[[Mapping[str, Any]], None]]:
    console = stderr_console()
    checked = 0
    with console.status(f"previewing {stack}") as status:

        def take(event: Mapping[str, Any]) -> None:
            nonlocal checked
            if "policyAnalyzeSummaryEvent" in event:
                checked += 1
                status.update(f"previewing {stack}: {checked} resources checked")

        yield take


def show(verdict: GateVerdict) -> None:
    """Print a verdict for people."""
    console = stdout_console()
    if verdict.findings:
        _show_findings(console, verdict)
    for item in verdict.remediated:
        console.print(f"corrected by {item.rule}: {item.urn}", markup=False, soft_wrap=True)
    for rule in verdict.exempt:
        found = sum(finding.rule == rule for finding in verdict.findings)
        console.print(f"exempt by name: {rule}, {found} findings", markup=False, soft_wrap=True)
    for exemption in verdict.idle:
        console.print(
            f"not needed: {exemption.about} is about nothing that was found; fix: take it out",
            markup=False,
            soft_wrap=True,
        )
    for gone in verdict.gone:
        console.print(f"gone from the baseline: {gone}", markup=False, soft_wrap=True)
    for problem in verdict.problems:
        lines = re.sub(r"; (?=allowed: |fix: |why: )", "\n  ", f"not checked: {problem}")
        console.print(lines, markup=False, soft_wrap=True)
    known = sum(finding.known for finding in verdict.findings)
    advisory = len(verdict.findings) - verdict.mandatory - known - verdict.exempted
    of_project = ""
    if verdict.of_project is not None:
        own_rules, own_exemptions = verdict.of_project
        of_project = f" with {own_rules} rules and {own_exemptions} exemptions of the project"
    console.print(
        f"{'passed' if not verdict.exit_code else 'failed'}: {len(verdict.ran)} rules checked "
        f"{verdict.resources} resource{'' if verdict.resources == 1 else 's'}"
        f"{' without an engine' if verdict.without_engine else ''} with the preset {verdict.preset}; "
        f"{verdict.mandatory} mandatory and {advisory} advisory findings"
        f"{f', {known} in the baseline' if verdict.baseline else ''}"
        f"{f', {verdict.exempted} exempted' if verdict.exempted else ''}{of_project}",
        markup=False,
        soft_wrap=True,
    )


def _show_findings(console: Console, verdict: GateVerdict) -> None:
    console.print(f"Findings in the stack {verdict.stack or '(unnamed)'}", markup=False, style="bold")
    for (level, severity, rule), sentences in _grouped(verdict.findings).items():
        title = rule.replace("[", r"\[")
        style = _STYLES.get(level, "dim")
        console.print(f"\n[{style}]{level}[/] {severity} {title}", soft_wrap=True, highlight=False)
        # Print once, after the sentences, the lines that all sentences of a rule share.
        shared = [each for each in next(iter(sentences))[1:] if all(each in one for one in sentences)]
        shared = shared if len(sentences) > 1 else []
        for (problem, *rest), resources in sentences.items():
            before = f"{resources[0]}: " if len(resources) == 1 and resources[0] else ""
            own = (f"    {each}" for each in rest if each not in shared)
            others = (f"    - {each}" for each in resources) if len(resources) > 1 else ()
            for line in (f"  {before}{problem}", *own, *others):
                console.print(line, markup=False, soft_wrap=True, highlight=False)
        for line in shared:
            console.print(f"  {line}", markup=False, soft_wrap=True, highlight=False)
    console.print()


def _grouped(findings: Iterable[GateFinding]) -> dict[tuple[str, str, str], dict[tuple[str, ...], list[str]]]:
    """Return the sentences by level, severity and rule, each once, with the resources of which it is true."""
    groups: dict[tuple[str, str, str], dict[tuple[str, ...], list[str]]] = {}
    for finding in findings:
        group = groups.setdefault((_level(finding), finding.severity, finding.title), {})
        said, allowed, rest = finding.message.partition("; allowed: ")
        name = finding.urn.rpartition("::")[2]
        resource, colon, problem = said.partition(": ")
        if not name or not resource.startswith(f"{name} (") or not colon:
            resource, problem = "", said
        tail = re.sub(r"; (?=fix: |why: |exempted )", "\n", f"allowed: {rest}").split("\n") if allowed else []
        group.setdefault((problem, *tail), []).append(resource)
    return groups


def _level(finding: GateFinding) -> str:
    if finding.exempted is not None:
        return "exempted"
    return "baseline" if finding.known else finding.level
