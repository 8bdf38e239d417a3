"""`dra-fleet prove`: prove from the stack file that every claim finds its devices."""

from __future__ import annotations

import json as jsonlib
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from msgspec.structs import replace

from dra_fleet.cli.command import AT_VERSION, Json, Stack, examples
from dra_fleet.cli.output import NARROW, new_table, print_json, print_lines, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.table import Table

    from dra_fleet.fleet import StackFile
    from dra_fleet.fleet.plan import FleetPlan
    from dra_fleet.fleet.upgrades import Outlook
    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.proof.answer.costs import CopyCost, DeviceAmounts
    from dra_fleet.proof.answer.verdicts import ClaimProof, PoolFit, Proof, WorkloadProof


ProofT = TypeVar("ProofT", "ClaimProof", "WorkloadProof")

MOST_ROWS = 30
"""Maximum rows of a table, failures, warnings and notes without `--all`."""

_MOST_POOLS = 3
"""Maximum pools in a row of the short tables."""

_STYLES = {"error": "red", "never": "red", "unknown": "yellow", "possible": "yellow", "guaranteed": "green"}
"""Colours of the verdicts, worst verdict first."""

EXAMPLES = examples(
    ("the stack file Pulumi.dev.yaml", "dra-fleet prove dev"),
    ("each claim on each pool, with reasons", "dra-fleet prove dev --all"),
    ("findings for a code scanner", "dra-fleet prove prod --sarif prove.sarif"),
    ("before an upgrade to a later Kubernetes version", "dra-fleet prove prod --at 1.38"),
    ("any stack file, for a script", "dra-fleet prove stacks/prod.yaml -o json"),
    (
        "recorded nodes: kubectl get nodes,resourceslices -o json > nodes.json",
        "dra-fleet prove prod --slices nodes.json",
    ),
)

WIDE = 90
"""Minimum columns of the tables of `--all`, which hold whole sentences."""


def prove(  # noqa: PLR0917 - Typer reads the options by their order
    stack: Stack,
    json: Json = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Print each claim on each pool, the reasons and stranded capacity.")
    ] = False,
    slices: Annotated[
        list[str] | None,
        typer.Option(
            "--slices",
            metavar="[CLUSTER=]FILE",
            help="Use recorded nodes and ResourceSlices of a cluster instead of predictions.",
        ),
    ] = None,
    at: Annotated[str | None, AT_VERSION] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Write failures and warnings as SARIF.")
    ] = None,
) -> None:
    """Prove that every claim and workload of a stack finds its devices, in every order of arrival.

    No cluster is needed. Exit code 1: at least one workload or claim does not fit.
    """
    from dra_fleet.fleet import SettingsInvalid, read_stack_file
    from dra_fleet.proof.prove import prove as prove_plan
    from dra_fleet.rehearsal.project import stack_file

    file = stack_file(stack)[1]
    try:
        read = read_stack_file(file)
        plan, changed = planned_at(read, at)
    except SettingsInvalid as invalid:
        _write(sarif, file, refused=[str(error) for error in invalid.errors])
        raise
    proof = prove_plan(plan, _recordings(plan, slices))
    breaks = [str(error) for error in changed.errors]
    failures = tuple(_located(text, read) for text in (*breaks, *proof.failures))
    long = [str(read.too_long)] if read.too_long else []
    warnings = (*long, *plan.warnings, *changed.notes, *proof.warnings)
    proof = replace(proof, failures=failures, warnings=warnings)
    _write(sarif, file, failures=failures, warnings=warnings)
    if json:
        print_json(proof.to_json())
    else:
        _show(proof, everything=everything)
    if not proof.fits:
        raise typer.Exit(1)


