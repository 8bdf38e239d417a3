"""`dra-fleet prove`: will every claim find a device? Answered from the stack file alone."""

from __future__ import annotations

import json as jsonlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dra_fleet.cli.command import Stack  # noqa: TC001 - Typer reads it
from dra_fleet.cli.examples import examples
from dra_fleet.cli.output import NARROW, print_json, print_lines, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dra_fleet.fleet import StackFile
    from dra_fleet.fleet.plan import FleetPlan
    from dra_fleet.model.nodes import NodeGroup
    from dra_fleet.proof.answer.verdicts import Proof

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
    warnings = (*long, *read.warnings, *plan.warnings, *proof.warnings)
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
    from dra_fleet.cli.proof_tables import MOST_ROWS, full_tables, short_tables

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
