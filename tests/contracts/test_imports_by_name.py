import ast
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PROGRAM = ("dra_fleet", "components", "stacks", "policies")
BY_STRING = {"import_module", "resolve_name", "__import__"}
ALLOWED = {
    "components/__main__.py": "serves components under their installed name",
    "dra_fleet/__init__.py": "finds the top folders of a checkout under their installed names",
    "dra_fleet/policy/gate/running.py": "loads what the policy pack loads",
}
"""File -> reason for an import by string."""


def test_no_module_of_the_program_is_imported_by_a_string() -> None:
    found = {
        path.relative_to(PROJECT).as_posix()
        for folder in PROGRAM
        for path in (PROJECT / folder).rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and called(node.func) in BY_STRING
    }
    assert found == set(ALLOWED)


def called(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