def planned_at(read: StackFile, minor: str | None) -> tuple[FleetPlan, Outlook]:
    """Return the plan of a stack file, at a later Kubernetes version, and what changes on the way.

    Raises:
        SettingsInvalid: The stack file is invalid.
        typer.BadParameter: The version is unknown.
    """
    from dra_fleet.fleet import SettingsInvalid
    from dra_fleet.fleet.plan import make_plan
    from dra_fleet.fleet.upgrades import Outlook, known_minors, outlook

    if minor is not None and minor not in known_minors():
        raise typer.BadParameter(
            f"unknown Kubernetes version {minor}; allowed: {', '.join(reversed(known_minors()))}",
            param_hint="--at",
        )
    try:
        plan = make_plan(read.settings)
        if minor is None:
            return plan, Outlook()
        return make_plan(read.settings.at_minor(minor), any_version=True), outlook(plan, minor)
    except SettingsInvalid as invalid:
        raise read.located(invalid) from None


def _write(
    sarif: Path | None,
    stack: Path,
    *,
    failures: Sequence[str] = (),
    warnings: Sequence[str] = (),
    refused: Sequence[str] = (),
) -> None:
    if sarif is None:
        return
    from dra_fleet.proof.report import to_sarif

    log = to_sarif(stack, Path.cwd(), failures=failures, warnings=warnings, refused=refused)
    sarif.write_text(jsonlib.dumps(log, indent=2) + "\n", encoding="utf-8")


def _recordings(plan: FleetPlan, files: list[str] | None) -> Mapping[str, Sequence[NodeGroup]]:
    if not files:
        return {}
    from dra_fleet.proof.supply.recorded_pools import read_recordings

    return read_recordings(plan, files)


def _located(failure: str, read: StackFile) -> str:
    """Insert the file and line of the failure's path above its fix."""
    problem, fix, rest = failure.partition("\n  fix: ")
    path = problem.partition(": ")[0]
    return f"{problem}\n  at: {read.at(path)}{fix}{rest}"


def _show(proof: Proof, *, everything: bool) -> None:
    console = stdout_console()
    most = None if everything else MOST_ROWS
    waste = [item.note for item in proof.workloads if item.waste and (everything or item.waste.change)]
    notes = [*proof.managed, *waste]
    for word, style, texts in (
        ("error", "bold red", proof.failures),
        ("warning", "yellow", proof.warnings),
        ("note", "cyan", notes),
    ):
        print_lines(console, ([(f"{word}: ", style), (text, "")] for text in texts[:most]))
        hidden = len(texts[most:]) if most else 0
        if hidden:
            console.print(f"{hidden} more {word}s: --all", style=style, markup=False)
    if proof.failures or proof.warnings or notes:
        console.print()
    for table in (full_tables if everything else short_tables)(proof):
        print_table(console, table, WIDE if everything else NARROW)
    if not proof.fits:
        console.print(proof.title)
        return
    console.print("every claim finds its devices" if not proof.warnings else "no errors")


def short_tables(proof: Proof) -> Sequence[Table]:
    """Return tables with a row for each workload, queue and claim, worst verdict first."""
    workloads = _table("Workloads", "Cluster", "Workload", "Claim", "Copies", "Verdict", "On pools")
    for item in _worst(workloads, proof.workloads):
        cells = (item.cluster, _plain(item.name), _plain(item.claim), str(item.copies), _verdict(item))
        workloads.add_row(*cells, _pools(item, lambda fit: fit.pool))
    claims = _table("Claims", "Cluster", "Claim", "Verdict", "Copies that pools take")
    for item in _worst(claims, proof.claims):
        cells = (item.cluster, _plain(item.name), _verdict(item))
        claims.add_row(*cells, _pools(item, lambda fit: f"{fit.pool} {fit.at_max}"))
    return workloads, _queues(proof), claims


def full_tables(proof: Proof) -> Sequence[Table]:
    """Return tables of each claim on each pool, each workload with its reason, and stranded capacity."""
    return _claims(proof), _workloads(proof), _queues(proof), _costs(proof)


def _worst(table: Table, items: Sequence[ProofT]) -> Iterable[ProofT]:
    """Return the worst items that fit in the table, and count the others in its caption."""
    if len(items) > MOST_ROWS:
        table.caption = f"{len(items) - MOST_ROWS} more: --all"
    badness = {word: number for number, word in enumerate(_STYLES)}
    return sorted(items, key=lambda item: badness[item.word])[:MOST_ROWS]


