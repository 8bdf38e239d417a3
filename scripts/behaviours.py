"""The page docs/behaviours.md, from `tests/truth.yaml`, whose tests must exist."""

from __future__ import annotations

import ast
from pathlib import Path

import yaml

PROJECT = Path(__file__).resolve().parents[1]
_TABLE = PROJECT / "tests" / "truth.yaml"
_HEAD = """\
# Behaviours verified against upstream sources

Each line is a test that compares the program, the proof, `check` or the rehearsal with an upstream
source. The name of the test is the behaviour. `make generate` makes this page from `tests/truth.yaml`.

"""
_COLUMNS = "| Behaviour | Source | Verified against |\n|---|---|---|\n"


def text() -> str:
    """Return the page.

    Raises:
        ValueError: a test that is named is not there.
    """
    groups = yaml.safe_load(_TABLE.read_text(encoding="utf-8"))
    parts = [_HEAD]
    for group in groups:
        parts.append(f"## {group['about']}\n\n{_COLUMNS}")
        for entry in group["behaviours"]:
            parts += [
                f"| {_name(test)} | {entry['where']} | {entry['against']} |\n" for test in entry["tests"]
            ]
        parts.append("\n")
    return "".join(parts).rstrip("\n") + "\n"


def _name(test: str) -> str:
    """Return the name of a test, or of a case in a table of tests, in words."""
    file, _, name = test.partition("::")
    text = (PROJECT / "tests" / file).read_text(encoding="utf-8")
    if file.endswith(".yaml"):
        defined = {case.partition(": ")[0] for case in yaml.safe_load(text)["cases"]}
    else:
        tree = ast.parse(text)
        defined = {it.name for it in tree.body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)}
    if name not in defined:
        msg = f"tests/truth.yaml: {test} is not a test; rename it there as in its file"
        raise ValueError(msg)
    words = name.removeprefix("test_").replace("_s_", "'s ").replace("_", " ")
    return f"[{words}](../tests/{file})"
