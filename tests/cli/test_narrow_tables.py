"""Tables on terminals that are too narrow for them."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cli.output import NARROW, new_table, print_table


def printed(width: int) -> str:
    table = new_table("Workloads", "two rows")
    table.add_column("Workload")
    table.add_column("Devices, or why a pod waits")
    table.add_row("train", "[green]guaranteed[/]")
    table.add_row("infer", "")
    console = Console(file=io.StringIO(), width=width)
    print_table(console, table)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()


@pytest.mark.parametrize("width", [40, NARROW - 1])
def test_a_narrow_terminal_gets_a_line_per_value_and_no_word_is_broken(width: int) -> None:
    lines = printed(width).splitlines()
    assert "Workload: train" in lines
    assert "Devices, or why a pod waits: guaranteed" in " ".join(lines)
    assert "two rows" in lines


def test_a_wide_terminal_gets_the_table() -> None:
    assert "Workload: train" not in printed(NARROW)
