import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "exports.md").read_text(encoding="utf-8")
MODULE = ast.parse((ROOT / "components" / "fleet.py").read_text(encoding="utf-8"))


def named(table: str) -> list[str]:
    """The names in the first column of a table of the page."""
    rows = PAGE.partition(f"| {table} | Content |\n")[2].partition("\n\n")[0].splitlines()[1:]
    return [name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])]


def test_the_page_names_the_outputs_of_a_stack() -> None:
    calls = (node for node in ast.walk(MODULE) if isinstance(node, ast.Call))
    exported = [
        call.args[0].value
        for call in calls
        if ast.unparse(call.func) == "pulumi.export" and isinstance(call.args[0], ast.Constant)
    ]
    assert named("Output") == exported


def test_the_page_names_what_is_exported_of_a_cluster() -> None:
    (made,) = (
        node for node in MODULE.body if isinstance(node, ast.FunctionDef) and node.name == "cluster_outputs"
    )
    (output,) = (node.value for node in made.body if isinstance(node, ast.Return))
    assert isinstance(output, ast.Dict)
    assert named("Field of a cluster") == [key.value for key in output.keys if isinstance(key, ast.Constant)]
