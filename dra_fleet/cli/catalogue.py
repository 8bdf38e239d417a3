"""`dra-fleet machines`, `drivers` and `explain`: what a stack file may say, looked up where it is written."""

from __future__ import annotations

from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dra_fleet.cli.command import examples
from dra_fleet.cli.output import new_table, print_json, print_table, stdout_console

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rich.table import Table

    from dra_fleet.clouds.offers import Offer
    from dra_fleet.drivers import Driver
    from dra_fleet.fleet.explanation import Explanation

MACHINES = examples(
    ("every machine of the catalogue", "dra-fleet machines"),
    ("A100 on AKS with at least 40 GiB each", "dra-fleet machines --gpu A100 --cloud aks --min-memory 40Gi"),
    ("for a script", "dra-fleet machines --gpu H100 -o json"),
)
DRIVERS = examples(
    ("drivers, their charts and ways of sharing", "dra-fleet drivers"),
    ("for a script", "dra-fleet drivers -o yaml"),
)
EXPLAIN = examples(
    ("the keys of a stack file", "dra-fleet explain"),
    ("what a pool's nodes are", "dra-fleet explain clusters.pools.nodes"),
    ("as it stands in a file", "dra-fleet explain clusters.lab.pools.a100.sharing"),
)
Json = Annotated[bool, typer.Option("--json", help="The same as -o json.")]
_KIB = 1024


def machines(
    gpu: Annotated[
        str, typer.Option("--gpu", metavar="TEXT", help="Only accelerators whose model contains it.")
    ] = "",
    cloud: Annotated[str, typer.Option("--cloud", metavar="CLOUD", help="Only this cloud's machines.")] = "",
    min_memory: Annotated[
        str,
        typer.Option(
            "--min-memory", metavar="QUANTITY", help="Least memory of one accelerator, such as 40Gi."
        ),
    ] = "",
    json: Json = False,
) -> None:
    """List the machine types that a pool may name, with their accelerators, drivers and prices.

    Exit code 1: there is none.
    """
    from dra_fleet.clouds.offers import find_offers

    found = find_offers(accelerator=gpu, cloud=cloud, least=min_memory)
    content = {
        "machines": [asdict(offer) for offer in found.offers],
        "memoryUnknown": list(found.memory_unknown),
    }
    if json:
        print_json(content)
    else:
        print_table(stdout_console(), _machines_table(found.offers))
        if found.memory_unknown:
            names = ", ".join(found.memory_unknown)
            told = f"left out, for nothing public tells their memory: {names}"
            stdout_console().print(told, markup=False, soft_wrap=True)
    if not found.offers:
        raise typer.Exit(1)


def drivers(json: Json = False) -> None:
    """List the DRA drivers: what they publish, the versions of their charts, how their devices are shared."""
    from dra_fleet.drivers import known

    found = [_driver(driver) for driver in known()]
    if json:
        print_json({"drivers": found})
    else:
        print_table(stdout_console(), _drivers_table(found))


def explain(
    key: Annotated[
        str, typer.Argument(metavar="KEY", help="Keys joined by dots, such as clusters.pools.nodes.")
    ] = "",
    json: Json = False,
) -> None:
    """Say what a key of a stack file is for, what may be written there, and which keys stand below it."""
    from dra_fleet.fleet.explanation import explain as explain_key

    found = explain_key(key)
    if json:
        print_json(asdict(found))
    else:
        _print_explanation(found)


def _machines_table(offers: Iterable[Offer]) -> Table:
    table = new_table(
        "Machines", "Memory of one accelerator. $/h: on demand with Linux, where a price is public."
    )
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
    table = new_table("Drivers", "Sharing: beside whole devices.")
    for heading in ("Driver", "Publishes as", "Chart versions", "Sharing", "Its own classes"):
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
