import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.syntax_trees import tree_of

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "troubleshooting.md"
PROGRAM = ("dra_fleet", "components", "stacks", "policies")
GAP = "…"
CELLS = re.findall(r"^\| (`.+?`) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
MESSAGES = [message for cell in CELLS for message in re.findall("`(.+?)`", cell)]


def texts(tree: ast.AST) -> Iterator[str]:
    """Every text of a module, with a gap where a value stands; those that are added together as one."""
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add):
        yield "".join((*texts(tree.left), *texts(tree.right)))
    elif isinstance(tree, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else GAP for part in tree.values)
        yield "".join(map(str, parts))
        for part in tree.values:
            yield from texts(part)
    elif isinstance(tree, ast.Constant):
        if isinstance(tree.value, str):
            yield tree.value
    else:
        for child in ast.iter_child_nodes(tree):
            yield from texts(child)


@cache
def said() -> str:
    """All texts of the program, one in a line."""
    files = (file for folder in PROGRAM for file in sorted((ROOT / folder).rglob("*.py")))
    found = (text for file in files for text in texts(tree_of(file.read_text(encoding="utf-8"))))
    return "\n".join(" ".join(text.split()) for text in found)


def test_the_page_quotes_messages() -> None:
    assert len(MESSAGES) == len(set(MESSAGES))
    assert len(MESSAGES) > 40


@pytest.mark.slow
@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_of_the_page_is_one_of_the_program(message: str) -> None:
    pattern = "[^\n]*".join(map(re.escape, (part.strip() for part in message.split(GAP))))
    assert re.search(pattern, said()), f"no module says {message!r}"
