from collections.abc import Iterator
from typing import Any

import pytest
from typer._click import Context
from typer.main import get_command

from dra_fleet.cli.main import app

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
