"""Print results: tables for people, JSON for scripts, errors on stderr.

Colours and boxes appear only on a terminal. NO_COLOR and TERM=dumb disable colours (Rich's own rules).
Rich is imported late, because help does not need it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from functools import lru_cache
from typing import TYPE_CHECKING

from dra_fleet.cli.display import display

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console, RenderableType
    from rich.progress import Progress
    from rich.table import Table

NARROW = 60
"""Minimum columns of a table; fewer would break words."""
PLAIN_WIDTH = 120
"""Columns of output that is not a terminal."""
STYLED = 500
"""Maximum number of styled lines or rows; Rich needs seconds for more."""


def open_closed_streams() -> None:
    """Connect stdin, stdout and stderr to the null device if the shell closed them.

    Otherwise the next opened file would get the number of the closed stream, and a child's output.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            handle = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(handle, "w" if number else "r", encoding="utf-8"))


def stdout_console() -> Console:
    """Return the console for results."""
    return _console(stderr=False)


def stderr_console() -> Console:
    """Return the console for progress and notes, which -q silences."""
    return _console(stderr=True, quiet=display().quiet)


def _console(*, stderr: bool, quiet: bool = False) -> Console:
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    size = shutil.get_terminal_size()
    return Console(
        stderr=stderr,
        quiet=quiet,
        # Rich assumes 80 columns for a dumb terminal unless both sizes are given.
        width=size.columns if stream.isatty() else PLAIN_WIDTH,
        height=size.lines,
        highlight=False,
        emoji=False,
    )


def new_table(title: str, caption: str = "") -> Table:
    """Return an empty table for stdout; lines are drawn on a terminal only."""
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
    """Print a table unless it is empty; below `least` columns, print `heading: value` lines."""
    if not table.rows:
        return
    if console.width < least:
        _print_rows(console, table)
        return
    # Rich would break the title at the table's width.
    console.print(f"{table.title}", style="bold", markup=False, soft_wrap=True)
    table.title = None
    if len(table.rows) > STYLED:
        _print_columns(console, table)
    else:
        console.print(table)
    console.print()


def _print_columns(console: Console, table: Table) -> None:
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
    """Return a cell without markup, cached because many rows share values."""
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
    """Print many lines quickly, without wrapping.

    Args:
        console: the console for results.
        lines: lines as pairs of text and style.
    """
    from rich.text import Text

    for number, parts in enumerate(lines):
        if number < STYLED and console.is_terminal:
            console.print(Text.assemble(*parts), soft_wrap=True)
        else:
            console.file.write("".join(text for text, _ in parts) + "\n")


def print_json(value: Mapping[str, object]) -> None:
    """Print data on stdout as one JSON object, or with `-o yaml` as one YAML mapping."""
    if display().form == "yaml":
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
    """Return a progress display with a bar, the current detail, the elapsed time and the remaining time."""
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
