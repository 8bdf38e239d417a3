"""How results are printed: tables for people, JSON for scripts, errors on stderr.

Colours and boxes appear only on a terminal; NO_COLOR and TERM=dumb turn colours off (Rich's own rules).
Rich is imported where it prints: help needs none of it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from dra_fleet.cli.telling import telling

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.table import Table

NARROW = 60
"""Columns below which a table would break words."""
PLAIN_WIDTH = 120
"""Columns assumed where no terminal says how wide it is."""


STYLED = 500
"""Lines that are coloured, and rows that are fitted to the width; a screen shows fewer, and more would cost
seconds."""


def give_streams() -> None:
    """Where the shell closed stdin, stdout or stderr, read nothing and write nowhere instead of failing.

    A file that is opened later would otherwise get the stream's number, and a child's output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(handle, "w" if number else "r", encoding="utf-8"))


def stdout_console() -> Console:
    """The console for results."""
    return _console(stderr=False)


def stderr_console() -> Console:
    """The console for progress and notes; with -q it prints nothing."""
    return _console(stderr=True, quiet=telling().quiet)


def _console(*, stderr: bool, quiet: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    size = shutil.get_terminal_size()
    return Console(
        stderr=stderr,
        quiet=quiet,
        # Rich takes every dumb terminal for one of 80 columns, unless it is told both.
        width=size.columns if stream.isatty() else PLAIN_WIDTH,
        height=size.lines,
        highlight=False,
        emoji=False,
    )


def new_table(title: str, caption: str = "") -> Table:
    """An empty table for stdout; lines are drawn on a terminal only."""
    from rich.box import HEAVY_HEAD
    from rich.table import Table

    return Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=HEAVY_HEAD if sys.stdout.isatty() else None,
    )


def print_table(console: Console, table: Table, least: int = NARROW) -> None:
    """Print a table that has rows; on fewer columns than `least`, each row as lines of `heading: value`."""
    if not table.rows:
        return
    if console.width < least:
        _print_rows(console, table)
        return
    # A title of the table's own would be broken at the table's width.
    console.print(f"{table.title}", style="bold", markup=False, soft_wrap=True)
    table.title = None
    if len(table.rows) > STYLED:
        _print_columns(console, table)
    else:
        console.print(table)
    console.print()


def _print_columns(console: Console, table: Table) -> None:
    """Print rows as they are, a line each, however long."""
    columns = [[f"{column.header}", *map(_without_markup, column.cells)] for column in table.columns]
    widths = [max(map(len, cells)) for cells in columns]
    for row in zip(*columns, strict=True):
        cells = (f" {cell:{width}} " for cell, width in zip(row, widths, strict=True))
        console.file.write("".join(cells).rstrip() + "\n")
    if table.caption:
        console.print(table.caption, markup=False)


def _without_markup(cell: RenderableType) -> str:
    from rich.text import Text

    return cell.plain if isinstance(cell, Text) else _stripped(f"{cell}")


@lru_cache(maxsize=16_384)
def _stripped(text: str) -> str:
    """A cell of many rows that say the same."""
    from rich.text import Text

    return Text.from_markup(text, emoji=False).plain if "[" in text else text


def _print_rows(console: Console, table: Table) -> None:
    from rich.text import Text

    console.print(f"{table.title}", style="bold", markup=False)
    rows = zip(*(column.cells for column in table.columns), strict=True)
    for row in rows:
        console.print()
        for column, cell in zip(table.columns, row, strict=True):
            value = cell if isinstance(cell, Text) else Text.from_markup(str(cell), emoji=False)
            if value.plain:
                console.print(Text(f"{column.header}: ").append_text(value))
    if table.caption:
        console.print(f"\n{table.caption}", markup=False)
    console.print()


def print_lines(console: Console, lines: Iterable[Sequence[tuple[str, str]]]) -> None:
    """Print lines of any length, however many, in no time.

    Args:
        console: the console for results.
        lines: each as its parts, a text and its style.
    """
    from rich.text import Text

    for number, parts in enumerate(lines):
        if number < STYLED and console.is_terminal:
            console.print(Text.assemble(*parts), soft_wrap=True)
        else:
            console.file.write("".join(text for text, _ in parts) + "\n")


def print_json(value: Mapping[str, object]) -> None:
    """Print data on stdout: one JSON object, or with `-o yaml` one YAML mapping."""
    if telling().form == "yaml":
        import yaml12

        sys.stdout.write(yaml12.format_yaml(json.loads(json.dumps(value))) + "\n")
    else:
        sys.stdout.write(json.dumps(value, indent=2) + "\n")


def print_error(message: str) -> None:
    """Print an error on stderr, as plain text."""
    console = _console(stderr=True)
    console.print("[bold red]error:[/] ", end="")
    console.print(message, markup=False, soft_wrap=True)


def progress_bar(console: Console) -> Progress:
    """A progress display with a bar, what is done now, the time passed and, where counted, the time left."""
    from rich.progress import (
        BarColumn,
        Progress,
        SpinnerColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        SpinnerColumn(),
        TextColumn("[progress.description]{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[detail]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(compact=True),
        console=console,
        transient=False,
    )
