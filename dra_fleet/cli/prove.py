"""`dra-fleet prove`: will every claim find a device? Answered from the stack file alone."""

from __future__ import annotations

import json as jsonlib
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from dra_fleet.cli.command import (
    Stack,
    examples,
)
from dra_fleet.cli.output import NARROW, new_table, print_json, print_lines, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from rich.table import Table

    from dra_fleet.fleet import StackFile
    from dra_fleet.fleet.plan import FleetPlan
    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.proof.answer.costs import CopyCost, DeviceAmounts
    from dra_fleet.proof.answer.verdicts import ClaimProof, PoolFit, Proof, WorkloadProof


JudgedT = TypeVar("JudgedT", "ClaimProof", "WorkloadProof")

MOST_ROWS = 30
"""Rows of each short table, and failures and warnings that are told without `--all`: a screen or two."""

_MOST_POOLS = 3
"""Pools that are named in a row of the short tables."""

_STYLES = {"error": "red", "never": "red", "unknown": "yellow", "possible": "yellow", "guaranteed": "green"}
"""How verdicts are coloured; the worst first."""

EXAMPLES = examples(
    ("the stack file Pulumi.dev.yaml", "dra-fleet prove dev"),
    ("each claim on each pool, and why", "dra-fleet prove dev --all"),
    ("findings for a code scanner", "dra-fleet prove prod --sarif prove.sarif"),
    ("any stack file, for a script", "dra-fleet prove stacks/prod.yaml --json"),
    (
        "nodes as they are: kubectl get nodes,resourceslices -o json > nodes.json",
        "dra-fleet prove prod --slices nodes.json",
    ),
)

WIDE = 90
"""Columns below which a row of `--all` becomes lines, since its sentences would be cut into single words."""


def prove(
    stack: Stack,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Print every claim on every pool, why it fits, and what it strands."),
    ] = False,
    slices: Annotated[
        list[str] | None,
        typer.Option(
            "--slices",
            metavar="[CLUSTER=]FILE",
            help="Recorded nodes and slices of a cluster; they win over what is predicted.",
        ),
    ] = None,
    sarif: Annotated[
        Path | None, typer.Option("--sarif", metavar="FILE", help="Write what is wrong or doubtful as SARIF.")
    ] = None,
) -> None:
    """Say for every claim and workload of a stack whether its pools' devices are enough, and why not.

    Needs no cluster. Exit code 1: something does not fit.
    """
    from dra_fleet.fleet import SettingsInvalid, read_stack_file
    from dra_fleet.proof.prove import prove as prove_plan
    from dra_fleet.rehearsal.project import stack_file

    file = stack_file(stack)[1]
    try:
        read = read_stack_file(file)
        plan = _planned(read)
    except SettingsInvalid as invalid:
        _write(sarif, file, refused=[str(error) for error in invalid.errors])
        raise
    proof = prove_plan(plan, _recordings(plan, slices))
    failures = tuple(_located(text, read) for text in proof.failures)
    long = [str(read.too_long)] if read.too_long else []
    warnings = (*long, *plan.warnings, *proof.warnings)
    proof = replace(proof, failures=failures, warnings=warnings)
    _write(sarif, file, failures=failures, warnings=warnings)
    if json:
        print_json(proof.to_json())
    else:
        _show(proof, everything=everything)
    if not proof.fits:
        raise typer.Exit(1)


def _planned(read: StackFile) -> FleetPlan:
    from dra_fleet.fleet import SettingsInvalid
    from dra_fleet.fleet.plan import make_plan

    try:
        return make_plan(read.settings)
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
    """Write the report, which names files from here, as code hosts know them."""
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
    """A failure with the place of the value that it begins with, above its fix."""
    told, fix, rest = failure.partition("\n  fix: ")
    path = told.partition(": ")[0]
    return f"{told}\n  at: {read.at(path)}{fix}{rest}"


def _show(proof: Proof, *, everything: bool) -> None:
    """What needs somebody first; the rest, which may be long, where it is asked for."""
    console = stdout_console()
    most = None if everything else MOST_ROWS
    for word, style, texts in (
        ("error", "bold red", proof.failures),
        ("warning", "yellow", proof.warnings),
    ):
        print_lines(console, ([(f"{word}: ", style), (text, "")] for text in texts[:most]))
        left_out = len(texts[most:]) if most else 0
        if left_out:
            console.print(f"{left_out} more {word}s: --all", style=style, markup=False)
    if proof.failures or proof.warnings:
        console.print()
    for table in (full_tables if everything else short_tables)(proof):
        print_table(console, table, WIDE if everything else NARROW)
    if not proof.fits:
        console.print(proof.title)
        return
    console.print("every claim finds its devices" if not proof.warnings else "nothing stops this stack")


def short_tables(proof: Proof) -> Sequence[Table]:
    """A line for each workload and claim, the worst first; of many only the first."""
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
    """Every claim on every pool, every workload with its reason, and what their copies strand."""
    return _claims(proof), _workloads(proof), _queues(proof), _costs(proof)


def _worst(table: Table, items: Sequence[JudgedT]) -> Iterable[JudgedT]:
    """What a table shows of many; its caption says how many more there are."""
    if len(items) > MOST_ROWS:
        table.caption = f"{len(items) - MOST_ROWS} more: --all"
    badness = {word: number for number, word in enumerate(_STYLES)}
    return sorted(items, key=lambda item: badness[item.word])[:MOST_ROWS]


def _pools(item: ClaimProof | WorkloadProof, told: Callable[[PoolFit], str]) -> str:
    taking = [fit for fit in item.pools if fit.at_max]
    if not taking:
        unknown = any(fit.at_max is None for fit in item.pools)
        return "[yellow]unknown[/]" if unknown else "[red]none[/]"
    named = ", ".join(told(fit) for fit in islice(taking, _MOST_POOLS))
    return named if len(taking) <= _MOST_POOLS else f"{named} and {len(taking) - _MOST_POOLS} more"


def _verdict(item: ClaimProof | WorkloadProof) -> str:
    return f"[{_STYLES[item.word]}]{item.word}[/]"


def _table(title: str, *headings: str) -> Table:
    table = new_table(title)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _claims(proof: Proof) -> Table:
    """One row per claim and pool; the pools that have nothing for a claim share one."""
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
        "What one copy asks for, gets and strands: memory and multiprocessors (SM)",
        "Workload",
        "Pool",
        "Asked",
        "Got",
        "Stranded",
        "Left on a full node",
    )
    for item in proof.workloads:
        for fit in item.pools:
            if fit.cost is not None:
                table.add_row(_plain(item.name), fit.pool, *_cost(fit.cost))
    return table


def _cost(cost: CopyCost) -> tuple[str, str, str, str]:
    """Asked for nothing is `-`; what nobody knows of a device is unknown."""
    asks = cost.asked.memory is not None or cost.asked.multiprocessors is not None
    return (
        _amounts(cost.asked, "-"),
        _amounts(cost.got, "unknown") if not cost.parts else ", ".join(cost.parts),
        _amounts(cost.stranded, "unknown") if asks else "-",
        _amounts(cost.left_on_node, "unknown"),
    )


def _amounts(amounts: DeviceAmounts, otherwise: str) -> str:
    processors = f"{amounts.multiprocessors} SM" if amounts.multiprocessors is not None else ""
    told = ", ".join(part for part in (amounts.memory, processors) if part)
    return {"0, 0 SM": "0"}.get(told, told) or otherwise


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
