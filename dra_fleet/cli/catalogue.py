"""`dra-fleet machines`, `drivers` and `explain`: look up values and keys of a stack file."""

from __future__ import annotations

import datetime as dt
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer
from msgspec import to_builtins

from dra_fleet.cli.command import STACK_HELP, Json, examples, stacks
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

    from dra_fleet.clouds.offers import Offer
    from dra_fleet.drivers import Driver
    from dra_fleet.fleet.explanation import Explanation

MACHINES = examples(
    ("all machine types", "dra-fleet machines"),
    ("A100 on AKS with at least 40 GiB each", "dra-fleet machines --gpu A100 --cloud aks --min-memory 40Gi"),
    ("for a script", "dra-fleet machines --gpu H100 -o json"),
)
DRIVERS = examples(
    ("drivers, their charts and ways of sharing", "dra-fleet drivers"),
    ("versions and facts of a stack that are behind the catalogue", "dra-fleet drivers --outdated prod"),
    ("for a script", "dra-fleet drivers -o yaml"),
)
EXPLAIN = examples(
    ("top-level keys of a stack file", "dra-fleet explain"),
    ("one key", "dra-fleet explain clusters.pools.nodes"),
    ("a path of your file", "dra-fleet explain clusters.lab.pools.a100.sharing"),
)
_KIB = 1024


def machines(
    gpu: Annotated[
        str, typer.Option("--gpu", metavar="TEXT", help="List accelerators whose model contains TEXT.")
    ] = "",
    cloud: Annotated[
        str, typer.Option("--cloud", metavar="CLOUD", help="List machine types of this cloud.")
    ] = "",
    min_memory: Annotated[
        str,
        typer.Option(
            "--min-memory", metavar="QUANTITY", help="Minimum memory of one accelerator, such as 40Gi."
        ),
    ] = "",
    json: Json = False,
) -> None:
    """List the machine types of the catalogue with their accelerators, drivers and prices.

    Exit code 1: no machine type matches.
    """
    from dra_fleet.clouds.offers import find_offers

    found = find_offers(accelerator=gpu, cloud=cloud, least=min_memory)
    content = {
        "machines": to_builtins(found.offers),
        "memoryUnknown": list(found.memory_unknown),
    }
    if json:
        print_json(content)
    else:
        print_table(stdout_console(), _machines_table(found.offers))
        if found.memory_unknown:
            names = ", ".join(found.memory_unknown)
            note = f"not listed, because the memory of their accelerators is unknown: {names}"
            stdout_console().print(note, markup=False, soft_wrap=True)
    if not found.offers:
        raise typer.Exit(1)


def drivers(
    stack: Annotated[
        str, typer.Argument(metavar="STACK", help=f"{STACK_HELP} With --outdated.", autocompletion=stacks)
    ] = "",
    outdated: Annotated[
        bool,
        typer.Option("--outdated", help="List instead what STACK uses of an older version or fact."),
    ] = False,
    json: Json = False,
) -> None:
    """List the DRA drivers with their driver names, chart versions and ways of sharing.

    Exit code 1, only with --outdated: the catalogue knows a newer version, fixes of a Kubernetes version have
    ended, or a price is old.
    """
    from dra_fleet.drivers import known

    if outdated != bool(stack):
        raise typer.BadParameter("--outdated and STACK need each other: dra-fleet drivers --outdated STACK")
    if outdated:
        _show_ages(stack, json=json)
        return
    found = [_driver(driver) for driver in known()]
    if json:
        print_json({"drivers": found})
    else:
        print_table(stdout_console(), _drivers_table(found))