def _pools(item: ClaimProof | WorkloadProof, shown: Callable[[PoolFit], str]) -> str:
    suitable = [fit for fit in item.pools if fit.at_max]
    if not suitable:
        unknown = any(fit.at_max is None for fit in item.pools)
        return "[yellow]unknown[/]" if unknown else "[red]none[/]"
    named = ", ".join(shown(fit) for fit in islice(suitable, _MOST_POOLS))
    return named if len(suitable) <= _MOST_POOLS else f"{named} and {len(suitable) - _MOST_POOLS} more"


def _verdict(item: ClaimProof | WorkloadProof) -> str:
    return f"[{_STYLES[item.word]}]{item.word}[/]"


def _table(title: str, *headings: str) -> Table:
    table = new_table(title)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _claims(proof: Proof) -> Table:
    table = _table(
        "Claims",
        "Cluster",
        "Claim",
        "Pool",
        "Devices of a node that match",
        "Copies per node",
        "On all nodes",
    )
    for item in proof.claims:
        serving = [fit for fit in item.pools if fit.at_max != 0]
        name = _plain(item.name)
        for fit in serving:
            table.add_row(item.cluster, name, fit.pool, *_cells(fit))
        if not serving:
            pools = ", ".join(fit.pool for fit in item.pools) or "-"
            most = max((count for fit in item.pools for count in fit.requests.values()), default=0)
            matched = f"[yellow]up to {most}[/]" if most else "[red]none[/]"
            table.add_row(item.cluster, name, pools, matched, "[red]none[/]", "[red]none[/]")
    return table


def _cells(fit: PoolFit) -> tuple[str, str, str]:
    if fit.per_node is None:
        unknown = "[yellow]unknown[/]"
        return unknown, unknown, unknown
    matched = ", ".join(str(count) for count in dict.fromkeys(fit.requests.values()))
    at_max, at_min = f"[green]{fit.at_max}[/]", f"{fit.at_min} to " if fit.at_min != fit.at_max else ""
    return f"{matched} of {fit.devices}", str(fit.per_node), f"{at_min}{at_max}"


def _workloads(proof: Proof) -> Table:
    table = _table("Workloads", "Cluster", "Workload", "Claim", "Copies", "Verdict", "Why")
    for item in proof.workloads:
        table.add_row(
            item.cluster,
            _plain(item.name),
            _plain(item.claim),
            str(item.copies),
            _verdict(item),
            _plain(item.reason),
        )
    return table


def _queues(proof: Proof) -> Table:
    table = _table("Queues", "Cluster", "Workload", "Queue", "Started", "Why")
    for item in proof.workloads:
        if (admission := item.admission) is not None:
            word = f"[{_STYLES[admission.word]}]{admission.word}[/]"
            table.add_row(
                item.cluster, _plain(item.name), _plain(admission.queue), word, _plain(admission.reason)
            )
    return table


def _costs(proof: Proof) -> Table:
    table = _table(
        "Requested, allocated and stranded by one copy: memory and multiprocessors (SM)",
        "Workload",
        "Pool",
        "Requested",
        "Allocated",
        "Stranded",
        "Left on a full node",
    )
    for item in proof.workloads:
        for fit in item.pools:
            if fit.cost is not None:
                table.add_row(_plain(item.name), fit.pool, *_cost(fit.cost))
    return table


def _cost(cost: CopyCost) -> tuple[str, str, str, str]:
    asks = cost.asked.memory is not None or cost.asked.multiprocessors is not None
    return (
        _amounts(cost.asked, "-"),
        _amounts(cost.got, "unknown") if not cost.parts else ", ".join(cost.parts),
        _amounts(cost.stranded, "unknown") if asks else "-",
        _amounts(cost.left_on_node, "unknown"),
    )


def _amounts(amounts: DeviceAmounts, otherwise: str) -> str:
    cores = f"{amounts.multiprocessors} SM" if amounts.multiprocessors is not None else ""
    text = ", ".join(part for part in (amounts.memory, cores) if part)
    return {"0, 0 SM": "0"}.get(text, text) or otherwise


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
