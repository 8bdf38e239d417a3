"""`dra-fleet prove`: will every claim find a device? Answered from the stack file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cli.output import new_table, print_json, print_table, stdout_console

if TYPE_CHECKING:
    from rich.table import Table

    from fleet.proof.verdicts import PoolFit, Proof

EXAMPLES = """
Examples:

  dra-fleet prove dev

  dra-fleet prove examples/s10-capacity.yaml --json

  dra-fleet prove prod --slices nodes.json     from: kubectl get nodes,resourceslices -o json
"""
STYLES = {"guaranteed": "green", "possible": "yellow", "unknown": "yellow", "never": "red", "error": "red"}


def prove(
    stack: Annotated[str, typer.Argument(help="A stack's name, or the path of a stack file.")],
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
    from fleet.plan import make_plan
    from fleet.proof.matrix import prove as prove_plan
    from fleet.proof.recorded import read_recordings
    from fleet.settings import read_stack_file
    from rehearsal.project import stack_file

    plan = make_plan(read_stack_file(stack_file(stack)[1]).settings)
    proof = prove_plan(plan, read_recordings(plan, slices or []))
    if json:
        print_json(proof.to_json())
    else:
        _show(proof)
    if not proof.fits:
        raise typer.Exit(1)


def _show(proof: Proof) -> None:
    console = stdout_console()
    print_table(console, _claims(proof))
    print_table(console, _workloads(proof))
    if any(pool.cost for item in proof.workloads for pool in item.pools):
        print_table(console, _costs(proof))
    for warning in proof.warnings:
        console.print(f"warning: {warning}", markup=False, soft_wrap=True)
    for failure in proof.failures:
        console.print(f"error: {failure}", markup=False, soft_wrap=True)
    if proof.fits:
        console.print("every claim finds its devices" if not proof.warnings else "nothing stops this stack")


def _table(title: str, *headings: str) -> Table:
    table = new_table(title)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _claims(proof: Proof) -> Table:
    pools = list(dict.fromkeys((item.cluster, fit.pool) for item in proof.claims for fit in item.pools))
    table = _table(
        "Claims: devices that match on a node, copies per node",
        "Cluster",
        "Claim",
        *(pool for _, pool in pools),
    )
    for item in proof.claims:
        cells = {(item.cluster, fit.pool): _cell(fit) for fit in item.pools}
        table.add_row(item.cluster, item.name, *(cells.get(pool, "") for pool in pools))
    return table


def _cell(fit: PoolFit) -> str:
    matched = max(fit.requests.values(), default=0)
    if fit.per_node is None:
        return "[yellow]unknown[/]"
    colour = "green" if fit.per_node else "red" if not matched else "yellow"
    return f"[{colour}]{matched} of {fit.devices}, {fit.per_node} copies[/]"


def _workloads(proof: Proof) -> Table:
    table = _table(
        "Workloads", "Cluster", "Workload", "Claim", "Copies", "Alone on (min / max nodes)", "Verdict", "Why"
    )
    for item in proof.workloads:
        places = ", ".join(
            f"{fit.pool} {_number(fit.at_min)} / {_number(fit.at_max)}"
            for fit in item.pools
            if fit.at_max != 0
        )
        verdict = f"[{STYLES[item.word]}]{item.word}[/]"
        table.add_row(
            item.cluster,
            item.name,
            item.claim,
            str(item.copies),
            places or "nowhere",
            verdict,
            _plain(item.reason),
        )
    return table


def _number(copies: int | None) -> str:
    return "?" if copies is None else str(copies)


def _costs(proof: Proof) -> Table:
    table = _table(
        "What one copy asks for, gets and strands",
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
                parts = (fit.cost.asked, fit.cost.got, fit.cost.stranded, fit.cost.left_on_node)
                table.add_row(
                    item.name, fit.pool, *(_amounts(part.memory, part.multiprocessors) for part in parts)
                )
    return table


def _amounts(memory: str | None, multiprocessors: int | None) -> str:
    processors = "-" if multiprocessors is None else str(multiprocessors)
    return f"{memory or '-'}, {processors} SM"


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