def _show_ages(stack: str, *, json: bool) -> None:
    from dra_fleet.fleet import read_stack_file
    from dra_fleet.fleet.plan import make_plan
    from dra_fleet.fleet.upgrades import BEHIND, MOST_DAYS, ages, catalogue_date
    from dra_fleet.rehearsal.project import stack_file

    today, date = dt.datetime.now(tz=dt.UTC).date(), catalogue_date()
    found = ages(make_plan(read_stack_file(stack_file(stack)[1]).settings), today)
    behind = [age for age in found if age.state in BEHIND]
    if json:
        print_json(to_builtins({"catalogue": date, "ages": found}))
    else:
        note = (
            f"State: behind, ended (no upstream fixes), old (read more than {MOST_DAYS} days ago) or unknown."
        )
        table = new_table("Outdated", note)
        for heading in ("Cluster", "Subject", "Used", "Newest", "State", "Fact of"):
            table.add_column(heading, overflow="fold")
        for age in found:
            if age.state != "current":
                table.add_row(age.cluster, age.subject, age.used, age.newest, age.state, str(age.date or ""))
        if table.row_count:
            print_table(stdout_console(), table)
        days = (today - date).days
        summary = f"{len(behind)} of {len(found)} outdated; catalogue of {date} ({days} days old)"
        stdout_console().print(summary, markup=False, highlight=False, soft_wrap=True)
    if behind:
        raise typer.Exit(1)


def explain(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key path, such as clusters.pools.nodes.")] = "",
    json: Json = False,
) -> None:
    """Describe a key of the stack file: its purpose, allowed values, default and keys below it."""
    from dra_fleet.fleet.explanation import explain as explain_key

    found = explain_key(key)
    if json:
        print_json(to_builtins(found))
    else:
        _print_explanation(found)


def _machines_table(offers: Iterable[Offer]) -> Table:
    table = new_table("Machines", "Memory: of one accelerator. $/h: public on-demand price with Linux.")
    for heading in ("Machine", "Cloud", "Accelerators"):
        table.add_column(heading, overflow="fold")
    for heading in ("Memory", "CPUs", "RAM GiB", "$/h"):
        table.add_column(heading, justify="right")
    table.add_column("Drivers", overflow="fold")
    for offer in offers:
        table.add_row(
            offer.name,
            offer.cloud,
            f"{offer.accelerators} x {offer.accelerator}" if offer.accelerator else "",
            _memory(offer),
            str(offer.cpus),
            _or_unknown(offer.host_gib),
            "reserved only" if offer.reserved_only else _or_unknown(offer.per_hour),
            ", ".join(offer.drivers),
        )
    return table


def _memory(offer: Offer) -> str:
    if offer.accelerator is None:
        return ""
    return "unknown" if offer.memory_mib is None else f"{offer.memory_mib / _KIB:.3g}Gi"


def _or_unknown(figure: float | None) -> str:
    return "unknown" if figure is None else f"{figure:g}"


def _driver(driver: Driver) -> dict[str, Any]:
    facts = driver.facts
    return {
        "name": driver.name,
        "publishes": list(driver.publishers),
        "versions": [item.version for item in facts.versions],
        "sharing": [strategy.model_fields["strategy"].default for strategy in driver.strategies()],
        "classes": sorted(facts.owned_classes),
        "source": facts.source,
    }


def _drivers_table(found: Iterable[Mapping[str, Any]]) -> Table:
    table = new_table("Drivers", "Sharing: in addition to whole devices.")
    for heading in ("Driver", "Driver names", "Chart versions", "Sharing", "Device classes"):
        table.add_column(heading, overflow="fold")
    for item in found:
        lists = ("publishes", "versions", "sharing", "classes")
        table.add_row(item["name"], *(", ".join(item[column]) for column in lists))
    return table


def _print_explanation(found: Explanation) -> None:
    console = stdout_console()
    for item in found.found:
        default = f", {item.default}" if item.default else ""
        console.print(found.path or "the fleet", style="bold", markup=False, end="")
        console.print(f": {item.value}{default}", markup=False, soft_wrap=True)
        if item.within:
            console.print(f"  in {item.within}", markup=False, soft_wrap=True)
        if item.meaning:
            console.print(f"  {item.meaning}", markup=False, soft_wrap=True)
        console.print()
        for section, keys in groupby(item.keys, key=lambda key: key.within):
            table = new_table(f"Keys of {section}")
            for heading in ("Key", "Value", "Default", "Meaning"):
                table.add_column(heading, overflow="fold")
            for key in keys:
                table.add_row(key.name, key.value, key.default, key.meaning)
            print_table(console, table)
