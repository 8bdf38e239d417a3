"""What a cloud or driver is stands in its folders: no comparison or table elsewhere holds its name."""

from __future__ import annotations

import ast
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from dra_fleet import clouds, drivers

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = ("dra_fleet", "components", "stacks", "policies", "__main__.py")
NAMES = {*clouds.BUILT_IN, *clouds.JUDGED, *drivers.BUILT_IN}
ALLOWED = {
    "dra_fleet/clouds/__init__.py": "the names that are built in",
    "dra_fleet/drivers/__init__.py": "the names that are built in",
    "dra_fleet/hardware/models.py": "the word for machines that no cloud sells",
    "dra_fleet/review/assemble.py": "an example of who holds what, not the driver",
    "dra_fleet/review/model/review.py": "an example of who holds what, not the driver",
    "dra_fleet/review/page/telling.py": "an example of who holds what, not the driver",
}
"""File -> why it may hold such a name."""


def program_files() -> list[str]:
    listed = ["git", "ls-files", "--", *PROGRAM]
    found = subprocess.run(
        listed, cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [file for file in found if file.endswith(".py") and not own_folder(file)]


def own_folder(file: str) -> bool:
    """Whether a file stands in a folder of one cloud or driver."""
    parts = Path(file).parts
    return any(room in {"clouds", "drivers"} and name in NAMES for room, name in pairwise(parts))


def names_in(source: str) -> list[tuple[int, str]]:
    """Line and text of every string in a module that is such a name, whatever it is used for."""
    tree = ast.parse(source)
    docstrings = {
        id(statement.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        for statement in node.body
        if isinstance(statement, ast.Expr)
    }
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value in NAMES
        and id(node) not in docstrings
    ]


@pytest.mark.parametrize("file", program_files())
def test_no_file_outside_a_cloud_s_or_driver_s_folders_holds_its_name(file: str) -> None:
    found = names_in((PROJECT / file).read_text(encoding="utf-8"))
    assert bool(found) == (file in ALLOWED), f"{file} holds {found}; ask the Cloud or Driver value instead"


def test_every_exception_is_a_file_of_the_program() -> None:
    assert ALLOWED.keys() <= set(program_files())


@pytest.mark.parametrize(
    "source",
    [
        'if cloud == "eks": pass',
        'TABLE = {"eks": 1}',
        'match cloud:\n    case "eks":\n        pass',
        'if cloud in ("aks", "eks"): pass',
        'Cloud = Literal["eks"]',
    ],
)
def test_every_way_of_choosing_by_name_is_seen(source: str) -> None:
    assert "eks" in [name for _, name in names_in(source)]


def test_a_docstring_may_name_a_cloud() -> None:
    assert names_in('"""eks"""\n\ndef f():\n    """aks"""\n') == []
