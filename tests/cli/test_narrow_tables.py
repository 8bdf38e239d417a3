import io
from collections.abc import Iterator
from typing import Any

import pytest
from rich.console import Console
from typer._click import Context
from typer.main import get_command

from dra_fleet.cli.main import app
from dra_fleet.cli.output import (
    NARROW,
    PLAIN_WIDTH,
    STYLED,
    new_table,
    print_error,
    print_lines,
    print_table,
    stdout_console,
)


def printed(width: int, least: int = NARROW) -> str:
    table = new_table("Workloads", "two rows")
    table.add_column("Workload")
    table.add_column("Devices, or why a pod waits")
    table.add_row("train", "[green]guaranteed[/]")
    table.add_row("infer", "")
    console = Console(file=io.StringIO(), width=width)
    print_table(console, table, least)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("terminal", ["dumb", "xterm"])
@pytest.mark.parametrize(("is_terminal", "width"), [(True, 40), (False, PLAIN_WIDTH)])
def test_a_terminal_is_as_wide_as_it_says(
    terminal: str, is_terminal: bool, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(stream, "isatty", lambda: is_terminal)
    monkeypatch.setattr("sys.stdout", stream)
    monkeypatch.setenv("TERM", terminal)
    monkeypatch.setenv("COLUMNS", "40")
    assert stdout_console().width == width


@pytest.mark.parametrize("width", [40, NARROW - 1])
def test_a_narrow_terminal_gets_a_line_per_value_and_no_word_is_broken(width: int) -> None:
    lines = printed(width).splitlines()
    assert "Workload: train" in lines
    assert "Devices, or why a pod waits: guaranteed" in " ".join(lines)
    assert "two rows" in lines


def test_a_wide_terminal_gets_the_table() -> None:
    assert "Workload: train" not in printed(NARROW)


def test_a_table_of_sentences_may_ask_for_more_columns() -> None:
    assert "Workload: train" in printed(NARROW, least=NARROW + 1)


def test_a_title_longer_than_its_table_stands_on_one_line() -> None:
    table = new_table("What one copy requests, gets and strands", "")
    table.add_column("Pool")
    table.add_row("h100")
    console = Console(file=io.StringIO(), width=NARROW)
    print_table(console, table)
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue().startswith("What one copy requests, gets and strands\n")


def test_a_table_without_rows_is_not_printed() -> None:
    console = Console(file=io.StringIO(), width=NARROW)
    print_table(console, new_table("Claims"))
    assert isinstance(console.file, io.StringIO)
    assert console.file.getvalue() == ""


def test_lines_are_coloured_on_a_terminal_up_to_a_number_and_plain_elsewhere() -> None:
    terminal = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    print_lines(terminal, ([("error: ", "red"), (f"line {number}", "")] for number in range(STYLED + 1)))
    assert isinstance(terminal.file, io.StringIO)
    lines = terminal.file.getvalue().splitlines()
    assert lines[0].startswith("\x1b")
    assert lines[-1] == f"error: line {STYLED}"
    plain = Console(file=io.StringIO(), width=20)
    print_lines(plain, [[("error: ", "red"), ("[bold] " + "x" * 60, "")]])
    assert isinstance(plain.file, io.StringIO)
    assert plain.file.getvalue() == f"error: [bold] {'x' * 60}\n"


def test_a_table_of_more_rows_than_a_screen_shows_is_written_as_it_is_a_line_for_each() -> None:
    table = new_table("Claims", "so many")
    table.add_column("Claim")
    table.add_column("Why")
    for number in range(STYLED + 1):
        table.add_row(f"claim-{number}", f"[red]none[/] of \\[{'x' * 90}]")
    console = Console(file=io.StringIO(), width=NARROW)
    print_table(console, table)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    assert lines[:3] == ["Claims", " Claim      Why", f" claim-0    none of [{'x' * 90}]"]
    assert lines[-2:] == ["so many", ""]
    assert len(lines) == STYLED + 5


def test_a_place_in_line_100_stays_a_place(capsys: pytest.CaptureFixture[str]) -> None:
    print_error("at: Pulumi.dev.yaml:100:41")
    assert capsys.readouterr().err == "error: at: Pulumi.dev.yaml:100:41\n"


def test_a_cell_that_holds_a_place_in_line_100_keeps_it(capsys: pytest.CaptureFixture[str]) -> None:
    for least in (NARROW, 1_000):
        table = new_table("Places")
        table.add_column("Place")
        table.add_row("[red]Pulumi.dev.yaml:100:41[/]")
        print_table(stdout_console(), table, least)
    assert capsys.readouterr().out.count("Pulumi.dev.yaml:100:41") == 2


DEFAULT = 80
"""Columns that help takes at most, however wide the terminal is."""
WIDE = 400


def everything(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    """A group and all that is in it, by what one types."""
    yield name, group
    for word, command in getattr(group, "commands", {}).items():
        yield from everything(command, f"{name} {word}")


ALL = dict(everything(get_command(app), "dra-fleet"))


def output(name: str, columns: int) -> tuple[str, str]:
    """Return the help on a terminal of so many columns: the text before its examples, and the examples."""
    wider = columns if columns > DEFAULT else None
    context = Context(ALL[name], info_name=name, terminal_width=wider)
    text, _, after = ALL[name].get_help(context).partition("Examples:\n")
    return text, after.partition("\n\n")[0]


def wanting(name: str, columns: int) -> list[str]:
    """Return the problems of a command's help on a terminal of so many columns."""
    text, examples = output(name, columns)
    whole, copied = output(name, WIDE)
    words = set(whole.split())
    broken = [word for word in text.split() if word not in words and word.rstrip("-") not in whole]
    long = [line for line in text.splitlines() if len(line) > columns and len(line.split()) > 2]
    return [*broken, *long, *([] if examples == copied else [examples])]


@pytest.mark.parametrize("columns", [40, 60, 80])
def test_help_breaks_no_word_and_no_example_and_cuts_nothing_off(
    monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert {name: found for name in ALL if (found := wanting(name, columns))} == {}


def test_every_command_shows_examples() -> None:
    assert [name for name in ALL if not output(name, WIDE)[1] and name != "dra-fleet rules"] == []
