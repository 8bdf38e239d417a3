"""`dra-fleet prove`: will every claim find a device? Answered from the stack file alone."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.examples import examples
from dra_fleet.cli.output import new_table, print_json, print_lines, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.table import Table

    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.plan import FleetPlan
    from dra_fleet.proof.answer.costs import CopyCost, DeviceAmounts
    from dra_fleet.proof.answer.verdicts import PoolFit, Proof
    from dra_fleet.settings import StackFile

EXAMPLES = examples(
    ("the stack file Pulumi.dev.yaml", "dra-fleet prove dev"),
    ("any stack file, for a script", "dra-fleet prove examples/s10-capacity.yaml --json"),
    (
        "nodes as they are: kubectl get nodes,resourceslices -o json > nodes.json",
        "dra-fleet prove prod --slices nodes.json",
    ),
)
WIDE = 90
"""Columns below which a row is printed as lines, since its sentences would be cut into single words."""
STYLES = {"guaranteed": "green", "possible": "yellow", "unknown": "yellow", "never": "red", "error": "red"}


def prove(
    stack: Annotated[
        str, typer.Argument(metavar="STACK", help="A stack's name, or the path of a stack file.")
    ],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")] = False,
    slices: Annotated[
        list[str] | None,
        typer.Option(
            "--slices",
            metavar="[CLUSTER=]FILE",
            help="Recorded nodes and slices of a cluster; they win over what is predicted.",
        ),
    ] = None,
) -> None:
    """Say for every claim and workload of a stack whether its pools' devices are enough, and why not.

    Needs no cluster. Exit code 1: something does not fit.
    """
    from dra_fleet.plan import make_plan
    from dra_fleet.proof.prove import prove as prove_plan
    from dra_fleet.rehearsal.project import stack_file
    from dra_fleet.settings import SettingsInvalid, read_stack_file

    read = read_stack_file(stack_file(stack)[1])
    try:
        plan = make_plan(read.settings)
    except SettingsInvalid as invalid:
        raise read.located(invalid) from None
    proof = prove_plan(plan, _recordings(plan, slices))
    failures = tuple(_located(text, read) for text in proof.failures)
    warnings = (*([str(read.too_long)] if read.too_long else []), *proof.warnings)
    proof = replace(proof, failures=failures, warnings=warnings)
    if json:
        print_json(proof.to_json())
    else:
        _show(proof)
    if not proof.fits:
        raise typer.Exit(1)


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


def _show(proof: Proof) -> None:
    console = stdout_console()
    print_table(console, _claims(proof), WIDE)
    print_table(console, _workloads(proof), WIDE)
    if any(pool.cost for item in proof.workloads for pool in item.pools):
        print_table(console, _costs(proof), WIDE)
    print_lines(console, ([("warning: ", "yellow"), (text, "")] for text in proof.warnings))
    print_lines(console, ([("error: ", "bold red"), (text, "")] for text in proof.failures))
    if proof.fits:
        console.print("every claim finds its devices" if not proof.warnings else "nothing stops this stack")


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
            f"[{STYLES[item.word]}]{item.word}[/]",
            _plain(item.reason),
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
