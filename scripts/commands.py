"""Writes docs/commands.md: every command as its own parser describes it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from typer._click import Context
from typer.core import TyperGroup
from typer.main import get_command

from dra_fleet.cli.command import SECTIONS, FleetCommand, described
from dra_fleet.cli.main import app

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = """\
# Commands

Made by `make generate` from what `dra-fleet COMMAND --help` says. STACK is `dev` for `Pulumi.dev.yaml`, or
the path of any stack file. Exit codes, where a command says nothing else: 0 done, 1 failed (the message says
why), 2 wrong usage, 130 interrupted. `NO_COLOR` turns colours off; without a terminal the output is plain.
"""
COMMON = ("output", "quiet", "verbose")
"""Options that stand once, at the end of the page."""


def page() -> str:
    """Return the page."""
    root = cast("TyperGroup", get_command(app))
    found = sorted(commands(root, "dra-fleet"), key=lambda pair: pair[0])
    parts = [TITLE, *(section(name, command) for name, command in found)]
    first = found[0][1]
    rows = table(first, "option", only=COMMON)
    parts.append(f"## Options that all have\n\n{rows}\n`-o` stands with every command that prints data.\n")
    return "\n".join(parts)


def commands(group: TyperGroup, name: str) -> Iterator[tuple[str, FleetCommand]]:
    """Yield the commands of a group and of its subgroups, by their full names."""
    for word, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from commands(command, f"{name} {word}")
        else:
            yield f"{name} {word}", cast("FleetCommand", command)


def section(name: str, command: FleetCommand) -> str:
    """Describe a command: its usage, effect, arguments, options and examples."""
    context = Context(command, info_name=name)
    usage = " ".join(command.collect_usage_pieces(context))
    parts = [f"## {name}", f"```\n{name} {usage}\n```", paragraphs(command.help or "")]
    parts += [rows for kind in SECTIONS if (rows := table(command, kind, but=(*COMMON, "help")))]
    examples, _, more = (command.epilog or "").removeprefix("\b\n").partition("\n\n")
    lines = [line.removeprefix("  ") for line in examples.splitlines()[1:]]
    parts.append("```\n" + "\n".join(lines) + "\n```")
    parts += [paragraphs(more)] if more else []
    return "\n\n".join(part.strip() for part in parts) + "\n"


def table(command: FleetCommand, kind: str, *, but: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> str:
    """Return the arguments or options of a command as a table; empty if it has none."""
    context = Context(command, info_name="")
    rows = [
        "| `{}` | {} |".format(*(text.replace("|", "\\|") for text in row))
        for item in command.params
        if item.param_type_name == kind and item.name not in but and (not only or item.name in only)
        for row in described(item, context)
    ]
    return f"| {SECTIONS[kind][:-1]} | |\n|---|---|\n" + "\n".join(rows) + "\n" if rows else ""


def paragraphs(text: str) -> str:
    """Return a text as paragraphs of one line each, without click's marks."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text.replace("\b", "").strip())
